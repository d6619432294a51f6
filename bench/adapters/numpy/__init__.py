"""NumPy: the reference itself in float32, as a contender. Its layers are in bench/reference."""

import os

import numpy as np

from bench import libraries
from bench.formats import Unsupported
from bench.reference.model import Reference

VARIANTS = ("numpy",)


def set_up(options):
    if options.device != "cpu":
        raise Unsupported("NumPy has no GPU")


def describe():
    threads = _blas_threads()
    return {
        "framework": "numpy",
        "version": np.__version__,
        "threads": threads,
        "pools": {"blas": threads},
        "one_core": "all but matrix products",
    }


def deterministic(options):
    """NumPy has no kernels to choose between: there is nothing to set."""
    return {"switches": {}, "covers": ["cpu"]}


def _blas_threads():
    known = libraries.openblas_threads()
    if known is not None:
        return known
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name):
            return int(os.environ[name])
    return len(os.sched_getaffinity(0))


def build(graph, recipe, options):
    return Reference(graph, recipe, options.seed, np.float32)
