"""The certificate: the release's model against the NumPy reference in float64, check by check.

Weights, batches and coefficients are drawn at random (proof/drawn.py); tolerances follow what
rounding can do to the graph at hand (proof/noise.py). Dropout is set to zero for everything but its
own checks, so that both sides compute one function.
Under `native` the same checks say what the framework's own defaults change.
"""

import functools
import traceback

from bench import data
from bench.formats import Unsupported
from bench.proof import model, modes, serving, training, waiting
from bench.proof.compare import Mismatch
from bench.proof.course import course
from bench.proof.sides import Sides
from bench.trial import prepare


def run(job, data_folder, out, adapter, events):
    prepare(job, adapter, events)
    splits = data.load(data_folder, job["data"], job["graph"], job["recipe"])
    with events.phase("verify"):
        for check in checks(job, splits, adapter, data_folder):
            events.write("check", **check)


def checks(job, splits, adapter, folder):
    """Each check's result as a dictionary, in the order in which a fault shows first."""
    sides = Sides(job, splits, adapter, folder)
    for name, function in _all(sides):
        result = {"name": name, "passed": True, "error": None, "tolerance": None, "node": None}
        try:
            result.update(function(sides) or {})
        except Unsupported:
            raise
        except Mismatch as difference:
            result.update(difference.fields, passed=False)
        except Exception as error:
            traceback.print_exc()
            result.update(passed=False, detail="{}: {}".format(type(error).__name__, error))
        yield result


def _all(sides):
    yield "data", serving.served_data
    yield "shapes", model.shapes
    yield "parameters", model.parameters
    yield "initial-weights", model.initial_weights
    yield "forward", model.forward
    yield "loss", model.loss
    yield "gradients", model.gradients
    yield "kinks", model.kinks
    yield "evaluation", modes.evaluation
    if sides.dropouts:
        yield "dropout", modes.dropout
    if sides.norms:
        yield "batchnorm", modes.batchnorm
    yield "recipe-steps", training.recipe_steps
    yield "partial-batch", training.partial_batch
    yield "long-run", training.long_run
    yield "own-batch", training.own_batch
    yield "sgd-nesterov-decay-steps", training.gentle_steps
    yield "adam-decay-steps", functools.partial(training.optimizer_steps, name="adam")
    yield "adadelta-decay-steps", functools.partial(training.optimizer_steps, name="adadelta")
    yield "batch-order", training.batch_order
    yield "repeat", training.repeat
    yield "prediction", training.prediction
    yield "metrics", serving.measured
    yield "course", course
    yield "sync", waiting.sync
    yield "seeds", model.seeds
