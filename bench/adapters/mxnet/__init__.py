"""MXNet: gluon blocks, autograd, gluon.Trainer; hybridised, or imperative. Images are NCHW inside.

The operations take `F` as gluon's do: mx.nd or, while a hybridised block is traced, mx.sym. A
symbol has no shape, so shapes come from the graph.
"""

import os

import mxnet as mx

from bench import full_memory
from bench.adapters import fused
from bench.formats import Unsupported
from bench.libraries import find, openmp_threads

VARIANTS = ("hybrid", "imperative", "fused")


def set_up(options):
    if options.threads and openmp_threads() != options.threads:
        raise Unsupported("MXNet takes its threads from OMP_NUM_THREADS when it is imported")
    if options.device == "gpu":
        try:
            mx.nd.zeros((1,), ctx=mx.gpu(options.gpu)).wait_to_read()
        except mx.base.MXNetError as error:
            if full_memory.outcome(error, options.device):
                raise
            words = " ".join(str(error).split())  # with where it was raised, in several lines
            raise Unsupported("this MXNet sees no GPU ({})".format(words[:300]))
    if options.setting == "matched":
        # Read at the first gradient: from how many summands on it is added up one by one, in one
        # place. Not all operators can add to a place: in hybridised blocks those of a norm and of
        # averages are lost, those of clip and transpose write over the others. At once there is no
        # such place; but 1.3.0 with MKL-DNN loses some of 5 or more at once (`layers.ReadByFew`)
        os.environ["MXNET_EXEC_INPLACE_GRAD_SUM_CAP"] = "1000000"
    mx.random.seed(options.seed)  # before any parameter is drawn


def _has_mkldnn():
    """Whether this is 1.3.0 built with MKL-DNN; later releases have it built in and say so."""
    return find(r"libmkldnn") is not None


def deterministic(options):
    if tuple(int(part) for part in mx.__version__.split(".")[:2]) < (1, 4):
        raise Unsupported("MXNet documents deterministic kernels since 1.4")
    os.environ["MXNET_ENFORCE_DETERMINISM"] = "1"  # read when a convolution chooses its algorithm
    return {"switches": {"MXNET_ENFORCE_DETERMINISM": "1"}, "covers": ["gpu"]}


def describe():
    features = {}
    if hasattr(mx, "runtime"):
        enabled = (name for name, f in mx.runtime.Features().items() if f.enabled)
        features = dict.fromkeys(sorted(enabled), True)
    return {
        "framework": "mxnet",
        "version": mx.__version__,
        "threads": openmp_threads(),  # left alone: half of the logical processors
        "pools": {
            "openmp": openmp_threads(),
            # layers side by side: one, by its default and its documentation's advice
            "engine_workers": int(os.environ.get("MXNET_CPU_WORKER_NTHREADS") or 1),
        },
        "kernels": features or {"MKLDNN": _has_mkldnn()},
    }


def build(graph, recipe, options):
    from bench.adapters.mxnet.model import GluonModel

    if options.variant == "fused":
        operator = "contrib.ROIAlign, aligned"
        return fused.built(build, "hybrid", operator, graph, recipe, options)
    return GluonModel(graph, recipe, options)
