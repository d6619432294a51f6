"""Chainer: links and functions, define-by-run; on a CPU all of it is NumPy. Images are NCHW."""

import os
import sys

import numpy as np

from bench.formats import Unsupported
from bench.libraries import openblas_threads

# CuPy compiles with headers that it has only for the CUDA versions of its time; of others it takes
# those of whatever CUDA this machine has, if any. These belong to the compiler that it runs with;
# it looks for them as it is imported.
for _place in sys.path:
    if os.path.isdir(os.path.join(_place, "nvidia", "cuda_runtime", "include")):
        os.environ["CUDA_PATH"] = os.path.join(_place, "nvidia", "cuda_runtime")

import chainer  # noqa: E402
from chainer.backends import cuda, intel64  # noqa: E402

VARIANTS = ("define-by-run",)


def set_up(options):
    if options.threads and openblas_threads() not in (options.threads, None):
        raise Unsupported("NumPy's OpenBLAS takes its threads from the environment at import")
    if options.device == "gpu":
        if not cuda.available:
            raise Unsupported("this Chainer has no CuPy that sees a GPU")
        cuda.get_device_from_id(options.gpu).use()
        cuda.cupy.random.seed(options.seed)
    np.random.seed(options.seed)  # before any link draws its weights


def deterministic(options):
    chainer.global_config.cudnn_deterministic = True
    return {"switches": {"config.cudnn_deterministic": True}, "covers": ["gpu"]}


def describe():
    return {
        "framework": "chainer",
        "version": chainer.__version__,
        "threads": openblas_threads(),
        "pools": {"blas": openblas_threads()},
        "one_core": "all but matrix products",  # as NumPy has it
        "kernels": {
            "ideep": intel64.is_ideep_available(),
            "cupy": cuda.cupy.__version__ if cuda.available else None,
            "cudnn": cuda.cudnn_enabled,
        },
    }


def build(graph, recipe, options):
    from bench.adapters.chainer.model import ChainerModel

    return ChainerModel(graph, recipe, options)
