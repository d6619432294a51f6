"""After training: are the predictions those of the weights that the trial ended with?

The certificate proves a model before it is timed: in a smaller size, for some hundred steps. Here
the trial itself is looked at, at its own size and behind its last step: the first test rows go
through the NumPy reference with the weights that were learnt. Predictions of stale weights, or of
a model that is no longer the proven one, would give the accuracy of something else.

It must not raise the trial's peak of memory: it computes in float32, with the very arrays of the
weights, on few rows. Only where that is not near enough is the rounding measured as in a
certificate.
"""

import numpy as np

from bench.formats import Invalid
from bench.ops import host_nodes
from bench.reference.model import Reference

_MOST_ROWS = 8
_MOST_VALUES = 2000000
"""Of all nodes and rows together; one row is looked at in any case."""
_NEAR = 1e-3
"""Of an output's largest value. Float32 is nearer, but for graphs that make much of rounding."""


def check(job, learnt, test, predictions):
    """What agreed: {"rows", "error"}; or {"reason"}, why nothing was compared.

    `learnt` are the weights that the trial ended with, `predictions` what it predicted with them of
    the split `test`, rows first.
    """
    graph, recipe = job["graph"], job["recipe"]
    reason = _why_not(job)
    if reason:
        return {"reason": reason}
    values = sum(int(np.prod(node["shape"])) for node in graph["nodes"])
    kept = min(len(value) for value in predictions.values())  # of large outputs not all rows are
    rows = max(1, min(_MOST_ROWS, _MOST_VALUES // values, kept))
    batch = next(test.batches(rows))
    got = {name: value[:rows] for name, value in predictions.items()}
    reference = Reference(graph, recipe, job["seed"], np.float32, {})
    reference.borrow(learnt)
    with np.errstate(all="ignore"):
        wanted = reference.predict(batch)
    if not all(np.isfinite(value).all() for value in wanted.values()):
        return {"reason": "the model's outputs are not finite numbers"}
    error = max(_error(got[name], value) for name, value in wanted.items())
    if not error <= _NEAR:
        error = _second_look(job, learnt, batch, got)
    return {"rows": rows, "error": error}


def _why_not(job):
    if job["setting"] != "matched":
        return "under native the framework's own formulas count"
    if job.get("confounds"):
        return "something is wrong in it on purpose"
    if host_nodes(job["graph"]):
        return "which regions a detector chooses may be a matter of rounding"
    return None


def _error(got, wanted):
    """Relative to the largest value; infinite where there is none to compare."""
    if got.shape != wanted.shape or not np.isfinite(got).all():
        return np.inf
    return float(np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1e-12))


def _second_look(job, learnt, batch, got):
    """The error, held against what rounding does to this graph with these weights."""
    # only here: they take memory and time that are not the trial's
    from bench.proof.compare import Mismatch, compare_values
    from bench.proof.noise import Copies

    graph, recipe = job["graph"], job["recipe"]
    reference = Reference(graph, recipe, job["seed"], np.float64, learnt)
    values = reference.activations(batch)
    wanted = {name: values[name] for name in graph["outputs"]}
    spreads = Copies(graph, recipe).values(learnt, batch, values)
    try:
        return compare_values(graph, got, wanted, spreads)
    except Mismatch as difference:
        words = (
            "its predictions are not those of the weights that it ended with: {} is {} by the "
            "NumPy reference"
        )
        raise Invalid(words.format(difference.fields["node"], difference.fields["detail"]))
