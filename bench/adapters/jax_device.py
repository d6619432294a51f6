"""Which device JAX computes on: the one that the trial is given, with its threads and precision."""

import contextlib
import os

import jax

from bench import full_memory
from bench.adapters import pools
from bench.formats import Unsupported


def set_up(options):
    if options.threads:
        pools.set_xla(options.threads)
    jax.config.update("jax_platforms", "cpu" if options.device == "cpu" else "cuda")
    if options.device == "gpu" and options.setting == "matched":
        # Else it takes three quarters of the GPU's memory at once, whatever the model needs. It is
        # read when the GPU is looked for.
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    try:
        devices = jax.devices()
        if options.device == "gpu":
            jax.config.update("jax_default_device", devices[options.gpu])
    except (RuntimeError, IndexError, AssertionError) as error:
        # an assertion of its own is all that it says where it has no driver to look with
        if full_memory.outcome(error, options.device):
            raise
        raise Unsupported("this JAX sees no GPU ({})".format(full_memory.described(error)))
    # no TF32 on a GPU where models are to be equal
    precision = "float32" if options.setting == "matched" else None
    jax.config.update("jax_default_matmul_precision", precision)


QUICKLY = {"xla_backend_optimization_level": 0}
"""For `jax.jit` of what only a proof runs: XLA makes slow code of it, in a third of the time."""


@contextlib.contextmanager
def quickly_compiled():
    """What runs in here only once, operation by operation, takes XLA long to make fast code of.

    Drawing random numbers of one shape is a second of processor time, and a tenth of one here.
    """
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", before)
