"""JAX: flax nnx modules, optax, one jitted step whose state is donated. Images are NHWC.

Canonical weights go in as they are.
"""

import jax

from bench.adapters import determinism, jax_device, pools

VARIANTS = ("jit", "tuned")


COMPILED = {}
"""What models that are made alike have in common: in a proof there are several, one of them with
another optimiser. A function is compiled once for all of them; their state is their own."""


def set_up(options):
    jax_device.set_up(options)
    COMPILED.clear()


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

    if options.only_weights:
        with jax_device.quickly_compiled():
            return JaxModel(graph, recipe, options)
    return JaxModel(graph, recipe, options)
