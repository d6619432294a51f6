"""All that a framework must know how to do.

An adapter is a module with

    VARIANTS              the ordinary ways to train in this framework, the default first
    def set_up(options)   threads, device, seeds: before anything is built
    def describe()        {"framework", "version", "threads", "kernels", …}: what runs, as it is now
    def build(graph, recipe, options) -> Model

Arrays that cross this interface are NumPy, in the canonical layout of FORMATS.md. A batch is
{name: array} with the graph's inputs, targets and masks by name; real-valued targets have the
shape of the output they belong to.
"""

import abc
import collections
import time

Options = collections.namedtuple("Options", "seed variant threads device setting")


class Model(abc.ABC):
    """A model that has been built, with its optimiser."""

    path = {}
    """What was chosen on the way: compiled or not, fused kernels, formulas that were helped."""

    @abc.abstractmethod
    def train_step(self, batch):
        """One optimiser step in training mode; returns the loss as a handle, not yet waited for."""

    def train_epoch(self, batches, on_step):
        """Train on each batch and tell `on_step(loss handle, seconds)` of it.

        A framework that owns the loop (Keras' fit) has its own version of this.
        """
        for batch in batches:
            start = time.monotonic()
            handle = self.train_step(batch)
            self.sync()
            on_step(handle, time.monotonic() - start)

    @abc.abstractmethod
    def losses(self, handles):
        """The handles' values as floats."""

    @abc.abstractmethod
    def predict(self, batch):
        """{output: raw values} in evaluation mode."""

    @abc.abstractmethod
    def activations(self, batch, training=False):
        """{node: value} of every node; for the certificate, so it need not be fast."""

    @abc.abstractmethod
    def gradients(self, batch):
        """(loss, {node: {parameter: gradient}}) in training mode, without taking a step."""

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
        """Save the model its own way; weights and optimiser state apart, where it can."""


def shapes_of(graph):
    """{name: shape} of everything that a node can read: inputs, nodes, the LSTMs' final states."""
    shapes = {spec["name"]: spec["shape"] for spec in graph["inputs"]}
    for node in graph["nodes"]:
        shapes[node["name"]] = node["shape"]
        if node["op"] == "lstm":
            shapes[node["name"] + ":h"] = shapes[node["name"] + ":c"] = [node["units"]]
    return shapes


def cells_read(graph):
    """The LSTMs whose final cell somebody reads: many fused kernels have it at the padded end."""
    return {name[:-2] for node in graph["nodes"] for name in _read(node) if name.endswith(":c")}


def _read(node):
    return list(node["inputs"]) + list(node.get("initial") or [])


def spent_after(graph):
    """{node: names of the values that nobody reads after it}.

    An eager framework keeps a value for as long as somebody holds it. Code by hand lets go of it
    on the way, so adapters must too, or they use more memory than the framework needs.
    """
    last = {}
    for node in graph["nodes"]:
        name = node["name"]
        made = [name, name + ":h", name + ":c"] if node["op"] == "lstm" else [name]
        last.update(dict.fromkeys(_read(node) + made, name))
    kept = set(graph["outputs"]) | {spec["name"] for spec in graph["inputs"]}
    spent = {node["name"]: [] for node in graph["nodes"]}
    for name, node in last.items():
        if name not in kept:
            spent[node].append(name)
    return spent
