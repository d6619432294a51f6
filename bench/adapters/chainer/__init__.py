"""Chainer: links and functions, define-by-run; on a CPU all of it is NumPy. Images are NCHW."""

import os
import sys

import numpy as np

from bench.formats import Unsupported
from bench.libraries import openblas_threads

# CuPy compiles with headers that it has, if at all, only for the CUDA versions of its time; else it
# takes those of whatever CUDA this machine has. These belong to the compiler that it runs with, lie
# beside its libraries, and are looked for as it is imported.
_PLACES = [os.path.join(_place, "nvidia", "cuda_runtime") for _place in sys.path]
_PLACES += os.environ.get("LD_LIBRARY_PATH", "").split(":") + ["/opt/cuda/lib64"]
for _place in _PLACES:
    if os.path.isfile(os.path.join(_place, "include", "cuda_fp16.h")):
        os.environ["CUDA_PATH"] = _place
        break

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
