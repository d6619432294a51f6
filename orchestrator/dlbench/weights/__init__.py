"""Weights in files: the canonical one that a campaign starts from, and those of other programs."""
