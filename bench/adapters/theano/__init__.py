"""Theano: Lasagne's layers and updates, compiled functions. Images are NCHW inside."""

import os

import numpy as np

from bench.adapters import determinism, theano_setup
from bench.formats import Unsupported

theano = theano_setup.import_theano()

VARIANTS = ("function",)


def set_up(options):
    from bench.adapters.theano.layers import lasagne

    if options.device != "cpu":
        raise Unsupported("Theano's GPU back end (pygpu) is not on the package index")
    if not theano.config.cxx:
        raise Unsupported("Theano compiles its functions and finds no g++")
    # threads: OpenBLAS and OpenMP read their variables, theano_setup turns OpenMP on
    np.random.seed(options.seed)
    lasagne.random.set_rng(np.random.RandomState(options.seed))


def deterministic(options):
    return determinism.theano_switches(theano)


def describe():
    library = theano_setup.blas()
    return {
        "framework": "theano",
        "version": theano.__version__,
        "threads": theano_setup.blas_threads(),
        "pools": theano_setup.pools(theano),
        "kernels": {
            "blas": os.path.basename(library) if library else "none: Theano's own code",
            "openmp": bool(theano.config.openmp),
            "compiler": "g++ " + str(theano.gof.cmodule.gcc_version()),
        },
    }


def build(graph, recipe, options):
    from bench.adapters.theano.model import TheanoModel

    return TheanoModel(graph, recipe, options)
