"""Which GPUs this trial can see, held against those that it was given; and how a full one is told.

The driver is asked in a process of its own, so that the framework finds it untouched.
"""

import hashlib
import os
import subprocess
import sys

from bench.formats import Unsupported

EXPECTED = "BENCH_GPUS"
"""The GPUs that the trial was given, as digests of their UUIDs, in this environment variable."""

_LIST = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int()
if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
    ask = getattr(driver, "cuDeviceGetUuid_v2", None) or driver.cuDeviceGetUuid
    for number in range(count.value):
        device, uuid = ctypes.c_int(), (ctypes.c_ubyte * 16)()
        if driver.cuDeviceGet(ctypes.byref(device), number) == 0 and ask(uuid, device) == 0:
            print(bytes(uuid).hex())
"""

_FULL = (
    # PyTorch, c10/cuda/CUDACachingAllocator.cpp; MXNet, src/storage/pooled_storage_manager.h
    "out of memory",
    # CuPy, cupy/cuda/memory.pyx; the exception's name, whatever its words
    "outofmemoryerror",
    # TensorFlow, core/framework/op_kernel.cc and errors of its kernels; PaddlePaddle, XLA
    "resourceexhausted",
    "resource_exhausted",
    "oom when allocating",
    # TensorFlow, when it copies into a full GPU
    "dst tensor is not initialized",
    # cuDNN and cuBLAS, in the words of every framework
    "cudnn_status_alloc_failed",
    "cublas_status_alloc_failed",
)
_OF_THE_HOST = ("defaultcpuallocator", "by allocator cpu", "by allocator mklcpu", "bad_alloc")
"""In a message of a GPU trial: what was full was the host's memory, not the GPU's."""


def visible():
    """Digests of the UUIDs of all GPUs that the driver shows here; nothing where it shows none."""
    try:
        listed = subprocess.check_output(
            [sys.executable, "-c", _LIST], stderr=subprocess.DEVNULL, universal_newlines=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    return [digest(line) for line in listed.split()]


def digest(uuid):
    """A GPU's UUID, of which the hex digits count, as it is recorded: it names no device."""
    digits = "".join(letter for letter in uuid.lower() if letter in "0123456789abcdef")
    return hashlib.sha256(digits[-32:].encode()).hexdigest()[:16]


def check():
    """The GPUs that are seen; an error unless they are the ones that this trial was given."""
    seen = visible()
    expected = [word for word in os.environ.get(EXPECTED, "").split(",") if word]
    if expected and set(expected) != set(seen):
        raise Unsupported(
            "it was given {} GPUs and sees {}, of which {} are among them".format(
                len(expected), len(seen), len(set(expected) & set(seen))
            )
        )
    return seen


def memory_outcome(text, device):
    """`gpu-oom` or `oom` if these are words for full memory, else None.

    There is no common exception type, and some say the same of both kinds of memory."""
    words = text.lower()
    if any(word in words for word in _OF_THE_HOST):
        return "oom"
    if not any(word in words for word in _FULL):
        return None
    return "gpu-oom" if device == "gpu" else "oom"
