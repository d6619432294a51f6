"""A campaign on disk: its folder, its trials' results and outcomes, and how to follow it."""
