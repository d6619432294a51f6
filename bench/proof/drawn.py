"""What a proof is made with: weights, batches, attributes and coefficients, all drawn at random.

Whatever is zero, one, equal or tiny in a proof is not proven. So biases and running statistics are
far from their initial values, every token of a vocabulary's ends is read, sequences hold random
numbers behind their true length, and each number that a graph or a recipe states is drawn in at
least one of the models that are compared.
"""

import copy

import numpy as np

from bench.data import BY_CLASS, ranges_of
from bench.ops import at_size, for_batch, host_nodes, is_made, shapes_of, sizes_of

# ---- graphs -------------------------------------------------------------------------------------


def without_dropout(graph):
    plain = copy.deepcopy(graph)
    for node in plain["nodes"]:
        if node["op"] == "dropout":
            node["rate"] = 0.0
    return plain


def all_dropped(graph):
    """The graph with rates just below one, which float32 can hold: next to nothing is kept."""
    other = copy.deepcopy(graph)
    for node in other["nodes"]:
        if node["op"] == "dropout":
            node["rate"] = 1 - 2.0**-22
    return other


def redrawn(graph, seed):
    """The graph with other rates of dropout and other coefficients of batch normalisation."""
    random, other = np.random.RandomState(seed), copy.deepcopy(graph)
    for node in other["nodes"]:
        if node["op"] == "dropout":
            node["rate"] = round(random.uniform(0.25, 0.6), 3)
        elif node["op"] == "batchnorm":
            node["keep"] = round(random.uniform(0.35, 0.85), 3)
            node["epsilon"] = round(random.uniform(0.05, 0.4), 4)
    return other


# ---- weights ------------------------------------------------------------------------------------


def weights(graph, seed):
    """{node: {parameter: value}}, none of them where training begins.

    Kernels are scaled so that values neither vanish nor grow from node to node. Running statistics
    are left to `with_statistics`.
    """
    random = np.random.RandomState(seed)
    return {
        node["name"]: {
            name: _parameter(random, name, tuple(spec["shape"])).astype(np.float32)
            for name, spec in sorted(node["parameters"].items())
        }
        for node in graph["nodes"]
        if node["parameters"]
    }


def _parameter(random, name, shape):
    if name in ("kernel", "input_kernel", "recurrent_kernel"):
        return random.normal(0, 1.2 / np.sqrt(np.prod(shape[:-1])), shape)
    if name == "table":
        return random.normal(0, 1, shape)
    if name in ("gamma", "scale"):
        return random.uniform(0.5, 1.5, shape) * np.where(random.uniform(size=shape) < 0.25, -1, 1)
    if name == "variance":
        return random.uniform(0.5, 2, shape)
    return random.normal(0, 0.3, shape)


def with_statistics(values, measured, seed):
    """The weights with running statistics near those of a batch, but none of them equal."""
    random = np.random.RandomState(seed)
    moved = {node: dict(parameters) for node, parameters in values.items()}
    for node, statistics in sorted(measured.items()):
        mean, variance = statistics["mean"], statistics["variance"]
        spread = np.sqrt(variance) + 0.1
        away = random.normal(0, 0.4, mean.shape) * spread
        factor = random.uniform(0.6, 1.7, variance.shape)
        moved[node]["mean"] = (mean + away).astype(np.float32)
        moved[node]["variance"] = (variance * factor + 0.05).astype(np.float32)
    return moved


# ---- batches ------------------------------------------------------------------------------------


_LARGEST_WEIGHT = 3
"""Of a mask that may hold any weights, as whole numbers."""


class Batches:
    """Batches of random rows that fit a graph and a recipe."""

    def __init__(self, graph, recipe, seed):
        self._graph, self._recipe = graph, recipe
        self._random = np.random.RandomState(seed)
        self._sizes = sizes_of(graph)
        self._shapes = shapes_of(graph)
        self._ranges = ranges_of(graph, recipe, self._shapes)
        self._masks = {spec["mask"] for spec in recipe["losses"] + recipe["metrics"]}
        self._chances = {
            spec["target"] for spec in recipe["losses"] if spec["name"] == "sigmoid-cross-entropy"
        }
        """Targets from 0 to 1."""

    def rows(self, count, beside=None):
        """New rows: inputs, targets and masks by name; images of one size, of several any.

        `beside`: a batch that they are to stand in, whose images have one size.
        """
        graph = self._graph
        if self._sizes:
            drawn = at_size(graph, self._sizes[self._random.randint(len(self._sizes))])
            graph = drawn if beside is None else for_batch(graph, beside)
            self._shapes = shapes_of(graph)
        batch = {spec["name"]: self._input(spec, count) for spec in graph["inputs"]}
        for node in host_nodes(graph):
            batch.update(self._objects(node, graph, count))
        for spec in self._recipe["losses"] + self._recipe["metrics"]:
            shape = (count,) + tuple(self._shapes[spec["output"]])
            places = shape[:-1] if spec["name"] in BY_CLASS else shape
            if spec["target"] not in batch and not is_made(spec["target"]):
                whole = spec["name"] in BY_CLASS
                batch[spec["target"]] = (self._whole if whole else self._real)(
                    spec["target"], places
                )
            if spec["mask"] and spec["mask"] not in batch and not is_made(spec["mask"]):
                batch[spec["mask"]] = self._real(spec["mask"], places)
        return batch

    def _objects(self, node, graph, count):
        """Boxes and their classes, some of them none; the image's true size; a seed."""
        boxes, classes, size, seed = node["inputs"][2:]
        image = next(spec["shape"][:2] for spec in graph["inputs"] if len(spec["shape"]) == 3)
        true = np.round(image * self._random.uniform(0.75, 1, (count, 2)))
        shape = (count, self._shapes[boxes][0])
        sides = self._random.uniform(0.2, 0.7, shape + (2,)) * true[:, None]
        corners = self._random.uniform(size=shape + (2,)) * (true[:, None] - sides)
        kinds = self._random.randint(0, node["classes"] + 1, shape)
        kinds[:, 0] = self._random.randint(1, node["classes"] + 1, count)  # one there is
        return {
            boxes: np.concatenate([corners, corners + sides], axis=-1).astype(np.float32),
            classes: kinds.astype(np.int32),
            size: true.astype(np.float32),
            seed: self._random.randint(0, 1 << 20, count).astype(np.int32),
        }

    def _input(self, spec, count):
        shape = (count,) + tuple(spec["shape"])
        if spec["dtype"] == "int32":
            value = self._whole(spec["name"], shape)
            ends = self._range(spec["name"])[:count]
            value.reshape(count, -1)[: len(ends), 0] = ends
            return value
        if spec["name"] in self._masks | self._chances:
            return self._real(spec["name"], shape)
        return (self._random.normal(size=shape) + self._offsets(shape)).astype(np.float32)

    def _offsets(self, shape):
        """For each row and channel, up and down in turn.

        Around zero alone, hardly any maximum would be negative, and padding would never count.
        """
        across = (shape[0],) + (1,) * (len(shape) - 2) + (shape[-1],)
        sign = np.where(np.indices(across).sum(axis=0) % 2, 1, -1)
        return sign * self._random.uniform(0.5, 2.5, across)

    def _range(self, name):
        """The least and the largest number that everybody who reads it can."""
        low, high = self._ranges.get(name, (0, 1 << 20))[:2]
        return low, min(high, _LARGEST_WEIGHT) if name in self._masks else high

    def _whole(self, name, shape):
        low, high = self._range(name)
        return self._random.randint(low, int(high) + 1, shape).astype(np.int32)

    def _real(self, name, shape):
        """A target or a mask: what it has to be for whoever reads it."""
        random = self._random
        if name in self._masks:
            value = random.uniform(size=shape) < 0.6
            value.flat[0] = True  # an empty mask is a case of its own
            if self._range(name)[1] > 1:  # any weights
                value = value * random.uniform(0.3, 1.7, shape)
        elif name in self._chances:
            # certain in half of all places, in the others anything from 0 to 1
            value = random.uniform(size=shape)
            value = np.where(random.uniform(size=shape) < 0.5, np.round(value), value)
        else:
            value = random.normal(size=shape)
        return value.astype(np.float32)


def replaced(batch, which, others):
    """The batch with the rows `which` taken from other rows."""
    if which.all():
        return others
    mixed = {name: value.copy() for name, value in batch.items()}
    for name, value in mixed.items():
        value[which] = others[name]
    return mixed


def without_mask(batch, recipe, places=0):
    """The batch with masks in which nothing counts, or so many places; lengths or tokens that are
    masks stay."""
    masks = {spec["mask"] for spec in recipe["losses"] if spec["mask"]}
    other = dict(batch)
    for name, value in batch.items():
        if name in masks and value.dtype.kind == "f":
            other[name] = np.zeros_like(value)
            other[name].flat[value.size // 2 : value.size // 2 + places] = 1
    return other


def repeated(batch, rows, first=0):
    """So many rows, the batch's own over and over, from the row `first` on."""
    return {name: value[(first + np.arange(rows)) % len(value)] for name, value in batch.items()}


# ---- optimisers ---------------------------------------------------------------------------------


def rate(recipe, step):
    """The learning rate of a step where the recipe has a schedule: none is that of its neighbours.

    The schedules' own formulas are the same code for all (bench/schedule.py).
    """
    return recipe["optimizer"]["lr"] * (0.613, 1.171, 0.837, 0.391, 1.037)[step % 5]


def clip(gradients):
    """A norm that clips gradients of this size, and lets those go that are half as large."""
    squares = (np.sum(np.square(g)) for values in gradients.values() for g in values.values())
    return float("{:.4g}".format(max(0.617 * np.sqrt(sum(squares)), 1e-6)))


def optimizers(gradient):
    """One of each kind, with coefficients of which every one matters at gradients of this size.

    Steps are small, so that the gradients stay of this size. None of the numbers is a power of two
    or one that 16 bits can hold.
    """
    size = max(float("{:.3g}".format(gradient)), 1e-6)
    return {
        "sgd": {
            "name": "sgd",
            "lr": 1.237e-3 / max(size, 1e-2),
            "momentum": 0.873,
            "nesterov": True,
            "weight_decay": 0.337 * min(max(size, 1e-2), 1.0),
        },
        "adam": {
            "name": "adam",
            "lr": 1.137e-2,
            "beta1": 0.837,
            "beta2": 0.9671,
            "epsilon": 0.73 * size,
            "weight_decay": 0.317 * min(size, 1.0),
        },
        "adadelta": {
            "name": "adadelta",
            "lr": 1.7313e-2 / max(size, 1e-1),
            "rho": 0.8713,
            "epsilon": max(0.61 * size * size, 1e-9),
            "weight_decay": 0.231 * min(size, 1.0),
        },
    }
