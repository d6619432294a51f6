"""The certificate: the release's model against the NumPy reference in float64, check by check.

Dropout is set to zero for everything but its own check, so that both sides compute one function.
Errors are relative to the largest value of the compared array. The tolerances (TOLERANCE) are for
float32: about 1e-7 a rounding, some hundred to thousand roundings in a sum, and for steps the
difference of two trajectories, which grows with every step.
"""

import copy
import traceback

import numpy as np

from bench import data, metrics, stack, weights
from bench.adapters.base import Options
from bench.adapters.numpy import Reference
from bench.formats import Unsupported
from bench.trial import options_of

TOLERANCE = {"forward": 1e-5, "loss": 1e-5, "gradient": 1e-4, "step": 1e-4, "steps": 1e-3}
STEPS = 20
_ROWS = 16
# Small steps, so that twenty of them stay on one side of the kinks of relu and max-pooling, where
# two roundings part for good; large coefficients, so that a wrong formula shows at once.
_OPTIMIZERS = (
    {"name": "sgd", "lr": 1e-3, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    {
        "name": "adam",
        "lr": 1e-4,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-3,
        "weight_decay": 0.0,
    },
    {"name": "adadelta", "lr": 0.01, "rho": 0.95, "epsilon": 1e-3, "weight_decay": 0.0},
)


class Mismatch(Exception):
    """The first place where the two differ."""

    def __init__(self, detail, error=None, tolerance=None, node=None):
        super().__init__(detail)
        self.fields = {"detail": detail, "error": error, "tolerance": tolerance, "node": node}


def run(job, data_folder, out, adapter, events):
    adapter.set_up(options_of(job))
    events.write("stack", **stack.describe(adapter))
    splits = data.load(data_folder, job["data"], job["graph"], job["recipe"])
    with events.phase("verify"):
        for check in checks(job, splits, adapter):
            events.write("check", **check)


def checks(job, splits, adapter):
    """Each check's result as a dictionary, in the order in which a fault shows first."""
    proof = Proof(job, splits, adapter)
    for name, function in proof.all():
        result = {"name": name, "passed": True, "error": None, "tolerance": None, "node": None}
        try:
            result.update(function() or {})
        except Unsupported:
            raise
        except Mismatch as difference:
            result.update(difference.fields, passed=False)
        except Exception as error:
            traceback.print_exc()
            result.update(passed=False, detail="{}: {}".format(type(error).__name__, error))
        yield result


class Proof:
    """What is compared, and with what."""

    def __init__(self, job, splits, adapter):
        self._job, self._adapter, self._splits = job, adapter, splits
        self._graph = job["graph"]
        self._plain = without_dropout(job["graph"])
        self._initial = weights.initial_weights(self._graph, job["seed"])
        self._idle = idle_biases(self._graph)
        order = data.epoch_order(job["seed"], 1, splits["train"].rows)
        size = min(_ROWS, job["recipe"]["batch"], splits["train"].rows)
        self._rows = [
            order[np.arange(k, k + size) % len(order)] for k in range(0, STEPS * size, size)
        ]

    def all(self):
        yield "parameters", self.parameters
        yield "initial-weights", self.initial_weights
        yield "shapes", self.shapes
        yield "forward", self.forward
        yield "loss", self.loss
        yield "gradients", self.gradients
        yield "evaluation", self.evaluation
        if self._dropouts():
            yield "dropout", self.dropout
        if any(node["op"] == "batchnorm" for node in self._graph["nodes"]):
            yield "batchnorm", self.batchnorm
        yield "partial-batch", self.partial_batch
        yield "recipe-steps", lambda: self.steps(self._job["recipe"]["optimizer"])
        for optimizer in _OPTIMIZERS:
            if optimizer != self._job["recipe"]["optimizer"]:
                yield _title(optimizer), lambda o=optimizer: self.steps(o)
        yield "metrics", self.metrics

    # ---- the two sides

    def _batch(self, k=0):
        return self._splits["train"].batch(self._rows[k])

    def _recipe(self, optimizer=None):
        recipe = dict(self._job["recipe"])
        if optimizer:
            recipe["optimizer"] = optimizer
        return recipe

    def _model(self, graph=None, optimizer=None):
        options = options_of(self._job)
        model = self._adapter.build(
            graph or self._plain, self._recipe(optimizer), Options(*options)
        )
        model.load(self._initial)
        return model

    def _reference(self, optimizer=None):
        reference = Reference(self._plain, self._recipe(optimizer), self._job["seed"], np.float64)
        reference.load(self._initial)
        return reference

    def _dropouts(self):
        return [node for node in self._graph["nodes"] if node["op"] == "dropout"]

    # ---- the checks

    def parameters(self):
        found = self._model().weights()
        for node in self._graph["nodes"]:
            wanted = {name: tuple(spec["shape"]) for name, spec in node["parameters"].items()}
            got = {name: value.shape for name, value in found.get(node["name"], {}).items()}
            if wanted != got:
                raise Mismatch("{} against {}".format(got, wanted), node=node["name"])
        return {"detail": "{} parameters".format(weights.count(self._graph))}

    def initial_weights(self):
        model = self._model()
        if weights.digest(model.weights()) != weights.digest(self._initial):
            for node, parameters in model.weights().items():
                for name, value in parameters.items():
                    if not np.array_equal(value, self._initial[node][name]):
                        raise Mismatch("{} is not what was loaded".format(name), node=node)
        return {"detail": weights.digest(self._initial)[:16]}

    def shapes(self):
        batch = self._batch()
        found = self._model().activations(batch)
        rows = len(self._rows[0])
        for node in self._graph["nodes"]:
            got = tuple(found[node["name"]].shape)
            if got != (rows,) + tuple(node["shape"]):
                raise Mismatch(
                    "{} against {}".format(got[1:], tuple(node["shape"])), node=node["name"]
                )

    def forward(self):
        batch = self._batch()
        model = self._model()
        worst = self._same_values(
            model.activations(batch), self._reference().activations(batch), "forward"
        )
        raw = model.predict(batch)
        wanted = {name: self._reference().predict(batch)[name] for name in self._graph["outputs"]}
        return {"error": max(worst, self._same_values(raw, wanted, "forward"))}

    def _same_values(self, got, wanted, kind):
        worst = 0.0
        for name in [n["name"] for n in self._graph["nodes"] if n["name"] in wanted]:
            worst = max(worst, compare(got[name], wanted[name], kind, name))
        return worst

    def loss(self):
        batch = self._batch()
        got, _ = self._model().gradients(batch)
        wanted, _ = self._reference().gradients(batch)
        taken = self._model()
        stepped = taken.losses([taken.train_step(batch)])[0]
        error = compare(np.array([got]), np.array([wanted]), "loss", None)
        return {"error": max(error, compare(np.array([stepped]), np.array([wanted]), "loss", None))}

    def gradients(self):
        batch = self._batch()
        _, got = self._model().gradients(batch)
        _, wanted = self._reference().gradients(batch)
        worst = 0.0
        for node in reversed(self._graph["nodes"]):  # the first to differ, seen from the loss
            parameters = wanted.get(node["name"], {})
            # a bias in front of a batch normalisation has no gradient but rounding: the node's
            # largest gradient is the measure
            floor = max([float(np.abs(value).max()) for value in parameters.values()] or [0.0])
            for name, value in sorted(parameters.items()):
                label = "{}/{}".format(node["name"], name)
                found = got[node["name"]][name]
                worst = max(worst, compare(found, value, "gradient", label, floor))
        return {"error": worst}

    def evaluation(self):
        """With dropout in the graph: no dropout, no change, twice the same."""
        batch = self._batch()
        model = self._model(self._graph)
        first, again = model.predict(batch), model.predict(batch)
        wanted = self._reference().predict(batch)
        for name in self._graph["outputs"]:
            compare(first[name], wanted[name], "forward", name)
            if not np.array_equal(first[name], again[name]):
                raise Mismatch("two evaluations of one batch differ", node=name)
        if weights.digest(model.weights()) != weights.digest(self._initial):
            raise Mismatch("evaluation changed the weights or the running statistics")

    def dropout(self):
        """Training drops the stated share of what is not zero and scales the rest by 1/(1-rate)."""
        model = self._model(self._graph)
        sources = {node["name"]: node["inputs"][0] for node in self._dropouts()}
        dropped, kept, wrong = dict.fromkeys(sources, 0), dict.fromkeys(sources, 0), {}
        for k in range(4):
            found = model.activations(self._batch(k), training=True)
            for node in self._dropouts():
                name, before = node["name"], found.get(sources[node["name"]])
                if before is None:
                    continue
                live = before != 0
                after = found[name][live]
                gone = after == 0
                dropped[name] += int(gone.sum())
                kept[name] += int((~gone).sum())
                scaled = before[live][~gone] / (1 - node["rate"])
                if after[~gone].size and not np.allclose(after[~gone], scaled, rtol=1e-5):
                    wrong[name] = "what is kept is not scaled by 1/(1-rate)"
        for node in self._dropouts():
            name, total = node["name"], dropped[node["name"]] + kept[node["name"]]
            if name in wrong:
                raise Mismatch(wrong[name], node=name)
            if not total:
                continue
            share, rate = dropped[name] / total, node["rate"]
            # five standard deviations of a binomial share, and never finer than 1 %
            room = max(0.01, 5 * np.sqrt(rate * (1 - rate) / total))
            if abs(share - rate) > room:
                raise Mismatch(
                    "drops {:.3f}, stated {:.3f}".format(share, rate), abs(share - rate), room, name
                )

    def batchnorm(self):
        """The running statistics after each of a few training steps."""
        model, reference = self._model(), self._reference()
        worst = 0.0
        for k in range(3):
            batch = self._batch(k)
            model.train_step(batch)
            reference.train_step(batch)
            got, wanted = model.weights(), reference.weights()
            for node in self._graph["nodes"]:
                if node["op"] == "batchnorm":
                    for name in ("mean", "variance"):
                        label = "{}/{}".format(node["name"], name)
                        value = wanted[node["name"]][name]
                        worst = max(worst, compare(got[node["name"]][name], value, "step", label))
        return {"error": worst}

    def partial_batch(self):
        """A last, smaller batch is trained on like any other, after a full one."""
        model, reference = self._model(), self._reference()
        size = max(1, len(self._rows[0]) // 3)
        for batch in (self._batch(), self._splits["train"].batch(self._rows[1][:size])):
            got = model.losses([model.train_step(batch)])[0]
            wanted = reference.train_step(batch)
        return {"error": compare(np.array([got]), np.array([wanted]), "step", None)}

    def steps(self, optimizer):
        """The weights after 1 and after 20 steps, as displacements from where they began."""
        model, reference = self._model(optimizer=optimizer), self._reference(optimizer)
        worst = 0.0
        for k in range(STEPS):
            batch = self._batch(k)
            model.train_step(batch)
            reference.train_step(batch)
            if k in (0, STEPS - 1):
                kind = "step" if k == 0 else "steps"
                worst = max(worst, self._same_path(model.weights(), reference.weights(), kind))
        return {"error": worst}

    def _same_path(self, got, wanted, kind):
        worst = 0.0
        for node in self._graph["nodes"]:
            start = {
                k: v.astype(np.float64) for k, v in self._initial.get(node["name"], {}).items()
            }
            moved = {name: wanted[node["name"]][name] - value for name, value in start.items()}
            furthest = max([float(np.abs(value).max()) for value in moved.values()] or [0.0])
            for name, value in sorted(moved.items()):
                if (node["name"], name) in self._idle:
                    continue
                # a float32 weight can't say more about its displacement than its own rounding
                rounding = 4 * np.finfo(np.float32).eps * np.abs(start[name]).max()
                floor = max(furthest, rounding / TOLERANCE[kind])
                label = "{}/{}".format(node["name"], name)
                found = got[node["name"]][name] - start[name]
                worst = max(worst, compare(found, value, kind, label, floor))
        return worst

    def metrics(self):
        """The metric of the release's own raw outputs against the reference's."""
        test = self._splits["test"]
        small = data.Split(test.batch(slice(0, min(test.rows, 200))))
        got, raw = metrics.evaluate(self._model(self._graph), small, self._job["recipe"])
        wanted, reference_raw = metrics.evaluate(self._reference(), small, self._job["recipe"])
        for name, value in wanted.items():
            if abs(got[name] - value) > max(1.0 / small.rows, 1e-4 * abs(value)):
                raise Mismatch("{} {} against {}".format(name, got[name], value))
        worst = max(compare(raw[name], reference_raw[name], "forward", name) for name in raw)
        return {"error": worst}


def compare(got, wanted, kind, node, floor=0.0):
    """The error relative to the largest wanted value; raises Mismatch above the tolerance."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    if got.shape != wanted.shape:
        raise Mismatch("shape {} against {}".format(got.shape, wanted.shape), node=node)
    if not got.size:
        return 0.0
    distance = np.abs(got - wanted)
    error = float(distance.max() / max(np.abs(wanted).max(), floor, 1e-12))
    if not error <= TOLERANCE[kind]:
        place = np.unravel_index(int(np.nanargmax(distance)), distance.shape)
        raise Mismatch(
            "{:.9g} against {:.9g} at {}".format(got[place], wanted[place], list(map(int, place))),
            error,
            TOLERANCE[kind],
            node,
        )
    return error


def without_dropout(graph):
    plain = copy.deepcopy(graph)
    for node in plain["nodes"]:
        if node["op"] == "dropout":
            node["rate"] = 0.0
    return plain


def idle_biases(graph):
    """Biases that a batch normalisation right behind takes out again.

    Their gradient is rounding alone, which Adam blows up to whole steps: no formula can be read
    from where they go, and it changes nothing that the model computes.
    """
    consumers = {}
    for node in graph["nodes"]:
        for source in node["inputs"]:
            consumers.setdefault(source, set()).add(node["op"])
    return {(name, "bias") for name, ops in consumers.items() if ops == {"batchnorm"}}


def _title(optimizer):
    extra = "-nesterov-decay" if optimizer.get("nesterov") else ""
    return "{}{}-steps".format(optimizer["name"], extra)
