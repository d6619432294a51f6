"""Samples of a running trial's CPU, memory and GPUs, taken from outside it."""
