"""JAX: flax nnx modules, optax, one jitted step whose state is donated. Images are NHWC.

Canonical weights go in as they are.
"""

import jax

from bench.adapters import determinism, pools
from bench.formats import Unsupported

VARIANTS = ("jit", "tuned")


def set_up(options):
    if options.threads:
        pools.set_xla(options.threads)
    jax.config.update("jax_platforms", "cpu" if options.device == "cpu" else "cuda")
    try:
        devices = jax.devices()
        if options.device == "gpu":
            jax.config.update("jax_default_device", devices[options.gpu])
    except (RuntimeError, IndexError):
        raise Unsupported("this JAX sees no GPU")
    # no TF32 on a GPU where models are to be equal
    precision = "float32" if options.setting == "matched" else None
    jax.config.update("jax_default_matmul_precision", precision)


def deterministic(options):
    return determinism.xla_switches()


def describe():
    return {
        "framework": "jax",
        "version": jax.__version__,
        "threads": pools.xla_pools()["xla"],
        "pools": pools.xla_pools(),
        "kernels": {
            "platform": jax.default_backend(),
            "xla": jax.devices()[0].client.platform_version,
            "matmul_precision": jax.config.jax_default_matmul_precision,
        },
    }


def build(graph, recipe, options):
    from bench.adapters.jax.model import JaxModel

    return JaxModel(graph, recipe, options)
