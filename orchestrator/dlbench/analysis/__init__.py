"""Campaigns as data: read, grouped, compared.

Nothing is imported here, so that a command that needs one part does not pay for the others.
"""
