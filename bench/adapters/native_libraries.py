"""Asks the C libraries in this process for their threads, for frameworks that don't tell."""

import ctypes
import os
import re


def mapped(name):
    """The path of the first library in this process whose file name matches, or None."""
    with open("/proc/self/maps") as file:
        paths = [line.rstrip().split(" ")[-1] for line in file if "/" in line]
    return next((path for path in paths if re.match(name, os.path.basename(path))), None)


def openmp_threads():
    library = mapped(r"lib(gomp|iomp5)")
    return ctypes.CDLL(library).omp_get_max_threads() if library else None


def openblas_threads():
    """Of NumPy's OpenBLAS, whose functions carry a suffix where its integers have 64 bits."""
    library = mapped(r"lib(scipy_)?openblas")
    for name in ("openblas_get_num_threads", "openblas_get_num_threads64_"):
        function = getattr(ctypes.CDLL(library), name, None) if library else None
        if function is not None:
            return function()
    return None
