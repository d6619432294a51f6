"""All that a framework must know how to do.

An adapter is a package with the same four files in every framework:

    __init__.py   VARIANTS, set_up(options), describe(), deterministic(options),
                  build(graph, recipe, options)
    layers.py     OPERATIONS, one function for each op; the layers, and where their weights are
    training.py   the losses and the optimisers
    model.py      the Model: how it trains, predicts, takes and gives weights

`VARIANTS` are the ordinary ways to train in this framework, the default first. `set_up` sets
threads, device and seeds before anything is built. `describe` tells what runs, as it is now:
{"framework", "version", "threads", "pools", "kernels", …}; `pools` are all pools of threads, and
`one_core` says in words what runs on one core whatever they have. `deterministic` is called before
`set_up` where the trial asks for it: it sets what the release documents for it and returns that
(`determinism.py`). An adapter whose framework documents nothing has no such function.

Arrays that cross this interface are NumPy, in the canonical layout of FORMATS.md. A batch is
{name: array} with the graph's inputs, targets and masks by name; real-valued targets have the
shape of the output they belong to.

Whatever FORMATS.md allows must work: any branch, any state read by anybody, any name. A training
step computes the nodes that a loss depends on (`ops.trained_nodes`) and leaves all others as they
are; a prediction computes what the outputs depend on (`ops.nodes_for`).
"""

import abc
import collections
import time

from bench.formats import Unsupported
from bench.ops import extras_of, is_made, sources

Options = collections.namedtuple(
    "Options", "seed variant threads device setting gpu deterministic only_weights"
)
# `gpu`: which of the GPUs that the trial sees it trains on. `only_weights`: the model is asked for
# its first weights and never run, so how fast that would be does not matter. What is added here has
# a default, so that adapters from outside go on working.
Options.__new__.__defaults__ = (0, False, False)


class Prepared(dict):
    """A batch that `Model.prepared` has made: it is not prepared a second time."""


class Model(abc.ABC):
    """A model that has been built, with its optimiser."""

    path = {}
    """What was chosen on the way: compiled or not, fused kernels, formulas that were helped."""

    @abc.abstractmethod
    def train_step(self, batch):
        """One optimiser step in training mode; returns the loss as a handle, not yet waited for.

        `batch` is of NumPy arrays, or is what `prepared` made of them.
        """

    def prepared(self, batch):
        """The batch as a data loader of the framework would hand it to the loop: not timed.

        That is a `Prepared`, with arrays of the framework's own in the host's memory: bringing
        them to a GPU is part of the step.
        """
        return batch

    def train_epoch(self, batches, on_step):
        """Train on each batch and tell `on_step(loss handle, seconds)` of it.

        A framework that owns the loop (Keras' fit) has its own version of this.
        """
        for batch in map(self.prepared, batches):
            start = time.monotonic()
            handle = self.train_step(batch)
            self.sync()
            on_step(handle, time.monotonic() - start)

    def set_rate(self, rate):
        """The learning rate of the steps to come; only called if the recipe has a schedule.

        It is called before the first step and from `on_step`, never while a step is taken.
        """
        raise Unsupported("this adapter can't change the learning rate while it trains")

    @abc.abstractmethod
    def losses(self, handles):
        """The handles' values as floats."""

    @abc.abstractmethod
    def predict(self, batch):
        """{output: raw values} in evaluation mode."""

    @abc.abstractmethod
    def activations(self, batch, training=False):
        """{name: value} of everything in `ops.values_of`; for the proof, so it need not be fast."""

    @abc.abstractmethod
    def gradients(self, batch):
        """(loss, {node: {parameter: gradient}}) in training mode, without taking a step.

        Of the nodes that a training step computes; the others have no gradient.
        """

    def run_forward(self, batch):
        """Compute the loss of a training step as a step does, and wait for it; change no weight."""
        raise Unsupported("this adapter can't compute the loss alone")

    def run_backward(self, batch):
        """The same with the gradients, which stay in the framework; they are waited for, too."""
        raise Unsupported("this adapter can't compute gradients without fetching them")

    @abc.abstractmethod
    def weights(self):
        """{node: {parameter: value}}: what is in the model now, running statistics included."""

    @abc.abstractmethod
    def load(self, weights):
        """Put these weights into the model."""

    @abc.abstractmethod
    def sync(self):
        """Return only when everything asked for so far has been computed."""

    @abc.abstractmethod
    def save_native(self, folder):
        """Save the model its own way: the weights, with running statistics and constants, in
        `model` or `model.…`, the optimiser's state alone in `optimizer` or `optimizer.…`: the
        sizes of both are measured.

        Both may be folders. An optimiser without a state saves nothing. Returns None, or, where
        this release can't save a state that it has, one sentence that says why.
        """


def given(name, values, batch):
    """A loss's target or mask: what a host node made, or an array of the batch."""
    return (values if is_made(name) else batch)[name]


def spent_after(nodes, kept):
    """{node: names of the values that nobody reads after it}, when just these nodes are run.

    An eager framework keeps a value for as long as somebody holds it. Code by hand lets go of it
    on the way, so adapters must too, or they use more memory than the framework needs. `kept` are
    the values that the caller wants.
    """
    last = {}
    for node in nodes:
        made = [node["name"]] + extras_of(node)
        lengths = [node["lengths"]] if node.get("lengths") else []
        last.update(dict.fromkeys(sources(node) + lengths + made, node["name"]))
    spent = {node["name"]: [] for node in nodes}
    for name, node in last.items():
        if name not in kept:
            spent[node].append(name)
    return spent


def steps_of(nodes, kept):
    """[(node, the values that nobody reads after it)]: worked out once, walked in every step."""
    spent = spent_after(nodes, kept)
    return [(node, spent[node["name"]]) for node in nodes]


def weighted_sum(parts):
    """The sum of (weight, loss) as one would write it.

    An eager framework also computes, and differentiates, a factor of 1 and a sum with 0.
    """
    total = None
    for weight, loss in parts:
        loss = loss if weight == 1 else weight * loss
        total = loss if total is None else total + loss
    return total
