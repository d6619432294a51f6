"""TensorFlow 1: tf.layers and tf.nn in a graph, trained by tf.train in a session.

Images are NHWC, so canonical weights go in as they are, except the LSTM's: its gates stand in
another order.
"""

import logging
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

from bench.adapters import determinism, fused, pools, tensorflow_gpu
from bench.formats import Unsupported

VARIANTS = ("session", "fused")

logging.getLogger("tensorflow").setLevel(logging.ERROR)  # 1.15 warns of every name that 2.0 lacks
_config = tf.ConfigProto()
"""What every session is made with; set_up fills it in."""


def set_up(options):
    if options.device == "gpu":
        tensorflow_gpu.choose(_config, options.gpu)
    else:
        _config.device_count["GPU"] = 0
    if options.threads:
        pools.set_session(_config, options.threads)


def deterministic(options):
    switches = determinism.session_switches(tf)
    if switches is None:
        raise Unsupported("TensorFlow documents deterministic kernels since 1.14")
    return switches


def describe():
    return {
        "framework": "tensorflow",
        "version": tf.__version__,
        "threads": pools.session_pools(_config)["intra_op"],
        "pools": pools.session_pools(_config),
        "kernels": {"cuda": tf.test.is_built_with_cuda(), "compiler": str(tf.COMPILER_VERSION)},
    }


def build(graph, recipe, options):
    from bench.adapters.tensorflow1.model import SessionModel

    if options.variant == "fused":
        operator = "crop_and_resize of the image with its edge repeated, then avg_pool"
        return fused.built(build, "session", operator, graph, recipe, options)
    return SessionModel(graph, recipe, options, _config)
