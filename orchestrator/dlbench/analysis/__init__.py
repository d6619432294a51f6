"""Campaigns as data: frames, comparisons, archives, merging and export.

Nothing is imported here, so that a command that needs one part does not pay for the others.
"""
