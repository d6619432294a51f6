"""Of every trial: did it begin, and end, as the proven model does?

The certificate proves a model before it is timed: in a smaller size, for some hundred steps. Here
the trial itself is looked at, at its own size and behind its last step: some test rows, the last
one among them, go through the NumPy reference with the weights that were learnt. Predictions of
stale weights, or of a model that is no longer the proven one, would give the accuracy of something
else. Besides, what the model held at first is what it was given, its first loss is that of the
first batch, what does not learn has not moved, and its metrics are those of its predictions.

It must not raise the trial's peak of memory: it computes in float32, with the very arrays of the
weights, on few rows. Only where that is not near enough is the rounding measured as in a
certificate.
"""

import numpy as np

from bench import data
from bench import metrics as metrics_of
from bench.formats import Invalid
from bench.ops import host_nodes, trained_nodes
from bench.reference.model import Reference
from bench.weights import digest, is_frozen

_MOST_ROWS = 8
_MOST_VALUES = 2000000
"""Of all nodes and rows together; one row is looked at in any case."""
_MOST_PARAMETERS = 10000000
"""Of a model whose first loss is computed: with more, a batch takes the reference too long."""
_NEAR = 1e-3
"""Of an output's largest value. Float32 is nearer, but for graphs that make much of rounding."""
_FIRST = 1e-2
"""Of the first loss."""


class Start:
    """What a trial began with, to hold its end against."""

    def __init__(self, job, loaded, held, train=None):
        """`loaded` is what was put into the model (None: its own weights), `held` what is in it.

        `train` is the split that the first batch is of.
        """
        graph = job["graph"]
        self.constant, self.loss = {}, None
        """(what the first step's loss is by the reference, what rounding may do to it)."""
        if _why_not(job):
            return
        for node, values in (loaded or {}).items():
            for name, value in values.items():
                if not np.array_equal(held[node][name], value):
                    words = "the weights that it began with are not those that it was given: {}/{}"
                    raise Invalid(words.format(node, name))
        learns = {node["name"] for node in trained_nodes(graph, job["recipe"])}
        learns -= {node["name"] for node in graph["nodes"] if is_frozen(node)}
        # digests: to keep the weights themselves would be memory that is not the trial's
        self.constant = {n: digest({n: values}) for n, values in held.items() if n not in learns}
        unsure = any(
            node["op"] == "batchnorm" or (node["op"] == "dropout" and node["rate"])
            for node in graph["nodes"]
        )
        if train is not None and not unsure:
            self.loss = _first_loss(job, held, train)


def _first_loss(job, weights, train):
    """The first step's loss and its room; None: it takes too long to compute, or is not finite."""
    graph, recipe, rows = job["graph"], job["recipe"], min(job["recipe"]["batch"], train.rows)
    values = sum(int(np.prod(node["shape"])) for node in graph["nodes"])
    parameters = sum(value.size for each in weights.values() for value in each.values())
    if rows * values > _MOST_VALUES or parameters > _MOST_PARAMETERS:
        return None
    batch = train.batch(data.epoch_order(job["seed"], 1, train.rows, recipe["shuffle"])[:rows])
    if recipe.get("augment"):
        images = [spec["name"] for spec in graph["inputs"] if len(spec["shape"]) == 3]
        batch = data.augmented(batch, recipe["augment"], images, job["seed"], 1, 0)
    losses = []
    for kind in (np.float64, np.float32):
        reference = Reference(graph, recipe, job["seed"], kind, {})
        reference.borrow(weights)
        with np.errstate(all="ignore"):
            losses.append(float(reference.loss(batch)))
    room = max(_FIRST * max(abs(losses[0]), 1e-3), 30 * abs(losses[1] - losses[0]))
    return (losses[0], room) if np.isfinite(room) else None


def check(job, learnt, test, predictions, metrics=None, start=None, first_loss=None):
    """What agreed: {"rows", "error"}; or {"reason"}, why nothing was compared.

    `learnt` are the weights that the trial ended with, `predictions` what it predicted with them of
    the split `test`, rows first, `metrics` what it made of that. `start` is its `Start`,
    `first_loss` what its first step told.
    """
    graph, recipe = job["graph"], job["recipe"]
    reason = _why_not(job)
    if reason:
        return {"reason": reason}
    if start is not None:
        _left_alone(start, learnt)
        _began_so(start, first_loss)
    values = sum(int(np.prod(node["shape"])) for node in graph["nodes"])
    kept = min(len(value) for value in predictions.values())
    a_row = sum(value[0].nbytes for value in predictions.values())
    whole = metrics and a_row * test.rows <= metrics_of.MOST_KEPT
    if kept > test.rows or (whole and kept < test.rows):
        raise Invalid("{} rows were predicted, and there are {}".format(kept, test.rows))
    rows = max(1, min(_MOST_ROWS, _MOST_VALUES // values, kept))
    # the last one, too: it is of the smaller batch
    chosen = np.unique(np.linspace(kept - 1, 0, rows).astype(int))
    batch = test.batch(chosen)
    got = {name: value[chosen] for name, value in predictions.items()}
    reference = Reference(graph, recipe, job["seed"], np.float32, {})
    reference.borrow(learnt)
    with np.errstate(all="ignore"):
        wanted = reference.predict(batch)
    if not all(np.isfinite(value).all() for value in wanted.values()):
        return {"reason": "the model's outputs are not finite numbers"}
    error = max(_error(got[name], value) for name, value in wanted.items())
    if not error <= _NEAR:
        error = _second_look(job, learnt, batch, got)
    if metrics and kept == test.rows:
        _judged_so(job, test, predictions, metrics)
    return {"rows": len(chosen), "error": error}


def _left_alone(start, learnt):
    for node, first in sorted(start.constant.items()):
        if digest({node: learnt[node]}) != first:
            raise Invalid("{} does not learn, and yet it is not what it was at first".format(node))


def _began_so(start, told):
    """Whether the first step's loss is that of the first batch and the first weights."""
    if start.loss and told is not None and not abs(told - start.loss[0]) <= start.loss[1]:
        words = "the loss of its first step is {:.9g}, by the NumPy reference it is {:.9g}"
        raise Invalid(words.format(told, start.loss[0]))


def _judged_so(job, test, predictions, metrics):
    """Whether the metrics are those of the predictions that were kept, computed once more."""
    from bench.proof.judged import judged

    divide = job["data"].get("divide") or {}
    for spec in job["recipe"]["metrics"]:
        if spec["name"] not in metrics or spec["target"] in divide:
            continue
        mask = test.array(spec["mask"]) if spec["mask"] else None
        wanted = judged(spec["name"], predictions[spec["output"]], test.array(spec["target"]), mask)
        told = metrics[spec["name"]]
        if wanted is None or not np.isfinite(wanted) or not np.isfinite(told):
            continue
        if not abs(told - wanted) <= 1e-4 * max(abs(wanted), 1e-6):
            words = "its {} is {:.9g}, and that of its predictions {:.9g}"
            raise Invalid(words.format(spec["name"], told, wanted))


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
