"""MXNet: gluon blocks, autograd, gluon.Trainer; hybridised, or imperative. Images are NCHW inside.

The operations take `F` as gluon's do: mx.nd or, while a hybridised block is traced, mx.sym. A
symbol has no shape, so shapes come from the graph.
"""

import mxnet as mx

from bench.formats import Unsupported
from bench.libraries import find, openmp_threads

VARIANTS = ("hybrid", "imperative")


def set_up(options):
    if options.threads and openmp_threads() != options.threads:
        raise Unsupported("MXNet takes its threads from OMP_NUM_THREADS when it is imported")
    if options.device == "gpu":
        try:
            mx.nd.zeros((1,), ctx=mx.gpu(0)).wait_to_read()
        except mx.base.MXNetError:
            raise Unsupported("this MXNet sees no GPU")
    mx.random.seed(options.seed)  # before any parameter is drawn


def describe():
    features = {}
    if hasattr(mx, "runtime"):
        enabled = (name for name, f in mx.runtime.Features().items() if f.enabled)
        features = dict.fromkeys(sorted(enabled), True)
    return {
        "framework": "mxnet",
        "version": mx.__version__,
        "threads": openmp_threads(),  # left alone: half of the logical processors
        "kernels": features or {"MKLDNN": find(r"libmkldnn") is not None},
    }


def build(graph, recipe, options):
    from bench.adapters.mxnet.model import GluonModel

    return GluonModel(graph, recipe, options)
