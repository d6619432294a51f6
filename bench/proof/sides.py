"""The two sides of the proof: the release's model and the reference, with the same batches.

Building and compiling a model can take seconds, so the checks share a few: one without dropout,
one whose attributes and rates of dropout are drawn anew, one for each other optimiser. What a
check leaves behind is undone by loading the weights again; only the optimiser's state stays, so
the trajectory of each optimiser has a model of its own.
"""

import functools
import inspect

import numpy as np

from bench import weights
from bench.ops import host_nodes, nodes_for, trained_nodes
from bench.proof import drawn
from bench.proof.kinks import rows_at_kinks
from bench.proof.noise import Copies, largest
from bench.proof.walk import HALF, Walk
from bench.reference.layers import Context
from bench.reference.model import Reference
from bench.trial import options_of
from bench.weights import is_frozen

ROWS = 6
"""Rows of most batches: few, because the reference is slow; enough for batch normalisation."""
MANY = 4
"""Times as many rows tell whether a graph still learns."""
MORE = 3
"""Batches, besides the first, whose values are compared."""
STEPS = 20
LONG = 100
"""Steps of the recipe's own optimiser; those behind STEPS are partial batches."""
FEW = 8
"""Steps of each other optimiser."""
_TRIES = 12
_GENTLER = 4
"""Times that the gentle steps may be tried, each time smaller."""
_LARGE = 40.0
"""Of an output that a loss reads: next to a certain one, float32 keeps nothing of a probability."""
_MOST_VALUES = 40_000_000
"""Values that the reference may keep for one batch: a larger batch is proven with fewer rows."""


def once(method):
    """A method whose first answer to what it is asked, or first failure, is kept."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def wrapped(self, *asked):
        bound = signature.bind(self, *asked)
        bound.apply_defaults()  # left out or given, it is the same question
        asked = bound.args[1:]
        name = "_once_{}{}".format(method.__name__, asked)
        if name not in self.__dict__:
            try:
                self.__dict__[name] = method(self, *asked), None
            except Exception as error:
                self.__dict__[name] = None, error
        value, error = self.__dict__[name]
        if error is not None:
            raise error
        return value

    return wrapped


class Sides:
    def __init__(self, job, splits, adapter, folder):
        self.job, self.splits, self.adapter, self.folder = job, splits, adapter, folder
        self.graph, self.recipe = job["graph"], job["recipe"]
        self.plain = drawn.without_dropout(job["graph"])
        self.redrawn = drawn.redrawn(job["graph"], 23)
        self.redrawn_plain = drawn.without_dropout(self.redrawn)
        self.trained = trained_nodes(self.graph, self.recipe)
        self.initial = weights.initial_weights(self.graph, job["seed"])
        self.dropouts = [node for node in self.graph["nodes"] if node["op"] == "dropout"]
        self.norms = [node for node in self.trained if node["op"] == "batchnorm"]
        self.size = min(ROWS, self.recipe["batch"])
        # smaller than a full one, but two rows are the fewest that a norm is defined for
        self.partial = max((self.size + 1) // 2, 2 if self.norms else 1)
        self._tries = _TRIES

    # ---- weights and batches

    @once
    def start(self):
        """The weights that proofs begin with: random, none where training begins."""
        values = drawn.weights(self.graph, 11)
        batch = drawn.Batches(self.graph, self.recipe, 12).rows(self.size)
        return drawn.with_statistics(values, self._statistics(values, batch), 13)

    def _statistics(self, values, batch):
        """{batch-norm: {"mean", "variance"}} of every norm on this batch, reached or not."""
        whole = dict(self.plain, nodes=[dict(node) for node in self.plain["nodes"]])
        for node in whole["nodes"]:
            if node["op"] == "batchnorm":
                node.update(keep=0.0, unbiased=False)
        reference = Reference(whole, self.recipe, self.job["seed"], np.float64, values)
        context = Context(True)
        reference._forward(batch, whole["nodes"], context)
        return context.state

    @once
    def batch(self):
        return self.kept_from_kinks(self.reference(), drawn.Batches(self.graph, self.recipe, 14))[0]

    def batches(self):
        """The batch and some more: what few rows show by luck alone, more of them do."""
        others = drawn.Batches(self.graph, self.recipe, 19)
        if host_nodes(self.graph):  # whose values jump at a near tie
            more = [self.kept_from_kinks(self.reference(), others)[0] for _ in range(MORE)]
        else:
            more = [others.rows(self.size) for _ in range(MORE)]
        return [self.batch()] + more

    def kept_from_kinks(self, reference, batches, rows=None):
        """(a batch, whether none of its rows stands at a kink of the reference as it now is)."""
        batch = batches.rows(rows or self.size)
        for _ in range(self._tries):
            values = reference.activations(batch, training=True)
            near = rows_at_kinks(self.graph, self.recipe, values, batch)
            if not near.any():
                return batch, True
            beside = None if near.all() else batch
            batch = drawn.replaced(batch, near, batches.rows(int(near.sum()), beside))
        self._tries = 1  # a graph of so many values has a kink in nearly every row
        return batch, False

    def own_rows(self):
        """The recipe's batch, or as much of it as the reference can keep."""
        values = sum(int(np.prod(node["shape"])) for node in self.graph["nodes"])
        return max(self.size, min(self.recipe["batch"], _MOST_VALUES // max(1, 4 * values)))

    # ---- models

    def _build(self, graph, recipe=None):
        return self.adapter.build(graph, recipe or self.recipe, options_of(self.job))

    @once
    def built(self):
        """The release's model without dropout; with what weights is left open."""
        return self._build(self.plain)

    @once
    def built_redrawn(self):
        """The release's model with dropout and other attributes; with what weights is left open.

        Its steps are too short to move a float32: that its losses differ is dropout's doing.
        """
        optimizer = dict(self.recipe["optimizer"], lr=1e-20)
        return self._build(self.redrawn, dict(self.recipe, optimizer=optimizer))

    def at_start(self):
        """The release's model without dropout, with the weights that proofs begin with."""
        return self._loaded(self.built())

    def loaded(self, graph, recipe=None):
        """A model of its own for an altered graph or recipe."""
        return self._loaded(self._build(graph, recipe))

    def with_dropout(self):
        return self._loaded(self.built_redrawn())

    @once
    def built_as_stated(self):
        """The release's model with the graph's own rates of dropout."""
        return self._build(self.graph)

    def dropping(self):
        """[(graph, model)] that drop: with rates drawn anew, and with those that no draw is like.

        What people write is mostly like what is drawn, and costs no model of its own.
        """
        pairs = [(self.redrawn, self.with_dropout())]
        if any(node["rate"] and not 0.2 <= node["rate"] <= 0.7 for node in self.dropouts):
            pairs.append((self.graph, self._loaded(self.built_as_stated())))
        return pairs

    def _loaded(self, model):
        model.load(self.start())
        return model

    def reference(self, graph=None, recipe=None):
        recipe = recipe or self.recipe
        return Reference(graph or self.plain, recipe, self.job["seed"], np.float64, self.start())

    # ---- what both say of the first batch

    @once
    def copies(self):
        return Copies(self.plain, self.recipe)

    @once
    def gradients(self):
        """(loss, gradients) of the release."""
        return self.at_start().gradients(self.batch())

    @once
    def wanted_gradients(self):
        """((loss, gradients, statistics), their spreads) of the reference."""
        exact = self.reference().backward(self.batch())
        return exact, self.copies().backward(self.start(), self.batch(), exact)

    @once
    def recipes(self):
        """The recipe with one optimiser of each kind; every number matters at these gradients."""
        _, gradients, _ = self.wanted_gradients()[0]
        sizes = [largest(v) for values in gradients.values() for v in values.values()]
        others = drawn.optimizers(float(np.median([size for size in sizes if size] or [1e-2])))
        if self.recipe["optimizer"].get("hat_epsilon"):
            others["adam"]["hat_epsilon"] = True
        altered = {} if self.recipe.get("clip") is None else {"clip": drawn.clip(gradients)}
        return {name: dict(self.recipe, optimizer=o, **altered) for name, o in others.items()}

    # ---- trajectories

    @once
    def recipe_walk(self):
        """Training with the recipe's optimiser: full batches, partial ones, one of its own size.

        Then one whose outputs are large, and one of a single row.
        """
        sizes = [self.size] * STEPS + [self.partial] * (LONG - STEPS) + [self.own_rows()]
        if not host_nodes(self.graph):
            sizes += [self.size] + [1] * (not self.norms and self.recipe["batch"] > 1)
        in_loop = range(STEPS + 5, LONG, 10)
        return self._walk(self.at_start(), self.plain, self.recipe, sizes, 15, in_loop)

    @once
    def gentle_walk(self, smaller=1):
        """Small steps of SGD, without dropout: what the trial's own loop is held against.

        The loop can't begin again where a walk would, so where these steps diverge (one gradient is
        far larger than the others, by which they are chosen) smaller ones are taken.
        """
        recipe, sizes = self.recipes()["sgd"], [self.size] * FEW + [self.partial]
        rate = recipe["optimizer"]["lr"] / smaller
        recipe = dict(recipe, optimizer=dict(recipe["optimizer"], lr=rate))
        for _ in range(_GENTLER):
            model = self.loaded(self.plain, recipe)
            walk = self._walk(model, self.plain, recipe, sizes, 16)
            if not walk.began_again:
                break
            (loss, gradients, _), rate = self.wanted_gradients()[0], recipe["optimizer"]["lr"]
            squares = sum(np.square(g).sum() for v in gradients.values() for g in v.values())
            # one step along the slope takes a hundredth of the loss away, at most
            slower = min(rate / 37, 0.0113 * abs(loss) / max(squares, 1e-30)) or rate / 37
            recipe = dict(recipe, optimizer=dict(recipe["optimizer"], lr=slower))
        return walk

    def forgetful(self):
        """A model without dropout whose steps are short and remember nothing of those before."""
        rate = self.gentle_walk().recipe["optimizer"]["lr"] / 100
        optimizer = {"name": "sgd", "lr": rate, "momentum": 0.0, "nesterov": False}
        recipe = dict(self.recipe, schedule=None, clip=None)
        recipe["optimizer"] = dict(optimizer, weight_decay=0.0)
        return self.loaded(self.plain, recipe)

    def optimizer_walk(self, name):
        """Training with another optimiser and other attributes."""
        recipe = self.recipes()[name]
        model = self.loaded(self.redrawn_plain, recipe)
        return self._walk(model, self.redrawn_plain, recipe, [self.size] * FEW, 17, [FEW - 3])

    def _walk(self, model, graph, recipe, sizes, seed, in_loop=()):
        """Both sides' steps on batches of these sizes, those of these numbers in the loop."""
        batches = drawn.Batches(self.graph, self.recipe, seed)
        many = None  # of a detector, whose batch is one image
        if not host_nodes(graph):
            many = drawn.Batches(self.graph, self.recipe, 25).rows(MANY * self.size)
        walk = Walk(self, model, self.reference(graph, recipe), graph, recipe, many)
        for number, rows in enumerate(sizes):
            if number == LONG + 1:
                walk.leap(self._with_large_outputs(walk, batches))
            batch, clear = self.kept_from_kinks(walk.reference, batches, rows)
            if number in (4, 5) and rows == self.size:  # no place counts, or a single one
                batch = drawn.without_mask(batch, self.recipe, number - 4)
            walk.step(batch, clear, number in in_loop)
        return walk.ended()

    def _with_large_outputs(self, walk, batches):
        """The walk's weights, but for layers that losses read: their outputs are large.

        A loss that is cut off, or a probability that is kept from 0 and 1, shows there alone.
        """
        values = walk.reference.activations(batches.rows(self.size), training=True)
        larger = {node: dict(parameters) for node, parameters in walk.weights.items()}
        for node in self.trained:
            read = {spec["output"] for spec in self.recipe["losses"]}
            if node["name"] in read and node["op"] in ("dense", "conv2d"):
                factor = _LARGE / max(largest(values[node["name"]]), 1e-3)
                for name, value in larger[node["name"]].items():
                    if not is_frozen(node):
                        larger[node["name"]][name] = (value * factor).astype(np.float32)
        return larger

    @once
    def gentle_epoch(self, smaller=1):
        """(losses, the weights after each epoch, the model) of the gentle walk's batches in the
        loop that trials use.

        Two epochs, and a prediction before each: what is compiled or kept for it must not go stale,
        and the optimiser's state must outlast both. The second one begins with the walk's weights,
        so that what rounding has parted does not part further.
        """
        walk = self.gentle_walk(smaller)
        batches, recipe = walk.batches, walk.recipe
        model, handles, ends = self.loaded(self.plain, recipe), [], []

        def on_step(handle, _seconds):
            handles.append(handle)
            self._set_rate(model, recipe, len(handles))

        self._set_rate(model, recipe, 0)
        for part in (batches[:HALF], batches[HALF:]):
            model.predict(self.batch())
            if not host_nodes(self.graph):  # whose rows are regions
                model.predict(drawn.repeated(self.batch(), 1))
            model.train_epoch(iter(part), on_step)
            ends.append(model.weights())
            if len(ends) == 1:
                model.load(walk.halfway)
        return model.losses(handles), ends, model

    def _set_rate(self, model, recipe, step):
        if recipe.get("schedule"):
            model.set_rate(drawn.rate(recipe, step))

    def upstream_of(self, names):
        """The names of all nodes that these values depend on."""
        return {node["name"] for node in nodes_for(self.graph, names)}
