"""Keras 3 on TensorFlow, JAX or PyTorch: compile and fit. Images are NHWC.

KERAS_BACKEND says what Keras runs on, before it is imported.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras

from bench.adapters import determinism, pools, tensorflow_gpu
from bench.formats import Unsupported

VARIANTS = ("fit", "tuned")

_BACKEND = keras.backend.backend()


def set_up(options):
    {"tensorflow": _set_up_tensorflow, "jax": _set_up_jax, "torch": _set_up_torch}[_BACKEND](
        options
    )
    # as Keras ships: a file in the user's home may say otherwise
    keras.config.set_floatx("float32")
    keras.config.set_epsilon(1e-7)
    keras.config.set_image_data_format("channels_last")
    keras.utils.set_random_seed(options.seed)


def deterministic(options):
    if _BACKEND == "jax":
        return determinism.xla_switches()
    if _BACKEND == "torch":
        import torch

        return determinism.torch_switches(torch)
    import tensorflow as tf

    return determinism.tensorflow_switches(tf)


def describe():
    description = {
        "framework": "keras",
        "version": keras.__version__,
        "backend": _BACKEND,
    }
    description.update(
        {"tensorflow": _describe_tensorflow, "jax": _describe_jax, "torch": _describe_torch}[
            _BACKEND
        ]()
    )
    return description


def build(graph, recipe, options):
    from bench.adapters.keras3.model import FitModel

    if _BACKEND == "jax" and options.only_weights:
        from bench.adapters import jax_device

        with jax_device.quickly_compiled():
            return FitModel(graph, recipe, options)
    return FitModel(graph, recipe, options)


# ---- what Keras runs on -------------------------------------------------------------------------


def _set_up_tensorflow(options):
    import tensorflow as tf

    tensorflow_gpu.show(tf.config.experimental, options)
    if options.threads:
        pools.set_tensorflow(tf, options.threads)
    tf.config.experimental.enable_tensor_float_32_execution(options.setting == "native")


def _describe_tensorflow():
    import tensorflow as tf

    build = tf.sysconfig.get_build_info()
    return {
        "tensorflow": tf.__version__,
        "threads": pools.tensorflow_pools(tf)["intra_op"],
        "pools": pools.tensorflow_pools(tf),
        "kernels": {key: str(value) for key, value in sorted(build.items())},
    }


def _set_up_jax(options):
    from bench.adapters import jax_device  # which imports JAX

    jax_device.set_up(options)


def _describe_jax():
    import jax

    return {
        "jax": jax.__version__,
        "threads": pools.xla_pools()["xla"],
        "pools": pools.xla_pools(),
        "kernels": {
            "platform": jax.default_backend(),
            "matmul_precision": jax.config.jax_default_matmul_precision,
        },
    }


def _set_up_torch(options):
    import torch

    if options.device == "gpu":
        if options.gpu >= torch.cuda.device_count():
            raise Unsupported("this PyTorch sees no CUDA device")
        torch.cuda.set_device(options.gpu)
    else:
        keras.device("cpu").__enter__()  # and never left
    if options.threads:
        pools.set_torch(torch, options.threads)


def _describe_torch():
    import torch

    return {
        "pytorch": torch.__version__,
        "threads": pools.torch_pools(torch)["intra_op"],
        "pools": pools.torch_pools(torch),
        "kernels": {
            "mkldnn": torch.backends.mkldnn.is_available(),
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version() if torch.cuda.is_available() else None,
        },
    }
