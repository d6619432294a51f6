"""Keras 2.2 and 2.3 on TensorFlow 1 or Theano: compile and train_on_batch. Images are NHWC.

KERAS_BACKEND says what Keras runs on, before it is imported.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
if os.environ.get("KERAS_BACKEND") == "theano":
    from bench.adapters import theano_setup

    theano_setup.import_theano()

import keras
import numpy as np

from bench.adapters import determinism, pools, tensorflow_gpu
from bench.formats import Unsupported

VARIANTS = ("fit",)

_BACKEND = keras.backend.backend()


def set_up(options):
    {"tensorflow": _set_up_tensorflow, "theano": _set_up_theano}[_BACKEND](options)
    # as Keras ships: a file in the user's home may say otherwise
    keras.backend.set_floatx("float32")
    keras.backend.set_epsilon(1e-7)
    keras.backend.set_image_data_format("channels_last")
    np.random.seed(options.seed)  # Keras 2 draws initial weights and dropout's seeds from it


def deterministic(options):
    if _BACKEND == "theano":
        import theano

        return determinism.theano_switches(theano)
    import tensorflow as tf

    switches = determinism.session_switches(tf)
    if switches is None:
        raise Unsupported("TensorFlow, which Keras runs on, documents such kernels since 1.14")
    return switches


def describe():
    description = {
        "framework": "keras",
        "version": keras.__version__,
        "backend": _BACKEND,
    }
    description.update({"tensorflow": _describe_tensorflow, "theano": _describe_theano}[_BACKEND]())
    return description


def build(graph, recipe, options):
    from bench.adapters.keras2.model import BatchModel

    return BatchModel(graph, recipe, options)


# ---- what Keras runs on -------------------------------------------------------------------------


def _set_up_tensorflow(options):
    import tensorflow as tf

    config = tf.ConfigProto()
    if options.device == "cpu":
        config.device_count["GPU"] = 0
    elif not _SESSION:
        tensorflow_gpu.choose(config, options.gpu)
    if options.threads:
        pools.set_session(config, options.threads)
    if not _SESSION:  # one for all models of this process
        _SESSION["config"] = config
        keras.backend.set_session(tf.Session(config=config))
    # Keras 2.2 updates variables that backpropagation is still reading; resource variables are
    # copied before that
    tf.get_variable_scope().set_use_resource(options.setting == "matched")


_SESSION = {}


def _describe_tensorflow():
    import tensorflow as tf

    config = _SESSION["config"]
    return {
        "tensorflow": tf.__version__,
        "threads": pools.session_pools(config)["intra_op"],
        "pools": pools.session_pools(config),
        "kernels": {},
    }


def _set_up_theano(options):
    if options.device == "gpu":
        raise Unsupported("Theano's GPU packages are not on the package index")


def _describe_theano():
    import theano

    return {
        "theano": theano.__version__,
        "threads": theano_setup.blas_threads(),
        "pools": theano_setup.pools(theano),
        "kernels": {
            "openmp": theano.config.openmp,
            "blas": os.path.basename(theano_setup.blas() or "") or None,
            "compiler": os.path.basename(theano.config.cxx),
        },
    }
