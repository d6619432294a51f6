"""The machine that dlbench runs on: what it is, how quiet it is, what works on it."""
