"""Runs inside any release's environment: its real adapter with one fault, certified.

python release_faults.py REQUESTS     prints, for each of [fault, job, data], the checks as JSON

A fault is planted where all adapters are alike: in the graph or recipe that a model is built of, or
around its methods. So one list does for every framework, and no framework's code is touched.
"""

import copy
import importlib
import json
import sys
from pathlib import Path

import numpy as np

from bench import data, verify
from bench.adapters.base import Prepared
from bench.ops import trained_nodes
from bench.trial import options_of
from bench.weights import is_frozen

ROWS = 6
"""Of the proof's full batches (bench/proof/sides.py)."""


class Planted:
    """An adapter whose models have the fault."""

    def __init__(self, adapter, fault):
        self._adapter, self._fault = adapter, fault

    def set_up(self, options):
        self._adapter.set_up(options)

    def build(self, graph, recipe, options):
        graph, recipe = copy.deepcopy(graph), copy.deepcopy(recipe)
        around = self._fault(graph, recipe)
        model = self._adapter.build(graph, recipe, options)
        if around is not None:
            around(model)
        return model


def none(graph, recipe):
    """The adapter as it is."""


# ---- in what the model is built of ------------------------------------------------------------


def frozen_layers_learn(graph, recipe):
    for node in graph["nodes"]:
        node.pop("frozen", None)


def momentum_is_nesterovs(graph, recipe):
    if recipe["optimizer"].get("momentum"):
        recipe["optimizer"]["nesterov"] = True


def gradients_are_never_clipped(graph, recipe):
    recipe["clip"] = None


def smooth_l1_is_the_squared_error(graph, recipe):
    for spec in recipe["losses"]:
        if spec["name"] == "smooth-l1":
            spec["name"] = "mean-squared-error"


def decay_is_missing_where_clipped(graph, recipe):
    if recipe["clip"] is not None:
        recipe["optimizer"]["weight_decay"] = 0.0


def auxiliary_loss_counts_in_full(graph, recipe):
    for spec in recipe["losses"]:
        spec["weight"] = 1.0


# ---- around what it is fed with ---------------------------------------------------------------


def _in_training(altered):
    """Decorates `altered(graph, recipe, batch)`: the batch that a step sees."""

    def fault(graph, recipe):
        def around(model):
            step, epoch = model.train_step, model.train_epoch

            def mistaken(batch):
                own = isinstance(batch, Prepared)  # made by the epoch, of what was altered
                return step(batch if own else altered(graph, recipe, dict(batch)))

            model.train_step = mistaken
            model.train_epoch = lambda batches, on_step: epoch(
                (altered(graph, recipe, dict(batch)) for batch in batches), on_step
            )

        return around

    return fault


@_in_training
def partial_batch_is_filled_up(graph, recipe, batch):
    rows = len(next(iter(batch.values())))
    places = np.minimum(np.arange(max(ROWS, rows)), rows - 1)
    return {name: value[places] for name, value in batch.items()}


@_in_training
def targets_are_rounded(graph, recipe, batch):
    for spec in recipe["losses"]:
        batch[spec["target"]] = np.round(batch[spec["target"]])
    return batch


@_in_training
def rows_and_labels_part(graph, recipe, batch):
    for spec in recipe["losses"]:
        batch[spec["target"]] = np.roll(batch[spec["target"]], 1, axis=0)
    return batch


@_in_training
def pictures_are_flipped_in_training(graph, recipe, batch):
    return {n: np.array(v[:, :, ::-1]) if v.ndim == 4 else v for n, v in batch.items()}


@_in_training
def mask_is_inverted(graph, recipe, batch):
    for spec in recipe["losses"]:
        batch[spec["mask"]] = 1 - batch[spec["mask"]]
    return batch


@_in_training
def training_reads_the_next_word(graph, recipe, batch):
    words = {}
    for node in graph["nodes"]:
        if node["op"] == "embedding":
            name = node["inputs"][0]
            words[name] = min(node["vocabulary"], words.get(name, 1 << 20))
    return dict(batch, **{n: (batch[n] + 1) % np.int32(most) for n, most in words.items()})


def all_rows_are_as_long_as_the_longest(graph, recipe):
    names = [node["lengths"] for node in graph["nodes"] if node.get("lengths")]

    def around(model):
        predict = model.predict

        def longest(batch):
            altered = {n: np.full_like(batch[n], batch[n].max()) for n in names}
            return predict(dict(batch, **altered))

        model.predict = longest

    return around


# ---- around what it keeps ---------------------------------------------------------------------


def _after_steps(altered):
    """Decorates `altered(graph, recipe, weights)`: what stays of the weights after each step."""

    def fault(graph, recipe):
        def around(model):
            step = model.train_step

            def mistaken(batch):
                handle = step(batch)
                model.load(altered(graph, recipe, model.weights()))
                return handle

            model.train_step = mistaken

        return around

    return fault


@_after_steps
def frozen_layers_drift(graph, recipe, weights):
    for node in graph["nodes"]:
        if is_frozen(node):
            weights[node["name"]] = {n: 0.999 * v for n, v in weights[node["name"]].items()}
    return weights


@_after_steps
def norms_that_no_loss_reaches_move(graph, recipe, weights):
    reached = {node["name"] for node in trained_nodes(graph, recipe)}
    for node in graph["nodes"]:
        if node["op"] == "batchnorm" and node["name"] not in reached:
            weights[node["name"]]["mean"] = 0.9 * weights[node["name"]]["mean"]
    return weights


def weights_are_rounded_after_an_epoch(graph, recipe):
    def around(model):
        epoch = model.train_epoch

        def rounding(batches, on_step):
            epoch(batches, on_step)
            model.load(
                {
                    node: {n: v.astype(np.float16).astype(np.float32) for n, v in values.items()}
                    for node, values in model.weights().items()
                }
            )

        model.train_epoch = rounding

    return around


def predictions_are_of_the_epoch_before(graph, recipe):
    def around(model):
        epoch, predict, before = model.train_epoch, model.predict, []

        def remembering(batches, on_step):
            before[:] = [model.weights()]
            epoch(batches, on_step)

        def stale(batch):
            now = model.weights()
            model.load(before[0] if before else now)
            found = predict(batch)
            model.load(now)
            return found

        model.train_epoch, model.predict = remembering, stale

    return around


def epochs_take_the_first_rate(graph, recipe):
    def around(model):
        epoch, set_rate = model.train_epoch, model.set_rate

        def mistaken(batches, on_step):
            set_rate(recipe["optimizer"]["lr"])
            epoch(batches, on_step)

        model.train_epoch = mistaken

    return around


def main(requests):
    for fault, job, folder in json.loads(Path(requests).read_text()):
        plain = importlib.import_module("bench.adapters." + job["adapter"])
        adapter = Planted(plain, globals()[fault])
        adapter.set_up(options_of(job))
        splits = data.load(folder, job["data"], job["graph"], job["recipe"])
        print(json.dumps([fault, list(verify.checks(job, splits, adapter, folder))]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
