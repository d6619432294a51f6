"""What exactly is running: packages, libraries, variables that change speed. No paths, no names."""

import os
import platform
import re
import sys

import numpy as np

from bench import libraries

_SPEED_VARIABLES = re.compile(
    r"^(OMP|MKL|KMP|OPENBLAS|GOMP|BLIS|NUMEXPR|VECLIB|GOTO|TF|XLA|JAX|TORCH|PYTORCH|MXNET|THEANO"
    r"|CHAINER|CUPY|KERAS|CUDA|CUDNN|CUBLAS|NVIDIA|NCCL|MALLOC|DNNL|ONEDNN|FLAGS)_|^(ATEN_CPU|"
    r"PYTHONHASHSEED|LD_PRELOAD)"
)
_MATH_LIBRARIES = re.compile(
    r"^lib(openblas|scipy_openblas|mkl|blas|cblas|lapack|atlas|blis|gomp|iomp|omp|dnnl|mkldnn"
    r"|iomp5|cudnn|cublas|cudart|nccl|tbb|gfortran|nvrtc)[\w.+-]*\.so"
)


def packages():
    """{name: version} of everything installed, read from the folders' names."""
    found = {}
    for folder in sys.path:
        try:
            entries = os.listdir(folder or ".")
        except OSError:
            continue
        for entry in entries:
            match = re.match(
                r"^([A-Za-z0-9_.+-]+?)-([0-9][^-]*?)(-py[\d.]+)?\.(dist|egg)-info$", entry
            )
            if match:
                found[match.group(1).replace("_", "-").lower()] = match.group(2)
    return found


def variables():
    """Environment variables that change speed; of a path only the last part."""
    return {
        name: os.path.basename(value) if value.startswith("/") else value
        for name, value in sorted(os.environ.items())
        if _SPEED_VARIABLES.match(name)
    }


def math_libraries():
    """Names of the BLAS, OpenMP and CUDA libraries that are mapped into this process."""
    names = {os.path.basename(path) for path in libraries.mapped()}
    return sorted(name for name in names if _MATH_LIBRARIES.match(name))


def os_threads():
    """How many threads this process has now."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return None


def describe(adapter):
    """The `stack` event's fields."""
    fields = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "numpy": np.__version__,
        "cores": len(os.sched_getaffinity(0)),
        "affinity": sorted(os.sched_getaffinity(0)),
        "packages": packages(),
        "variables": variables(),
        "libraries": math_libraries(),
    }
    fields.update(adapter.describe())
    return fields
