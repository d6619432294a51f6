"""Builds a model's graph, complete with shapes and parameters, as bench/FORMATS.md has it.

    g = Graph("mnist-cnn")
    x = g.input("image", (28, 28, 1))
    x = g.relu(g.conv2d(x, 32, kernel=3))
    …
    g.outputs(g.dense(x, 10, name="logits"))

Shapes and parameter counts are worked out here, once; whoever runs the graph reads them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dlbench.planning.detectors import completed
from dlbench.planning.hints import checked
from dlbench.shapes import LONGEST_NAME, shown

Shape = tuple[int, ...]
Padding = Literal["valid", "same"] | tuple[tuple[int, int], tuple[int, int]]
Pair = int | tuple[int, int]
_Specs = dict[str, tuple[Shape, str]]
"""Parameters: shape and init, by name."""

VERSION = 1
LEAST, MOST = 1e-20, 1e9
"""Of the real numbers of a graph and a recipe that are not 0: float32 holds their squares, too."""
NEAR_ONE = 0.999999
"""The largest number below 1 of which float32 knows the distance from 1 well enough."""
_STATE = {
    ("batchnorm", "mean"),
    ("batchnorm", "variance"),
    ("affine", "scale"),
    ("affine", "offset"),
}


class GraphError(ValueError):
    """A graph that can't be built: shapes that do not fit, names used twice."""


_checked = checked(GraphError)


class Graph:
    """A list of nodes that grows; `to_json()` is what a job carries."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._inputs: list[dict[str, Any]] = []
        self._nodes: list[dict[str, Any]] = []
        self._outputs: list[str] = []
        self._shapes: dict[str, Shape] = {}
        self._tokens: set[str] = set()
        """Names of whole numbers: only an embedding or an LSTM's `lengths` reads them."""
        self._sized: set[str] = set()
        """Images whose height and width are not the same for every row, and their features."""
        self._regions: set[str] = set()
        """Values whose rows are the regions of one image."""

    def to_json(self) -> dict[str, Any]:
        if not self._outputs:
            raise GraphError(f"Graph {self.name!r} has no outputs.")
        return {
            "v": VERSION,
            "name": self.name,
            "inputs": self._inputs,
            "nodes": self._nodes,
            "outputs": self._outputs,
        }

    @_checked
    def shape(self, name: str) -> Shape:
        """Without the batch."""
        return self._shape(name)

    @_checked
    def input(
        self,
        name: str,
        shape: Shape,
        dtype: str = "float32",
        *,
        sizes: Sequence[tuple[int, int]] = (),
    ) -> str:
        """float32: a vector, sequence [T,F] or image [H,W,C]; int32: a number, [T] or [H,W].

        `sizes` are the heights and widths that an image comes in, its own shape the first of them.
        """
        ranks, shape = {"float32": (1, 2, 3), "int32": (0, 1, 2)}, tuple(shape)
        if dtype not in ranks:
            raise GraphError(f"Input {name!r} has the dtype {dtype!r}; use float32 or int32.")
        if len(shape) not in ranks[dtype]:
            raise GraphError(f"Input {name!r} of {dtype} can't have the shape {list(shape)}.")
        self._claim(name, shape)
        if dtype == "int32":
            self._tokens.add(name)
        self._inputs.append({"name": name, "shape": list(shape), "dtype": dtype})
        if sizes:
            self._take_sizes(name, shape, [tuple(size) for size in sizes])
        return name

    def _take_sizes(self, name: str, shape: Shape, sizes: list[tuple[int, ...]]) -> None:
        whole = all(len(size) == 2 and min(size) >= 1 for size in sizes)
        if len(shape) != 3 or not whole or sizes[0] != shape[:2] or len(set(sizes)) < len(sizes):
            raise GraphError(
                f"Input {name!r} can't have the sizes {sizes}: an image has different heights and"
                " widths from 1, and its shape is the first of them."
            )
        if self._sized:
            raise GraphError(f"{name!r} is a second image of several sizes; one is allowed.")
        self._inputs[-1]["sizes"] = [list(size) for size in sizes]
        self._sized.add(name)

    @_checked
    def outputs(self, *names: str) -> None:
        """What a prediction returns, and what losses and metrics read: nodes or LSTM states."""
        inputs = {spec["name"] for spec in self._inputs}
        for name in names:
            self._shape(name)
            if name in inputs or names.count(name) > 1:
                raise GraphError(f"Output {name!r} is an input of the graph or is named twice.")
        self._outputs = list(names)

    @_checked
    def conv2d(
        self,
        x: str,
        filters: int,
        kernel: Pair,
        *,
        stride: Pair = 1,
        padding: Padding = "valid",
        bias: bool = True,
        frozen: bool = False,
        init: str = "glorot-uniform",
        name: str | None = None,
    ) -> str:
        size, step = _pair(kernel), _pair(stride)
        shape = self._image(x)
        _positive(name or "conv2d", filters=filters, kernel=min(size), stride=min(step))
        pads = _pads(padding, shape, size, step)
        parameters: _Specs = {"kernel": ((*size, shape[2], filters), _init(init))}
        if bias:
            parameters["bias"] = ((filters,), "zeros")
        return self._add(
            "conv2d",
            [x],
            (*slide(shape, size, step, pads), filters),
            parameters,
            name,
            kernel=list(size),
            filters=filters,
            stride=list(step),
            padding=pads,
            bias=bias,
            **_constant(frozen),
        )

    def maxpool(self, x: str, size: Pair, **options: Any) -> str:
        return self._pool("maxpool", x, size, **options)

    def avgpool(self, x: str, size: Pair, **options: Any) -> str:
        return self._pool("avgpool", x, size, **options)

    @_checked
    def _pool(
        self,
        op: str,
        x: str,
        size: Pair,
        *,
        stride: Pair | None = None,
        padding: Padding = "valid",
        name: str | None = None,
    ) -> str:
        window, step = _pair(size), _pair(size if stride is None else stride)
        shape = self._image(x)
        _positive(name or op, size=min(window), stride=min(step))
        pads = _pads(padding, shape, window, step)
        if any(pad >= extent for side, extent in zip(pads, window, strict=True) for pad in side):
            raise GraphError(
                f"{name or op} of {x!r}: a window of {list(window)} with padding {pads} would see"
                " padding alone; padding must be smaller than the window."
            )
        out = (*slide(shape, window, step, pads), shape[2])
        return self._add(op, [x], out, {}, name, size=list(window), stride=list(step), padding=pads)

    @_checked
    def globalavgpool(self, x: str, name: str | None = None) -> str:
        return self._add("globalavgpool", [x], self._image(x)[2:], {}, name)

    @_checked
    def globalmaxpool(self, x: str, name: str | None = None) -> str:
        return self._add("globalmaxpool", [x], self._image(x)[2:], {}, name)

    @_checked
    def batchnorm(
        self,
        x: str,
        *,
        keep: float = 0.9,
        epsilon: float = 1.001e-5,
        unbiased: bool = True,
        name: str | None = None,
    ) -> str:
        # the least epsilon that cuDNN and TensorFlow's fused kernel take; with a smaller one
        # TensorFlow's adapters use its plain, slower formula
        shape = self._real(x)
        channels = shape[-1:]
        # with less, the rounding of a channel that is constant would be all that is left of it
        if not (within(keep, 0, 1) and 1e-12 <= epsilon <= MOST):
            raise GraphError(
                f"batchnorm of {x!r}: keep must be 0, or from {LEAST:g} to 1, and epsilon from"
                f" 1e-12 to {MOST:g}."
            )
        parameters: _Specs = {
            "gamma": (channels, "ones"),
            "beta": (channels, "zeros"),
            "mean": (channels, "zeros"),
            "variance": (channels, "ones"),
        }
        return self._add(
            "batchnorm",
            [x],
            shape,
            parameters,
            name,
            keep=keep,
            epsilon=epsilon,
            unbiased=unbiased,
        )

    @_checked
    def dense(
        self,
        x: str,
        units: int,
        *,
        bias: bool = True,
        frozen: bool = False,
        init: str = "glorot-uniform",
        name: str | None = None,
    ) -> str:
        shape = self._real(x)
        if len(shape) > 2:
            raise GraphError(f"{x!r} is an image; use a 1x1 conv2d instead of a dense layer.")
        _positive(name or "dense", units=units)
        parameters: _Specs = {"kernel": ((shape[-1], units), _init(init))}
        if bias:
            parameters["bias"] = ((units,), "zeros")
        out = (*shape[:-1], units)
        frozen_too = _constant(frozen)
        return self._add("dense", [x], out, parameters, name, units=units, bias=bias, **frozen_too)

    @_checked
    def affine(self, x: str, name: str | None = None) -> str:
        """A factor and an offset a channel, constants: a batch normalisation that is frozen."""
        shape = self._real(x)
        channels = shape[-1:]
        parameters: _Specs = {"scale": (channels, "ones"), "offset": (channels, "zeros")}
        return self._add("affine", [x], shape, parameters, name)

    @_checked
    def embedding(
        self,
        x: str,
        vocabulary: int,
        units: int,
        *,
        init: str = "uniform-0.05",
        name: str | None = None,
    ) -> str:
        if x not in self._tokens:
            raise GraphError(f"An embedding reads whole numbers; {x!r} is not an int32 input.")
        _positive(name or "embedding", vocabulary=vocabulary, units=units)
        parameters: _Specs = {"table": ((vocabulary, units), _init(init))}
        shape = (*self._shape(x), units)
        return self._add(
            "embedding", [x], shape, parameters, name, vocabulary=vocabulary, units=units
        )

    @_checked
    def lstm(
        self,
        x: str,
        units: int,
        *,
        lengths: str | None = None,
        initial: tuple[str, str] | None = None,
        output: Literal["sequence", "last"] = "last",
        init: str = "glorot-uniform",
        recurrent_init: str = "glorot-uniform",
        name: str | None = None,
    ) -> str:
        """The node's name; its final state is `NAME:h` and `NAME:c`."""
        steps, features = self._sequence(x)
        _positive(name or "lstm", units=units)
        if output not in ("sequence", "last"):
            raise GraphError(f"The output of an lstm is 'sequence' or 'last', not {output!r}.")
        if lengths is not None and (lengths not in self._tokens or self._shape(lengths)):
            raise GraphError(f"lengths={lengths!r} is not an int32 input of one number a row.")
        for state in initial or ():
            if self._real(state) != (units,):
                raise GraphError(f"The initial state {state!r} does not have {units} units.")
        parameters: _Specs = {
            "input_kernel": ((features, 4 * units), _init(init)),
            "recurrent_kernel": ((units, 4 * units), _init(recurrent_init)),
            "bias": ((4 * units,), "forget-one"),
        }
        made = self._add(
            "lstm",
            [x],
            (steps, units) if output == "sequence" else (units,),
            parameters,
            name,
            units=units,
            lengths=lengths,
            initial=list(initial) if initial else None,
            output=output,
        )
        self._shapes |= extra_shapes(self._nodes[-1], self._shapes)
        return made

    @_checked
    def dropout(self, x: str, rate: float, name: str | None = None) -> str:
        if not within(rate, 0, NEAR_ONE):
            raise GraphError(
                f"dropout of {x!r}: a rate of {rate} is not 0, nor from {LEAST:g} to {NEAR_ONE}."
            )
        return self._add("dropout", [x], self._real(x), {}, name, rate=rate)

    @_checked
    def relu(self, x: str, name: str | None = None) -> str:
        return self._add("relu", [x], self._real(x), {}, name)

    @_checked
    def tanh(self, x: str, name: str | None = None) -> str:
        return self._add("tanh", [x], self._real(x), {}, name)

    @_checked
    def sigmoid(self, x: str, name: str | None = None) -> str:
        return self._add("sigmoid", [x], self._real(x), {}, name)

    @_checked
    def softmax(self, x: str, name: str | None = None) -> str:
        return self._add("softmax", [x], self._real(x), {}, name)

    @_checked
    def proposals(
        self,
        scores: str,
        deltas: str,
        boxes: str,
        classes: str,
        size: str,
        seed: str,
        *,
        detector: Mapping[str, Any],
        name: str | None = None,
    ) -> str:
        """Regions of one image, found in NumPy between two parts of the model; they are its value.

        `NAME:wy` and `NAME:wx` are for `roialign`; `NAME:labels`, `NAME:deltas` and their weights
        are what losses hold the regions against. `detector` has the numbers of `detectors.detector`
        that are not the usual ones.
        """
        name = name or "proposals"
        detector, wrong = completed(detector)
        if wrong:
            raise GraphError(f"{name}: {wrong}.")
        height, width, anchors = self._image(scores)
        if anchors != len(detector["scales"]) * len(detector["ratios"]):
            raise GraphError(
                f"{name}: {scores!r} has {anchors} channels; {len(detector['scales'])} scales x"
                f" {len(detector['ratios'])} ratios need one each."
            )
        if self._image(deltas) != (height, width, 4 * anchors):
            raise GraphError(
                f"{name}: {deltas!r} must have the shape {[height, width, 4 * anchors]}, not"
                f" {list(self._image(deltas))}."
            )
        given = {spec["name"]: (spec["dtype"], spec["shape"]) for spec in self._inputs}
        most: list[int] = given.get(boxes, ("", []))[1][:1]
        wanted: dict[str, tuple[str, list[int]]] = {
            boxes: ("float32", [*most, 4]),
            classes: ("int32", most),
            size: ("float32", [2]),
            seed: ("int32", []),
        }
        for source, kind in wanted.items():
            if given.get(source) != kind:
                raise GraphError(f"{name}: {source!r} must be an input of {kind[0]} {kind[1]}.")
        if self._regions:
            raise GraphError(f"{name} is a second node of proposals; one is allowed.")
        self._add(
            "proposals", [scores, deltas, boxes, classes, size, seed], (4,), {}, name, **detector
        )
        made = extra_shapes(self._nodes[-1], self._shapes)
        self._shapes |= made
        self._tokens.add(f"{name}:labels")
        self._regions.update({name, *made})
        return name

    @_checked
    def roialign(self, x: str, wy: str, wx: str, name: str | None = None) -> str:
        """What an image has in each region: a small image a region."""
        height, width, channels = self._image(x)
        if x in self._regions or not (wy.endswith(":wy") and wx == wy[:-1] + "x"):
            raise GraphError(
                f"{name or 'roialign'} reads an image and NAME:wy, NAME:wx of a node of proposals,"
                f" not {x!r}, {wy!r}, {wx!r}."
            )
        rows, columns = self._shape(wy), self._shape(wx)
        if (rows[1], columns[1]) != (height, width):
            raise GraphError(
                f"{name or 'roialign'}: {x!r} has {height} x {width} places, the regions are of"
                f" {rows[1]} x {columns[1]}."
            )
        return self._add("roialign", [x, wy, wx], (rows[0], columns[0], channels), {}, name)

    @_checked
    def flatten(self, x: str, name: str | None = None) -> str:
        if x in self._sized:
            raise GraphError(f"{x!r} comes in several sizes: flattened, it has no fixed length.")
        return self._add("flatten", [x], (math.prod(self._real(x)),), {}, name)

    @_checked
    def add(self, *xs: str, name: str | None = None) -> str:
        shapes = {self._real(x) for x in xs}
        if len(xs) < 2 or len(shapes) != 1:
            raise GraphError(f"add needs two or more equal shapes, not {sorted(shapes)}.")
        return self._add("add", list(xs), shapes.pop(), {}, name)

    @_checked
    def concat(self, *xs: str, name: str | None = None) -> str:
        shapes = [self._real(x) for x in xs]
        if len({shape[:-1] for shape in shapes}) != 1:
            raise GraphError(f"concat needs shapes equal but for the last axis, not {shapes}.")
        width = sum(shape[-1] for shape in shapes)
        return self._add("concat", list(xs), (*shapes[0][:-1], width), {}, name)

    def _add(
        self,
        op: str,
        inputs: list[str],
        shape: Shape,
        parameters: _Specs,
        name: str | None,
        **attributes: Any,
    ) -> str:
        name = self._free_name(op) if name is None else name
        for source in inputs:
            self._shape(source)
        self._claim(name, shape)
        self._follow_rows(op, name, inputs, shape)
        specs = {k: {"shape": list(s), "init": init} for k, (s, init) in parameters.items()}
        self._nodes.append(
            {
                "name": name,
                "op": op,
                "inputs": inputs,
                **attributes,
                "shape": list(shape),
                "parameters": specs,
            }
        )
        return name

    def _free_name(self, op: str) -> str:
        number = 1 + sum(node["op"] == op for node in self._nodes)
        while f"{op}{number}" in self._shapes:
            number += 1
        return f"{op}{number}"

    def _follow_rows(self, op: str, name: str, inputs: list[str], shape: Shape) -> None:
        """Whether the rows are regions, and whether the size of the image shows."""
        if any(source in self._sized for source in inputs) and len(shape) == 3 and op != "roialign":
            self._sized.add(name)
        regions = {source in self._regions for source in inputs}
        if op == "roialign":
            self._regions.add(name)
        elif op != "proposals" and True in regions:
            if False in regions:
                raise GraphError(
                    f"{name!r} reads rows of regions and rows of images together: {inputs}."
                )
            self._regions.add(name)

    def _claim(self, name: str, shape: Shape) -> None:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or len(name) > LONGEST_NAME:
            raise GraphError(
                f"{shown(name)} is not a plain name: a letter, then letters, digits and `_`, at"
                f" most {LONGEST_NAME}."
            )
        if name in self._shapes:
            raise GraphError(f"The name {name!r} is used twice.")
        if any(size < 1 for size in shape):
            raise GraphError(f"{name!r} would have the shape {list(shape)}.")
        self._shapes[name] = shape

    def _shape(self, name: str) -> Shape:
        if name not in self._shapes:
            raise GraphError(f"{name!r} is not known in graph {self.name!r}.")
        return self._shapes[name]

    def _real(self, name: str) -> Shape:
        if name in self._tokens:
            raise GraphError(f"{name!r} holds whole numbers; only an embedding reads them.")
        return self._shape(name)

    def _image(self, name: str) -> Shape:
        shape = self._real(name)
        if len(shape) != 3:
            raise GraphError(f"{name!r} is not an image [H,W,C] but {shape}.")
        return shape

    def _sequence(self, name: str) -> Shape:
        shape = self._real(name)
        if len(shape) != 2:
            raise GraphError(f"{name!r} is not a sequence [T,F] but {shape}.")
        return shape


def all_shapes(graph: Mapping[str, Any]) -> dict[str, Shape]:
    """The shape of every input and of all that the nodes make, by name."""
    shapes = {spec["name"]: tuple(spec["shape"]) for spec in graph["inputs"]}
    for node in graph["nodes"]:
        shapes[node["name"]] = tuple(node["shape"])
        shapes |= extra_shapes(node, shapes)
    return shapes


def extra_shapes(node: Mapping[str, Any], shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """{name: shape} of what a node makes besides its own value."""
    if node["op"] == "lstm":
        return {f"{node['name']}:{state}": (node["units"],) for state in "hc"}
    if node["op"] != "proposals":
        return {}
    height, width = shapes[node["inputs"][0]][:2]
    columns, pool = (4 * node["classes"],), node["pool"]
    made = {"wy": (pool, height), "wx": (pool, width), "labels": (), "label_weights": (),
            "deltas": columns, "delta_weights": columns}  # fmt: skip
    return {f"{node['name']}:{extra}": shape for extra, shape in made.items()}


def count_parameters(graph: dict[str, Any]) -> int:
    """Trainable parameters of a graph in JSON form."""
    return sum(
        math.prod(spec["shape"])
        for node in graph["nodes"]
        for name, spec in node["parameters"].items()
        if (node["op"], name) not in _STATE and not node.get("frozen")
    )


def _constant(frozen: bool) -> dict[str, bool]:
    """The attribute of a layer whose parameters are constants; others do without it."""
    return {"frozen": True} if frozen else {}


def within(number: float, low: float, high: float) -> bool:
    """Whether it is in this range, and, but for 0, not smaller than what float32 can square."""
    return low <= number <= high and (number == 0 or number >= LEAST)


def _positive(node: str, **numbers: int) -> None:
    for what, number in numbers.items():
        if number < 1:
            raise GraphError(f"{node}: {what} must be 1 or more, not {number}.")


def _init(name: str) -> str:
    """How a kernel or table is drawn, by its name in FORMATS."""
    if name not in ("glorot-uniform", "he-normal", "orthogonal"):
        bound = re.fullmatch(r"uniform-([0-9.]+(e-?[0-9]+)?)", name)
        try:
            known = bound is not None and LEAST <= float(bound[1]) <= MOST
        except ValueError:
            known = False
        if not known:
            raise GraphError(
                f"There is no init {shown(name)}; use glorot-uniform, he-normal, orthogonal or"
                f" uniform-0.05, with any bound from {LEAST:g} to {MOST:g}."
            )
    return name


def _pair(value: Pair) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


def _pads(
    padding: Padding, shape: Shape, size: tuple[int, int], step: tuple[int, int]
) -> list[list[int]]:
    """[[top, bottom], [left, right]]; "same" as TensorFlow has it: the odd one at the end."""
    if padding == "valid":
        return [[0, 0], [0, 0]]
    if padding == "same":
        pads = []
        for extent, window, stride in zip(shape[:2], size, step, strict=True):
            total = max(0, (math.ceil(extent / stride) - 1) * stride + window - extent)
            pads.append([total // 2, total - total // 2])
        return pads
    pads = [[int(n) for n in side] for side in padding]
    if any(n < 0 for side in pads for n in side):
        raise GraphError(f"A padding can't be negative: {pads}.")
    return pads


def slide(
    shape: Shape, size: Sequence[int], step: Sequence[int], pads: list[list[int]]
) -> tuple[int, ...]:
    """Height and width of what a window makes of an image."""
    return tuple(
        (extent + sum(pad) - window) // stride + 1
        for extent, window, stride, pad in zip(shape[:2], size, step, pads, strict=True)
    )
