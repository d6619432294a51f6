"""PaddlePaddle: nn layers, eager or as a static program, paddle.optimizer. Images are NCHW inside.

Its kernels on a CPU are its own around MKL's matrix product; oneDNN is in the wheel, but off.
"""

import ctypes

import paddle

from bench.formats import Unsupported
from bench.libraries import find

VARIANTS = ("eager", "static")

_SERIAL = "FLAGS_new_executor_serial_run"


def set_up(options):
    if options.device == "gpu" and options.gpu >= paddle.device.cuda.device_count():
        raise Unsupported("this PaddlePaddle sees no CUDA device, or was built without CUDA")
    paddle.set_device("gpu:{}".format(options.gpu) if options.device == "gpu" else "cpu")
    if options.threads:
        # of OpenMP and MKL; FLAGS_paddle_num_threads changes nothing, whenever it is set
        paddle.base.core.set_num_threads(options.threads)
    # a static program's operators run side by side if left alone, on threads of their own
    paddle.set_flags({_SERIAL: options.threads == 1})
    paddle.seed(options.seed)  # before any layer draws its weights


def deterministic(options):
    flags = {"FLAGS_cudnn_deterministic": True, "FLAGS_embedding_deterministic": 1}
    known = {name: value for name, value in flags.items() if _has(name)}
    if not known:
        raise Unsupported("PaddlePaddle documents deterministic kernels for CUDA builds alone")
    paddle.set_flags(known)
    return {"switches": known, "covers": ["gpu"]}


def _has(flag):
    """Whether this build knows the flag: one without CUDA lacks those of its libraries."""
    try:
        return bool(paddle.get_flags(flag))
    except ValueError:
        return False


def describe():
    cuda = paddle.device.is_compiled_with_cuda()
    return {
        "framework": "paddlepaddle",
        "version": paddle.__version__,
        "threads": _threads(),  # left alone: one, Paddle sets OMP_NUM_THREADS itself
        "pools": {
            "openmp": _threads(),
            "operators": 1 if paddle.get_flags(_SERIAL)[_SERIAL] else "side by side",
        },
        "kernels": {
            "onednn": paddle.get_flags("FLAGS_use_onednn")["FLAGS_use_onednn"],
            "mkl": paddle.version.mkl() == "ON",  # loaded with the first product
            "cuda": paddle.version.cuda() if cuda else None,
            "cudnn": paddle.device.get_cudnn_version() if cuda else None,
        },
        "build": paddle.version.commit,
    }


def _threads():
    """Of the OpenMP that Paddle and MKL use; GNU's is in the process too, for oneDNN alone."""
    library = find(r"libiomp5")
    return ctypes.CDLL(library).omp_get_max_threads() if library else None


def build(graph, recipe, options):
    from bench.adapters.paddle.model import PaddleModel

    return PaddleModel(graph, recipe, options)
