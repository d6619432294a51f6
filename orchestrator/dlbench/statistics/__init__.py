"""Statistics of trials: pure functions of numbers, with results that word themselves.

The trial is the replicate. Effect and interval come first, then the exact test; before either,
whether so few runs can show anything at all. Nothing here knows of campaigns, files or the
command line.
"""
