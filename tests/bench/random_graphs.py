"""Random legal graphs with recipes and data: every op, attribute, branch, head, mask and state.

Sizes are small, but nothing that the formats allow is left out because it is odd: paddings wider
than a kernel, strides wider than an image, one class, one word, one step, batches of one row, a
value that is read five times by one node, losses of weight 0, targets that are inputs, and names
that a framework, Python or a file system has a use of its own for.

    graph, recipe = drawn(Dice(7))
    arrays = arrays_for(graph, recipe, rows=40, seed=7)

What is drawn comes from a `Dice`: one of a seed, or one that Hypothesis throws and can shrink.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from bench.data import ranges_of
from dlbench.planning import recipes
from dlbench.planning.graph import Graph, GraphError, all_shapes
from dlbench.planning.targets import BY_CLASS, places_of

Item = TypeVar("Item")
Arrays = dict[str, np.ndarray]

NAMES = (
    "values", "items", "forward", "weight", "name", "self", "graph", "call", "layers", "training",
    "grad", "data", "bias", "input", "output", "keys", "T", "params", "state", "lambda", "class",
    "dense1_1", "Dense1", "DENSE1", "x", "X", "conv2d_1", "a__b", "z_", "node_x", "None", "loss",
    "kernel", "gamma", "moving_mean", "module", "eval", "train", "shape", "dtype", "losses", "h",
    "c", "inputs", "outputs", "model", "init", "apply", "variables", "lstm1_input", "lstm1_h",
    "dense1_bias", "batchnorm1_running", "file", "add", "build", "built", "trainable", "n" * 120,
)  # fmt: skip
"""Names that some framework, Python or NumPy has a use of its own for; that differ by their case
alone; or that are another node's with what a framework may put behind it."""
TARGETS = ("label", "target", "y", "loss", "values", "training", "sample_weight", "mask", "index")
"""Names of data arrays that are no inputs."""


class Dice:
    """Throws from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def choice(self, items: Sequence[Item]) -> Item:
        return items[self.integer(0, len(items) - 1)]

    def chance(self, share: float) -> bool:
        return self.integer(1, 1000) <= 1000 * share

    def number(self, low: float, high: float) -> float:
        return low + (high - low) * self.integer(0, 10_000) / 10_000


class _Drawing:
    """A graph as it grows."""

    def __init__(self, dice: Dice) -> None:
        self.dice, self.graph = dice, Graph("random")
        self.reals: list[str] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.tokens: list[str] = []
        self.lengths: dict[int, str] = {}
        """By the number of steps that they are lengths of."""
        self.sized = False
        """Whether some image comes in several sizes."""
        self._names = [name for name in NAMES if dice.chance(0.3)]
        for place in range(len(self._names) - 1, 0, -1):
            other = dice.integer(0, place)
            self._names[place], self._names[other] = self._names[other], self._names[place]

    def name(self) -> str | None:
        return self._names.pop() if self._names and self.dice.chance(0.4) else None

    def init(self) -> str:
        return self.dice.choice(("glorot-uniform", "glorot-uniform", "he-normal", "orthogonal",
                                 "uniform-0.3"))  # fmt: skip

    def keep(self, name: str, shape: tuple[int, ...]) -> None:
        self.reals.append(name)
        self.shapes[name] = shape

    def any_of(self, *ranks: int) -> str | None:
        """A value of one of these ranks; those made last are likelier."""
        fitting = [name for name in self.reals if len(self.shapes[name]) in ranks]
        if not fitting:
            return None
        return fitting[-1] if self.dice.chance(0.5) else self.dice.choice(fitting)


def drawn(dice: Dice, ops: int = 10, unusual: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    """A graph and a recipe that fit each other; `unusual`: the recipe may be one that few have."""
    for _ in range(100):
        try:
            graph = _graph(dice, ops)
            recipe = _recipe(dice, graph)
            if unusual:
                _make_unusual(dice, graph, recipe)
            recipes.check(graph, recipe)
            return graph, recipe
        except GraphError:
            continue
    raise AssertionError("a hundred draws and no legal graph")


def _graph(dice: Dice, ops: int) -> dict[str, Any]:
    drawing = _Drawing(dice)
    for number in range(dice.integer(1, 3)):
        _input(drawing, number)
    inputs = set(drawing.reals)
    wanted, tries = dice.integer(1, ops), 0
    while wanted and tries < 20 * ops:
        tries += 1
        try:
            wanted -= DRAW[dice.choice(_OFTEN)](drawing)
        except GraphError:
            continue
    made = [name for name in drawing.reals if name not in inputs]
    if not made:
        raise GraphError("nothing was made")
    outputs = {made[-1]} | {dice.choice(made) for _ in range(dice.choice((0, 1, 1, 2, 2, 4)))}
    drawing.graph.outputs(*sorted(outputs))
    return drawing.graph.to_json()


def _input(drawing: _Drawing, number: int) -> None:
    dice, g, name = drawing.dice, drawing.graph, drawing.name() or f"in{number}"
    kind = dice.choice(
        ("image", "image", "image", "vector", "sequence", "tokens", "board", "token")
    )
    if kind == "image":
        shape = _image(dice)
        sizes: list[tuple[int, int]] = []
        if not drawing.sized and dice.chance(0.05):
            sizes = [(shape[0], shape[1]), (shape[0] + dice.integer(1, 4), shape[1]),
                     (shape[0] + 5, shape[1] + dice.integer(1, 5))]  # fmt: skip
            drawing.sized = True
        drawing.keep(g.input(name, shape, sizes=sizes), shape)
    elif kind == "vector":
        drawing.keep(g.input(name, shape := (dice.integer(1, 7),)), shape)
    elif kind == "sequence":
        drawing.keep(g.input(name, shape := (dice.integer(1, 6), dice.integer(1, 5))), shape)
    else:
        shapes: dict[str, tuple[int, ...]] = {
            "tokens": (dice.integer(1, 6),),
            "board": (dice.integer(1, 5), dice.integer(1, 5)),
            "token": (),
        }
        drawing.tokens.append(g.input(name, shapes[kind], "int32"))


def _image(dice: Dice) -> tuple[int, int, int]:
    if dice.chance(0.07):
        return (1, 1, dice.integer(1, 4))
    if dice.chance(0.05):
        return (dice.integer(10, 20), dice.integer(10, 20), dice.choice((1, 3, 16)))
    return (dice.integer(1, 9), dice.integer(1, 9), dice.choice((1, 1, 2, 3, 4, 8, 9, 16)))


# ---- nodes: each function adds one, or returns False -----------------------------------------


def _padding(dice: Dice, size: tuple[int, int], most: int, wide: bool = False) -> Any:
    if wide and dice.chance(0.1):  # more than a kernel: what it sees there is padding alone
        return tuple((dice.integer(0, 6), dice.integer(0, 6)) for _ in size)
    if dice.chance(0.3):
        return "valid"
    if dice.chance(0.3):
        return "same"
    if dice.chance(0.3):
        return tuple((p, p) for p in (dice.integer(0, min(most, k - 1)) for k in size))
    return tuple((dice.integer(0, min(most, k - 1)), dice.integer(0, min(most, k - 1)))
                 for k in size)  # fmt: skip


def _conv2d(d: _Drawing) -> bool:
    x = d.any_of(3)
    if x is None:
        return False
    size = _window(d.dice)
    made = d.graph.conv2d(
        x, d.dice.choice((1, 2, 3, 4, 5, 8, 16, 17, 32)), size, stride=_stride(d.dice),
        padding=_padding(d.dice, size, 3, wide=True), bias=d.dice.chance(0.6),
        frozen=d.dice.chance(0.1), init=d.init(), name=d.name(),
    )  # fmt: skip
    return _kept(d, made)


def _window(dice: Dice) -> tuple[int, int]:
    return (dice.choice((1, 2, 3, 4, 7)), dice.choice((1, 2, 3, 4, 7)))


def _stride(dice: Dice) -> tuple[int, int]:
    return (dice.choice((1, 1, 2, 3, 5)), dice.choice((1, 1, 2, 3, 5)))


def _pool(d: _Drawing, op: str) -> bool:
    x = d.any_of(3)
    if x is None:
        return False
    size = _window(d.dice)
    made = getattr(d.graph, op)(
        x, size, stride=_stride(d.dice), padding=_padding(d.dice, size, 6), name=d.name()
    )  # fmt: skip
    return _kept(d, made)


def _global(d: _Drawing, op: str) -> bool:
    x = d.any_of(3)
    return x is not None and _kept(d, getattr(d.graph, op)(x, name=d.name()))


def _batchnorm(d: _Drawing) -> bool:
    x = d.any_of(1, 2, 3)
    return x is not None and _kept(d, d.graph.batchnorm(
        x, keep=d.dice.choice((0.0, 1.0, 0.99, usual := d.dice.number(0.1, 0.99), usual, usual)),
        epsilon=d.dice.choice((1e-12, 1e-8, 1e-5, 1.001e-5, 1e-3, 0.1, 3.0, 1e3)),
        unbiased=d.dice.chance(0.5), name=d.name(),
    ))  # fmt: skip


def _dense(d: _Drawing) -> bool:
    x = d.any_of(1, 2)
    return x is not None and _kept(d, d.graph.dense(
        x, d.dice.choice((1, 2, 3, 4, 5, 6, 16, 33, 101)), bias=d.dice.chance(0.7),
        frozen=d.dice.chance(0.1), init=d.init(), name=d.name(),
    ))  # fmt: skip


def _embedding(d: _Drawing) -> bool:
    if not d.tokens:
        return False
    x, vocabulary = d.dice.choice(d.tokens), d.dice.choice((1, 2, 3, 5, 9, 300))
    units = d.dice.integer(1, 5)
    return _kept(d, d.graph.embedding(x, vocabulary, units, init=d.init(), name=d.name()))


def _lstm(d: _Drawing) -> bool:
    x = d.any_of(2)
    if x is None:
        return False
    steps, units = d.shapes[x][0], d.dice.choice((1, 2, 3, 4, 5, 16))
    states = [n for n in d.reals if len(d.shapes[n]) == 1]
    initial = None
    if states and d.dice.chance(0.5):
        first = d.dice.choice(states)
        units = d.shapes[first][0]
        same = [n for n in states if d.shapes[n] == (units,)]
        initial = (first, d.dice.choice(same))
    lengths = None
    if d.dice.chance(0.5):
        if steps not in d.lengths:
            d.lengths[steps] = d.graph.input(f"length{steps}", (), "int32")
        lengths = d.lengths[steps]
    made = d.graph.lstm(
        x, units, lengths=lengths, initial=initial,
        output=d.dice.choice(("sequence", "last")), init=d.init(), recurrent_init=d.init(),
        name=d.name(),
    )  # fmt: skip
    _kept(d, made)
    for state in (f"{made}:h", f"{made}:c"):
        d.keep(state, (units,))
    return True


def _elementwise(d: _Drawing, op: str) -> bool:
    x = d.any_of(1, 2, 3)
    return x is not None and _kept(d, getattr(d.graph, op)(x, name=d.name()))


def _dropout(d: _Drawing) -> bool:
    x = d.any_of(1, 2, 3)
    rate = d.dice.choice((0.0, 1e-4, 0.02, 0.25, 0.5, 0.9, 0.99, 0.999999))
    return x is not None and _kept(d, d.graph.dropout(x, rate, name=d.name()))


def _add(d: _Drawing) -> bool:
    x = d.any_of(1, 2, 3)
    if x is None:
        return False
    same = [name for name in d.reals if d.shapes[name] == d.shapes[x]]
    others = [d.dice.choice(same) for _ in range(d.dice.choice((1, 1, 2, 2, 5, 20)))]
    return _kept(d, d.graph.add(x, *others, name=d.name()))


def _concat(d: _Drawing) -> bool:
    x = d.any_of(1, 2, 3)
    if x is None:
        return False
    same = [name for name in d.reals if d.shapes[name][:-1] == d.shapes[x][:-1]]
    others = [d.dice.choice(same) for _ in range(d.dice.choice((0, 1, 1, 2, 2, 5, 20)))]
    return _kept(d, d.graph.concat(x, *others, name=d.name()))


def _kept(d: _Drawing, made: str) -> bool:
    d.keep(made, d.graph.shape(made))
    return True


DRAW = {
    "conv2d": _conv2d,
    "maxpool": lambda d: _pool(d, "maxpool"),
    "avgpool": lambda d: _pool(d, "avgpool"),
    "globalmaxpool": lambda d: _global(d, "globalmaxpool"),
    "globalavgpool": lambda d: _global(d, "globalavgpool"),
    "batchnorm": _batchnorm,
    "dense": _dense,
    "embedding": _embedding,
    "lstm": _lstm,
    "dropout": _dropout,
    "relu": lambda d: _elementwise(d, "relu"),
    "tanh": lambda d: _elementwise(d, "tanh"),
    "sigmoid": lambda d: _elementwise(d, "sigmoid"),
    "softmax": lambda d: _elementwise(d, "softmax"),
    "flatten": lambda d: _elementwise(d, "flatten"),
    "add": _add,
    "concat": _concat,
    "affine": lambda d: _elementwise(d, "affine"),
    # they need images with boxes, and a batch of one: `voc2012-faster-rcnn` has them
    "proposals": lambda d: False,
    "roialign": lambda d: False,
}


_OFTEN = [*DRAW, *("conv2d", "lstm", "maxpool", "avgpool", "dense") * 2, "conv2d", "lstm", "lstm"]
"""What fits in few places is drawn more often, so that all come about equally often."""


# ---- recipes and data --------------------------------------------------------------------------


def _recipe(dice: Dice, graph: dict[str, Any]) -> dict[str, Any]:
    losses: list[dict[str, Any]] = []
    metrics: list[dict[str, Any]] = []
    shapes = all_shapes(graph)
    inputs = {spec["name"]: (tuple(spec["shape"]), spec["dtype"]) for spec in graph["inputs"]}
    held: dict[str, tuple[tuple[int, ...], str]] = dict(inputs)
    """The shape and dtype of arrays that a loss may share."""
    names = [name for name in TARGETS if name not in inputs]
    for number, output in enumerate(graph["outputs"]):
        for head in range(dice.choice((0, 1, 1, 1, 2, 4))):
            name, target = dice.choice(recipes.LOSSES), f"target{number}{head}"
            if names and dice.chance(0.3):
                target = names.pop(dice.integer(0, len(names) - 1))
            by_class = name in BY_CLASS
            places = shapes[output][:-1] if by_class else shapes[output]
            kind = (places, "int32" if by_class else "float32")
            if dice.chance(0.5):  # what an autoencoder learns, or what another loss has, too
                target = dice.choice((target, *(key for key in held if held[key] == kind)))
            held[target] = kind
            mask = f"mask{number}{head}" if dice.chance(0.3) else None
            if mask and dice.chance(0.3):
                mask = dice.choice((mask, *(key for key in held if held[key][0] == places)))
            weight = dice.choice((1.0, 1, 0.3, 2.5, 0.0, 40.0, 1e-6))
            divisor = dice.number(0.1, 9.0) if mask and dice.chance(0.3) else None
            if mask:
                held.setdefault(mask, (places, "float32"))
            losses.append(
                recipes.loss(name, output, target, mask=mask, weight=weight, divisor=divisor)
            )
            fits = {"softmax-cross-entropy": ("accuracy", "perplexity"),
                    "sigmoid-cross-entropy": ("binary-accuracy",)}  # fmt: skip
            scored = dice.choice(fits.get(name, ("mean-squared-error", "mean-absolute-error")))
            metrics.append(recipes.metric(scored, output, target, mask=None if divisor else mask))
    different = list(
        {metric["name"].removeprefix("binary-"): metric for metric in metrics}.values()
    )
    return recipes.recipe(
        batch=dice.choice((1, 2, 3, 7, 8, 16, 64)),
        epochs=dice.integer(1, 3),
        warmup=1,
        shuffle=dice.chance(0.8),
        optimizer=_optimizer(dice),
        losses=losses,
        metrics=different[: dice.choice((0, 1, 1, 1, 3))],
        schedule=_schedule(dice) if dice.chance(0.25) else None,
        clip=dice.choice((dice.number(0.05, 3.0), 1e-3, 1e-7, 1, 100.0))
        if dice.chance(0.25)
        else None,
        evaluate=dice.choice((("test",), ("test", "train"))),
    )


def _make_unusual(dice: Dice, graph: dict[str, Any], recipe: dict[str, Any]) -> None:
    """Now and then what most recipes do not have."""
    shapes = all_shapes(graph)
    if dice.chance(0.1):
        recipe["batch"] = dice.choice((4, 5, 23, 250))
    if dice.chance(0.15):
        recipe["augment"] = recipes.augmentation(flip=dice.chance(0.5), crop=dice.choice((1, 9)))
    if dice.chance(0.15):
        recipe["stopping"] = recipes.stopping(dice.integer(1, 2), validation=0.3)
    if dice.chance(0.2):  # of an output that no loss need read, held against what no loss has
        output, mask = dice.choice(graph["outputs"]), dice.choice((None, "counted"))
        name = dice.choice(("accuracy", "perplexity", "mean-absolute-error"))
        recipe["metrics"] = [recipes.metric(name, output, "held_against", mask=mask)]
    if dice.chance(0.1):
        spec = dice.choice(recipe["losses"]) if recipe["losses"] else {}
        spec["weight"] = dice.choice((1e9, 1e-20))
    if dice.chance(0.1):
        _make_extreme(dice, recipe)
    if not any(len(shapes[spec["name"]]) == 3 for spec in graph["inputs"]):
        recipe["augment"] = None
    if not recipe["metrics"]:
        recipe["stopping"] = None


_ENDS: dict[str, tuple[float, ...]] = {
    "lr": (1e-20, 1e9), "momentum": (1e-20, 0.999999), "beta1": (1e-20, 0.999999),
    "beta2": (1e-20, 0.999999), "rho": (1e-20, 0.999999), "epsilon": (1e-20, 1e9),
    "weight_decay": (1e-20, 1e9), "clip": (1e-20, 1e9),
}  # fmt: skip


def _make_extreme(dice: Dice, recipe: dict[str, Any]) -> None:
    """One number at an end of what the formats allow."""
    optimizer = recipe["optimizer"]
    key = dice.choice([key for key in _ENDS if key in optimizer or key == "clip"])
    (recipe if key == "clip" else optimizer)[key] = dice.choice(_ENDS[key])


def _schedule(dice: Dice) -> dict[str, Any]:
    warmup = dice.choice((0, 3, 1000))
    return dice.choice((
        recipes.constant(warmup=warmup), recipes.step(1, 0.3, warmup=warmup),
        recipes.step(3, 2, warmup=warmup), recipes.cosine(warmup=warmup),
        recipes.cosine(least=0.1, warmup=warmup), recipes.inverse(0.02, warmup=warmup),
    ))  # fmt: skip


def _optimizer(dice: Dice) -> dict[str, Any]:
    decay = dice.choice((0.0, 0, 0.01, 0.3, 2))
    lr = dice.choice((dice.number(1e-3, 0.1), dice.number(1e-3, 0.1), 1e-5, 0.7, 1, 30.0))
    name = dice.choice(("sgd", "adam", "adadelta"))
    if name == "sgd":
        momentum = dice.choice((0.0, 0, 0.5, 0.9, 0.99, 0.9999))
        nesterov = bool(momentum) and dice.chance(0.5)
        return recipes.sgd(lr, momentum=momentum, nesterov=nesterov, weight_decay=decay)
    if name == "adam":
        epsilon = dice.choice((1e-8, 1e-12, 1e-3, 0.1, 1))
        return recipes.adam(
            lr, beta1=dice.choice((0.0, 0, 0.9, dice.number(0.5, 0.95), 0.999)),
            beta2=dice.choice((0.999, dice.number(0.8, 0.999), 0.5, 0.99999)),
            epsilon=epsilon, weight_decay=decay,
        )  # fmt: skip
    epsilon = dice.choice((1e-8, 1e-12, 1e-6, 1e-3))
    rho = dice.choice((0.95, dice.number(0.5, 0.99), 0.0, 0.9999))
    rate = dice.choice((dice.number(0.1, 1.0), 1, 1e-3))
    return recipes.adadelta(rate, rho=rho, epsilon=epsilon, weight_decay=decay)


def arrays_for(graph: dict[str, Any], recipe: dict[str, Any], rows: int, seed: int) -> Arrays:
    """Inputs, targets and masks for the graph."""
    draw = np.random.RandomState(seed)
    shapes = all_shapes(graph)
    ranges = ranges_of(graph, recipe, shapes)
    chances = {s["target"] for s in recipe["losses"] if s["name"] == "sigmoid-cross-entropy"}
    read = [(spec["name"], tuple(spec["shape"]), spec["dtype"]) for spec in graph["inputs"]]
    for spec in (*recipe["losses"], *recipe["metrics"]):
        places, whole = places_of(spec, shapes), spec["name"] in BY_CLASS
        read.append((spec["target"], places, "int32" if whole else "float32"))
        if spec["mask"]:
            read.append((spec["mask"], places, "float32"))
    masks = {spec["mask"] for spec in (*recipe["losses"], *recipe["metrics"])}
    arrays: Arrays = {}
    for name, places, dtype in read:
        if name in arrays:
            continue
        shape, (low, high) = (rows, *places), ranges.get(name, (0, 1000))[:2]
        if dtype == "int32":
            values = draw.randint(low, int(min(high, 1000)) + 1, shape)
        elif name in masks:
            values = draw.randint(0, 2, shape) * (1 if high <= 1 else draw.uniform(0, 2, shape))
        else:
            values = draw.uniform(size=shape) if name in chances else draw.normal(size=shape)
        arrays[name] = values.astype(dtype)
    return arrays
