"""JAX: flax nnx modules, optax, one jitted step whose state is donated. Images are NHWC.

Canonical weights go in as they are.
"""

import jax

from bench.adapters import determinism, jax_device, pools

VARIANTS = ("jit", "tuned")


def set_up(options):
    jax_device.set_up(options)


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
