"""TensorFlow 2: tf.keras layers, trained by GradientTape in a tf.function, or by Keras' fit.

Images are NHWC, so canonical weights go in as they are.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

from bench.adapters import determinism, pools, tensorflow_gpu

VARIANTS = ("function", "fit", "tuned")

tf.get_logger().setLevel("ERROR")  # else it warns that a trial's functions are traced anew


def set_up(options):
    tensorflow_gpu.show(tf.config.experimental, options)
    if options.threads:
        pools.set_tensorflow(tf, options.threads)
    seed = getattr(tf.keras.utils, "set_random_seed", tf.random.set_seed)
    seed(options.seed)  # before any layer draws its weights


def deterministic(options):
    return determinism.tensorflow_switches(tf)


def describe():
    build = tf.sysconfig.get_build_info() if hasattr(tf.sysconfig, "get_build_info") else {}
    return {
        "framework": "tensorflow",
        "version": tf.__version__,
        "keras": tf.keras.__version__ if hasattr(tf.keras, "__version__") else None,
        "threads": pools.tensorflow_pools(tf)["intra_op"],
        "pools": pools.tensorflow_pools(tf),
        "kernels": {key: str(value) for key, value in sorted(dict(build).items())},
    }


def build(graph, recipe, options):
    from bench.adapters.tensorflow2.fit import FitModel
    from bench.adapters.tensorflow2.model import FunctionModel
    from bench.adapters.tensorflow2.tuned import TunedModel

    models = {"function": FunctionModel, "fit": FitModel, "tuned": TunedModel}
    return models[options.variant](graph, recipe, options)
