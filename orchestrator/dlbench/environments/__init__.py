"""Environments: what a release runs in, made from its hashed lock and nothing else.

`releases` reads what there is, `wheels` fetches it once, `venvs` and `images` make environments
of it for the two engines, `base` makes a base image where no registry answers.
"""
