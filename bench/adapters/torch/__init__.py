"""PyTorch: nn modules, autograd, torch.optim. Images are NCHW inside."""

import os
import shutil

import torch

from bench.adapters import determinism, pools
from bench.formats import Unsupported

VARIANTS = ("eager", "compile", "tuned")


def set_up(options):
    if options.threads:
        pools.set_torch(torch, options.threads)
    if options.device == "gpu":
        if options.gpu >= torch.cuda.device_count():
            raise Unsupported("this PyTorch sees no CUDA device")
        torch.cuda.set_device(options.gpu)
    if options.variant == "compile":
        _set_up_compiler()
    torch.manual_seed(options.seed)  # before any layer draws its weights


def _set_up_compiler():
    if not hasattr(torch, "compile"):
        raise Unsupported("torch.compile came with PyTorch 2.0")
    if not any(shutil.which(name) for name in ("g++", "clang++")):
        raise Unsupported("torch.compile needs a C++ compiler and finds none")
    if not shutil.which("openssl"):  # hashes the headers that it compiles in advance
        raise Unsupported("torch.compile needs the program openssl and does not find it")
    if os.environ.get("BENCH_CACHE"):  # compiled code, worth keeping
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(os.environ["BENCH_CACHE"], "inductor")


def deterministic(options):
    return determinism.torch_switches(torch)


def describe():
    mkldnn = getattr(torch.backends, "mkldnn", None)
    return {
        "framework": "pytorch",
        "version": torch.__version__,
        "threads": pools.torch_pools(torch)["intra_op"],
        "pools": pools.torch_pools(torch),
        "kernels": {
            "mkldnn": bool(mkldnn and mkldnn.is_available()),
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version() if torch.cuda.is_available() else None,
        },
        "build": torch.__config__.show() if hasattr(torch, "__config__") else None,
    }


def build(graph, recipe, options):
    from bench.adapters.torch.model import TorchModel

    return TorchModel(graph, recipe, options)
