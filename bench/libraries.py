"""The C libraries that are mapped into this process: their names, and the threads they use."""

import ctypes
import os
import re


def mapped():
    """The paths of all libraries in this process."""
    try:
        with open("/proc/self/maps") as file:
            return sorted({line.rstrip().split(" ")[-1] for line in file if "/" in line})
    except OSError:
        return []


def find(name):
    """The path of the first library whose file name matches the pattern, or None."""
    return next((path for path in mapped() if re.match(name, os.path.basename(path))), None)


def openmp_threads():
    library = find(r"lib(gomp|iomp5)")
    return ctypes.CDLL(library).omp_get_max_threads() if library else None


_NUM_THREADS = tuple(
    "{}openblas_get_num_threads{}".format(prefix, suffix)
    for prefix in ("", "scipy_")
    for suffix in ("", "64_")
)


def openblas_threads():
    """Of NumPy's OpenBLAS, whose functions carry a suffix where its integers have 64 bits, and a
    prefix since NumPy 1.26."""
    library = find(r"lib(scipy_)?openblas")
    for name in _NUM_THREADS if library else ():
        function = getattr(ctypes.CDLL(library), name, None)
        if function is not None:
            return function()
    return None
