"""Confounds: what differed between frameworks in published studies' code, to be put back by name.

`catalog.py` has them all. Each acts on any graph, recipe or data to which it applies, and says why
where it does not. Which study had which in which framework is in the study's own files
(`studies/<study>/confounds.csv`).
"""
