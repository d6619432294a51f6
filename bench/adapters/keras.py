"""Keras: 2.2 and 2.3 on TensorFlow 1 or Theano, 3 on TensorFlow, JAX or PyTorch. Images are NHWC.

KERAS_BACKEND says what Keras runs on, before it is imported. What the generations share is here
and in keras_layers; how each trains is in keras2 and keras3.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
if os.environ.get("KERAS_BACKEND") == "theano":
    from bench.adapters import theano_setup

    theano_setup.import_theano()

import keras
import numpy as np

from bench.formats import Unsupported

VARIANTS = ("fit",)

_RELEASE = tuple(int(part) for part in keras.__version__.split(".")[:2])
_BACKEND = keras.backend.backend()
_CORES = len(os.sched_getaffinity(0))


def set_up(options):
    {
        ("tensorflow", True): _set_up_tensorflow,
        ("tensorflow", False): _set_up_tensorflow1,
        ("jax", True): _set_up_jax,
        ("torch", True): _set_up_torch,
        ("theano", False): _set_up_theano,
    }[_BACKEND, _RELEASE >= (3, 0)](options)
    # as Keras ships: a file in the user's home may say otherwise
    config = keras.config if _RELEASE >= (3, 0) else keras.backend
    config.set_floatx("float32")
    config.set_epsilon(1e-7)
    config.set_image_data_format("channels_last")
    if _RELEASE >= (3, 0):
        keras.utils.set_random_seed(options.seed)
    else:
        np.random.seed(options.seed)  # Keras 2 draws initial weights and dropout's seeds from it


def describe():
    found = {
        "framework": "keras",
        "version": keras.__version__,
        "backend": _BACKEND,
        "threads": _CORES,
        "kernels": {},
    }
    found.update(
        {
            "tensorflow": _describe_tensorflow,
            "jax": _describe_jax,
            "torch": _describe_torch,
            "theano": _describe_theano,
        }[_BACKEND]()
    )
    return found


def build(graph, recipe, options):
    if _RELEASE >= (3, 0):
        from bench.adapters.keras3 import FitModel as KerasModel
    else:
        from bench.adapters.keras2 import BatchModel as KerasModel
    return KerasModel(graph, recipe, options)


# ---- what Keras runs on -------------------------------------------------------------------------


def _set_up_tensorflow(options):
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if options.device == "gpu" and not gpus:
        raise Unsupported("this TensorFlow sees no GPU")
    if options.device == "cpu":
        tf.config.set_visible_devices([], "GPU")
    for gpu in gpus if options.device == "gpu" else []:
        tf.config.experimental.set_memory_growth(gpu, True)
    if options.threads:
        tf.config.threading.set_intra_op_parallelism_threads(options.threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.experimental.enable_tensor_float_32_execution(options.setting == "native")


def _set_up_tensorflow1(options):
    import tensorflow as tf

    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    if options.device == "cpu":
        config.device_count["GPU"] = 0
    elif not tf.test.is_gpu_available():
        raise Unsupported("this TensorFlow sees no GPU")
    if options.threads:
        config.intra_op_parallelism_threads = options.threads
        config.inter_op_parallelism_threads = 1
    if not _SESSION:  # one for all models of this process
        _SESSION["config"] = config
        keras.backend.set_session(tf.Session(config=config))
    # Keras 2.2 updates variables that backpropagation is still reading; resource variables are
    # copied before that
    tf.get_variable_scope().set_use_resource(options.setting == "matched")


_SESSION = {}


def _describe_tensorflow():
    import tensorflow as tf

    if _RELEASE < (3, 0):
        config = _SESSION["config"]
        return {
            "tensorflow": tf.__version__,
            "threads": config.intra_op_parallelism_threads or _CORES,
            "inter_op_threads": config.inter_op_parallelism_threads or _CORES,
        }
    build = tf.sysconfig.get_build_info()
    return {
        "tensorflow": tf.__version__,
        "threads": tf.config.threading.get_intra_op_parallelism_threads() or _CORES,
        "inter_op_threads": tf.config.threading.get_inter_op_parallelism_threads() or None,
        "kernels": {key: str(value) for key, value in sorted(build.items())},
    }


def _set_up_jax(options):
    import jax

    if options.threads:
        os.environ["NPROC"] = str(options.threads)  # XLA's pool on the CPU: made at first use
    jax.config.update("jax_platforms", "cpu" if options.device == "cpu" else "cuda")
    try:
        jax.devices()
    except RuntimeError:
        raise Unsupported("this JAX sees no GPU")
    # no TF32 on a GPU where models are to be equal
    precision = "float32" if options.setting == "matched" else None
    jax.config.update("jax_default_matmul_precision", precision)


def _describe_jax():
    import jax

    return {
        "jax": jax.__version__,
        "threads": int(os.environ.get("NPROC") or _CORES),
        "kernels": {
            "platform": jax.default_backend(),
            "matmul_precision": jax.config.jax_default_matmul_precision,
        },
    }


def _set_up_torch(options):
    import torch

    if options.device == "gpu" and not torch.cuda.is_available():
        raise Unsupported("this PyTorch sees no CUDA device")
    if options.device == "cpu":
        keras.device("cpu").__enter__()  # and never left
    if options.threads:
        torch.set_num_threads(options.threads)


def _describe_torch():
    import torch

    return {
        "pytorch": torch.__version__,
        "threads": torch.get_num_threads(),
        "kernels": {
            "mkldnn": torch.backends.mkldnn.is_available(),
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version() if torch.cuda.is_available() else None,
        },
    }


def _set_up_theano(options):
    if options.device == "gpu":
        raise Unsupported("Theano's GPU packages are not on the package index")


def _describe_theano():
    import theano

    return {
        "theano": theano.__version__,
        "threads": theano_setup.blas_threads(),
        "kernels": {
            "openmp": theano.config.openmp,
            "blas": os.path.basename(theano_setup.blas() or "") or None,
            "compiler": os.path.basename(theano.config.cxx),
        },
    }
