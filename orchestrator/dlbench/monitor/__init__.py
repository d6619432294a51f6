"""Samples of a running trial's CPU, memory and GPUs, taken from outside it."""

from dlbench.monitor.sampler import Monitor
from dlbench.monitor.samples import GpuSample, Reading, Sample, Samples, Totals, read_samples
from dlbench.monitor.summary import Interval, Resources, summarise

__all__ = [
    "GpuSample",
    "Interval",
    "Monitor",
    "Reading",
    "Resources",
    "Sample",
    "Samples",
    "Totals",
    "read_samples",
    "summarise",
]
