"""What Theano has to be told before it is imported, for itself and for Keras on it.

- where it keeps what it compiles: in the release's kept folder (BENCH_CACHE), else a temporary one
- which BLAS it may link: the OpenBLAS inside the NumPy package; by itself it finds none and falls
  back to slow code of its own
- whether to use OpenMP: only where a number of threads was asked for; by default it does not
"""

import os
import tempfile

import numpy as np  # loads its OpenBLAS, which is then found among the mapped libraries

from bench import libraries


def folder():
    """Where Theano keeps what it compiles."""
    return os.path.join(os.environ.get("BENCH_CACHE") or tempfile.gettempdir(), "theano")


def blas():
    """The path of the OpenBLAS that NumPy has loaded; None where it has another or none."""
    np.dot(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32))
    return libraries.find("libopenblas")


def blas_threads():
    """How many threads that OpenBLAS uses."""
    return libraries.openblas_threads() or 1


def pools(theano):
    """All pools: of the BLAS, and of the loops that Theano compiles."""
    threads = int(os.environ.get("OMP_NUM_THREADS") or 1) if theano.config.openmp else 1
    return {"blas": blas_threads(), "openmp": threads}


def import_theano():
    """Import Theano with these settings."""
    flags = ["floatX=float32", "base_compiledir=" + folder()]
    library = blas()
    if library:
        flags.append("blas.ldflags=-L{} -lopenblas".format(_linkable(library)))
    if int(os.environ.get("OMP_NUM_THREADS") or 1) > 1:
        flags.append("openmp=True")
    given = os.environ.get("THEANO_FLAGS")
    os.environ["THEANO_FLAGS"] = ",".join(flags + ([given] if given else []))
    try:
        import theano
    finally:  # it has been read, and its paths are nobody's business
        os.environ.pop("THEANO_FLAGS")
        if given:
            os.environ["THEANO_FLAGS"] = given
    return theano


def _linkable(library):
    """A folder in which the linker finds the library as `libopenblas.so`."""
    links = os.path.join(folder(), "blas")
    os.makedirs(links, exist_ok=True)
    link = os.path.join(links, "libopenblas.so")
    if not os.path.exists(link) or os.readlink(link) != library:
        fresh = "{}.{}".format(link, os.getpid())
        os.symlink(library, fresh)
        os.replace(fresh, link)
    return links
