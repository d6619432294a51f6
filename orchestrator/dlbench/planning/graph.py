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
from collections.abc import Sequence
from typing import Any, Literal

Shape = tuple[int, ...]
Padding = Literal["valid", "same"] | Sequence[Sequence[int]]
Pair = int | tuple[int, int]
_Specs = dict[str, tuple[Shape, str]]
"""Parameters: shape and init, by name."""

VERSION = 1
_STATE = {("batchnorm", "mean"), ("batchnorm", "variance")}


class GraphError(ValueError):
    """A graph that can't be built: shapes that do not fit, names used twice."""


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

    def shape(self, name: str) -> Shape:
        """The shape of a value, without the batch."""
        return self._shape(name)

    def input(self, name: str, shape: Shape, dtype: str = "float32") -> str:
        """float32: a vector, sequence [T,F] or image [H,W,C]; int32: a number, [T] or [H,W]."""
        ranks = {"float32": (1, 2, 3), "int32": (0, 1, 2)}
        if dtype not in ranks:
            raise GraphError(f"Input {name!r} has the dtype {dtype!r}; use float32 or int32.")
        if len(shape) not in ranks[dtype]:
            raise GraphError(f"Input {name!r} of {dtype} can't have the shape {list(shape)}.")
        self._claim(name, shape)
        if dtype == "int32":
            self._tokens.add(name)
        self._inputs.append({"name": name, "shape": list(shape), "dtype": dtype})
        return name

    def outputs(self, *names: str) -> None:
        """What a prediction returns, and what losses and metrics read: nodes or LSTM states."""
        inputs = {spec["name"] for spec in self._inputs}
        for name in names:
            self._shape(name)
            if name in inputs or names.count(name) > 1:
                raise GraphError(f"Output {name!r} is an input of the graph or is named twice.")
        self._outputs = list(names)

    def conv2d(
        self,
        x: str,
        filters: int,
        kernel: Pair,
        *,
        stride: Pair = 1,
        padding: Padding = "valid",
        bias: bool = True,
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
            (*_slide(shape, size, step, pads), filters),
            parameters,
            name,
            kernel=list(size),
            filters=filters,
            stride=list(step),
            padding=pads,
            bias=bias,
        )

    def maxpool(self, x: str, size: Pair, **options: Any) -> str:
        return self._pool("maxpool", x, size, **options)

    def avgpool(self, x: str, size: Pair, **options: Any) -> str:
        return self._pool("avgpool", x, size, **options)

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
        out = (*_slide(shape, window, step, pads), shape[2])
        return self._add(op, [x], out, {}, name, size=list(window), stride=list(step), padding=pads)

    def globalavgpool(self, x: str, name: str | None = None) -> str:
        return self._add("globalavgpool", [x], self._image(x)[2:], {}, name)

    def globalmaxpool(self, x: str, name: str | None = None) -> str:
        return self._add("globalmaxpool", [x], self._image(x)[2:], {}, name)

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
        if not (0 <= keep <= 1 and epsilon > 0):
            raise GraphError(f"batchnorm of {x!r}: keep must be in 0..1 and epsilon above 0.")
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

    def dense(
        self,
        x: str,
        units: int,
        *,
        bias: bool = True,
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
        return self._add(
            "dense", [x], (*shape[:-1], units), parameters, name, units=units, bias=bias
        )

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
        self._shapes[f"{made}:h"] = self._shapes[f"{made}:c"] = (units,)
        return made

    def dropout(self, x: str, rate: float, name: str | None = None) -> str:
        if not 0 <= rate < 1:
            raise GraphError(f"dropout of {x!r}: a rate of {rate} is not in 0 <= rate < 1.")
        return self._add("dropout", [x], self._real(x), {}, name, rate=rate)

    def relu(self, x: str, name: str | None = None) -> str:
        return self._add("relu", [x], self._real(x), {}, name)

    def tanh(self, x: str, name: str | None = None) -> str:
        return self._add("tanh", [x], self._real(x), {}, name)

    def sigmoid(self, x: str, name: str | None = None) -> str:
        return self._add("sigmoid", [x], self._real(x), {}, name)

    def flatten(self, x: str, name: str | None = None) -> str:
        return self._add("flatten", [x], (math.prod(self._real(x)),), {}, name)

    def add(self, *xs: str, name: str | None = None) -> str:
        shapes = {self._real(x) for x in xs}
        if len(xs) < 2 or len(shapes) != 1:
            raise GraphError(f"add needs two or more equal shapes, not {sorted(shapes)}.")
        return self._add("add", list(xs), shapes.pop(), {}, name)

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
        if name is None:
            name = f"{op}{1 + sum(node['op'] == op for node in self._nodes)}"
        for source in inputs:
            self._shape(source)
        self._claim(name, shape)
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

    def _claim(self, name: str, shape: Shape) -> None:
        if name in self._shapes or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            raise GraphError(f"{name!r} is used twice or is not a plain name.")
        if any(size < 1 for size in shape):
            raise GraphError(f"{name!r} would have the shape {shape}.")
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


def count_parameters(graph: dict[str, Any]) -> int:
    """Trainable parameters of a graph in JSON form."""
    return sum(
        math.prod(spec["shape"])
        for node in graph["nodes"]
        for name, spec in node["parameters"].items()
        if (node["op"], name) not in _STATE
    )


def _positive(node: str, **numbers: int) -> None:
    for what, number in numbers.items():
        if number < 1:
            raise GraphError(f"{node}: {what} must be 1 or more, not {number}.")


def _init(name: str) -> str:
    """How a kernel or table is drawn, by its name in FORMATS."""
    if name not in ("glorot-uniform", "he-normal", "orthogonal"):
        bound = re.fullmatch(r"uniform-([0-9.]+(e-?[0-9]+)?)", name)
        try:
            known = bound is not None and 0 < float(bound[1]) < math.inf
        except ValueError:
            known = False
        if not known:
            raise GraphError(
                f"There is no init {name!r}; use glorot-uniform, he-normal, orthogonal or"
                " uniform-0.05."
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


def _slide(
    shape: Shape, size: tuple[int, int], step: tuple[int, int], pads: list[list[int]]
) -> tuple[int, int]:
    rows, columns = (
        (extent + sum(pad) - window) // stride + 1
        for extent, window, stride, pad in zip(shape[:2], size, step, pads, strict=True)
    )
    return rows, columns
