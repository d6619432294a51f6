"""TensorFlow 2: tf.keras layers, trained by GradientTape in a tf.function, or by Keras' fit.

Images are NHWC, so canonical weights go in as they are.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

from bench.adapters import tensorflow_gpu

VARIANTS = ("function", "fit", "tuned")

tf.get_logger().setLevel("ERROR")  # else it warns that a trial's functions are traced anew


def set_up(options):
    tensorflow_gpu.show(tf.config.experimental, options)
    if options.threads:
        tf.config.threading.set_intra_op_parallelism_threads(options.threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    seed = getattr(tf.keras.utils, "set_random_seed", tf.random.set_seed)
    seed(options.seed)  # before any layer draws its weights


def describe():
    build = tf.sysconfig.get_build_info() if hasattr(tf.sysconfig, "get_build_info") else {}
    return {
        "framework": "tensorflow",
        "version": tf.__version__,
        "keras": tf.keras.__version__ if hasattr(tf.keras, "__version__") else None,
        # 0: TensorFlow takes as many as there are cores
        "threads": tf.config.threading.get_intra_op_parallelism_threads()
        or len(os.sched_getaffinity(0)),
        "inter_op_threads": tf.config.threading.get_inter_op_parallelism_threads() or None,
        "kernels": {key: str(value) for key, value in sorted(dict(build).items())},
    }


def build(graph, recipe, options):
    from bench.adapters.tensorflow2.fit import FitModel
    from bench.adapters.tensorflow2.model import FunctionModel
    from bench.adapters.tensorflow2.tuned import TunedModel

    models = {"function": FunctionModel, "fit": FitModel, "tuned": TunedModel}
    return models[options.variant](graph, recipe, options)
