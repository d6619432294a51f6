"""Turns tensors of other programs into canonical parameters: axes, gates, statistics.

A module is what one layer of a model has in a file: the tensors whose names share all but their
last part. Which layout it is in, its own names say: PyTorch's layers have a `weight`, Keras' a
`kernel`. Where they do not say it, the shape decides, and where that fits both ways nothing does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dlbench.weights.tensors import Tensor, shown

Floats = npt.NDArray[np.float32]
Node = Mapping[str, Any]
Orders = Mapping[str, npt.NDArray[np.intp]]
TORCH, KERAS = "torch", "keras"
LAYOUTS = (TORCH, KERAS)
EPSILON = 1e-5
"""Of the batch normalisations that become constants, where nobody says another."""
GATES = "ifgo"
"""Input, forget, cell, output: the canonical order of an LSTM's gates, PyTorch's and Keras'."""
COUNTER = "num_batches_tracked"
_LSTM = re.compile(r"(weight_ih|weight_hh|bias_ih|bias_hh)_l(\d{1,3})")
_ROLES: dict[str, dict[str, dict[str, tuple[str, ...]]]] = {
    TORCH: {
        "conv2d": {"kernel": ("weight",), "bias": ("bias",)},
        "dense": {"kernel": ("weight",), "bias": ("bias",)},
        "embedding": {"table": ("weight",)},
        "batchnorm": {"gamma": ("weight",), "beta": ("bias",), "mean": ("running_mean",),
                      "variance": ("running_var",)},
        "affine": {"scale": ("weight",), "offset": ("bias",)},
        "lstm": {"input_kernel": ("weight_ih",), "recurrent_kernel": ("weight_hh",),
                 "bias": ("bias_ih", "bias_hh")},
    },
    KERAS: {
        "conv2d": {"kernel": ("kernel",), "bias": ("bias",)},
        "dense": {"kernel": ("kernel",), "bias": ("bias",)},
        "embedding": {"table": ("embeddings", "table", "embedding")},
        "batchnorm": {"gamma": ("gamma",), "beta": ("beta",), "mean": ("moving_mean", "mean"),
                      "variance": ("moving_variance", "variance")},
        "affine": {"scale": ("scale",), "offset": ("offset",)},
        "lstm": {"input_kernel": ("kernel", "input_kernel"),
                 "recurrent_kernel": ("recurrent_kernel",), "bias": ("bias",)},
    },
}  # fmt: skip
"""Which last parts of names each parameter may have; of PyTorch's two biases the sum."""
_NORM = {TORCH: ("weight", "bias", "running_mean", "running_var"),
         KERAS: ("gamma", "beta", "moving_mean", "moving_variance")}  # fmt: skip


class Misfit(ValueError):
    """Why a tensor can't be a parameter, in words that go behind the parameter's name."""


@dataclass(frozen=True)
class Module:
    """The tensors of one layer, by the last part of their names."""

    name: str
    tensors: Mapping[str, Tensor]

    @property
    def layout(self) -> str:
        """By its names; empty where they do not say."""
        leaves = set(self.tensors)
        if leaves & {"weight", "weight_ih", "running_mean"}:
            return TORCH
        known = {leaf for roles in _ROLES[KERAS].values() for own in roles.values() for leaf in own}
        return KERAS if leaves & (known - {"bias"}) else ""


@dataclass(frozen=True)
class Parameter:
    """A parameter's values, and the tensors that they were made of."""

    values: Floats
    sources: tuple[str, ...]


@dataclass(frozen=True)
class LayoutRules:
    """How the layout of tensors is read, where their names do not say it."""

    layout: str = ""
    """`torch` or `keras`; empty: as names and shapes say."""
    gates: str = GATES
    epsilon: float = EPSILON
    orders: Orders = field(default_factory=dict)
    """Of vectors that were images: where each value stands in PyTorch's order of channels."""


def modules_of(tensors: Mapping[str, Tensor]) -> dict[str, Module]:
    """In the order of the file; what only counts batches is not among them."""
    parts: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        path = re.sub(r":\d+$", "", name)
        cut = max(path.rfind("."), path.rfind("/"))
        prefix, leaf = path[: max(cut, 0)], path[cut + 1 :]
        if leaf == COUNTER:
            continue
        if gates := _LSTM.fullmatch(leaf):
            prefix, leaf = f"{prefix}.l{gates[2]}".lstrip("."), gates[1]
        parts.setdefault(prefix, {})[leaf] = tensor
    return {name: Module(name, own) for name, own in parts.items()}


def parameters_of(node: Node, module: Module, rules: LayoutRules) -> dict[str, Parameter]:
    """The node's parameters that the module has. Raises `Misfit`."""
    layout = rules.layout or module.layout or TORCH
    op = node["op"]
    if op == "affine" and all(leaf in module.tensors for leaf in _NORM[layout]):
        return _constants(node, module, layout, rules)
    found = {}
    for name in node["parameters"]:
        leaves = _ROLES[layout].get(op, {}).get(name, ())
        tensors = [module.tensors[leaf] for leaf in leaves if leaf in module.tensors]
        if len(leaves) > 1 and not (layout == TORCH and op == "lstm"):
            tensors = tensors[:1]  # other spellings of one name
        if tensors:
            found[name] = parameter_of(node, name, tensors, replace(rules, layout=layout))
    return found


def parameter_of(node: Node, name: str, tensors: Sequence[Tensor], rules: LayoutRules) -> Parameter:
    """One parameter of one tensor, or of the sum of several. Raises `Misfit`."""
    wanted = tuple(node["parameters"][name]["shape"])
    parts = [_turned(node, name, tensor, wanted, rules) for tensor in tensors]
    total = parts[0] if len(parts) == 1 else np.asarray(np.sum(parts, axis=0))
    if total.shape != wanted:
        raise Misfit(f"{_named(tensors)} would be {list(total.shape)}, not {list(wanted)}")
    return Parameter(_float32(total, tensors), tuple(tensor.name for tensor in tensors))


def _constants(node: Node, module: Module, layout: str, rules: LayoutRules) -> dict[str, Parameter]:
    """A batch normalisation that no longer learns, as a factor and an offset a channel."""
    tensors = [module.tensors[leaf] for leaf in _NORM[layout]]
    wanted = tuple(node["parameters"]["scale"]["shape"])
    order = rules.orders.get(node["inputs"][0]) if layout == TORCH else None
    for tensor in tensors:
        if tensor.values.shape != wanted:
            raise Misfit(f"{_named([tensor])} is {list(tensor.values.shape)}, not {list(wanted)}")
    gamma, beta, mean, variance = (
        _float64(tensor) if order is None else _float64(tensor)[order] for tensor in tensors
    )
    if variance.size and variance.min() + rules.epsilon <= 0:
        raise Misfit(f"{_named(tensors[3:])} has variances below 0")
    scale = gamma / np.sqrt(variance + rules.epsilon)
    sources = tuple(tensor.name for tensor in tensors)
    return {
        "scale": Parameter(_float32(scale, tensors), sources),
        "offset": Parameter(_float32(beta - mean * scale, tensors), sources),
    }


def _turned(
    node: Node, name: str, tensor: Tensor, wanted: tuple[int, ...], rules: LayoutRules
) -> npt.NDArray[np.float64]:
    values = _float64(tensor)
    layout = rules.layout or _by_shape(node, values.shape, wanted, tensor)
    if layout == TORCH:
        values = _from_torch(node, name, values, rules.orders)
    if node["op"] == "lstm":
        if name == "bias" and values.shape == (2 * wanted[0],):  # Keras' for cuDNN: both in a row
            values = values.reshape(2, -1).sum(axis=0)
        if rules.gates != GATES and values.shape == wanted:
            parts = dict(zip(rules.gates, np.split(values, 4, axis=-1), strict=True))
            values = np.concatenate([parts[gate] for gate in GATES], axis=-1)
    return values


def _from_torch(
    node: Node, name: str, values: npt.NDArray[np.float64], orders: Orders
) -> npt.NDArray[np.float64]:
    op, order = node["op"], orders.get(node["inputs"][0])
    if op == "conv2d" and name == "kernel" and values.ndim == 4:
        return values.transpose(2, 3, 1, 0)
    if op == "dense" and name == "kernel" and values.ndim == 2:
        values = values.T
        return values if order is None or len(order) != len(values) else values[order]
    if op == "lstm" and name != "bias" and values.ndim == 2:
        return values.T
    if op in ("batchnorm", "affine") and order is not None and values.shape == order.shape:
        return values[order]
    return values


def _by_shape(node: Node, shape: tuple[int, ...], wanted: tuple[int, ...], tensor: Tensor) -> str:
    """The one layout in which the shape fits; refused where it fits in both but differs."""
    probe = np.empty(shape, np.bool_) if len(shape) < 5 else None
    if probe is None or node["op"] not in ("conv2d", "dense", "lstm") or len(shape) < 2:
        return KERAS
    turned = probe.transpose(2, 3, 1, 0) if probe.ndim == 4 else probe.T
    fits = [KERAS] if shape == wanted else []
    fits += [TORCH] if turned.shape == wanted else []
    if len(fits) == 2:
        raise Misfit(
            f"{_named([tensor])} fits in PyTorch's and in Keras' layout: say which with --layout"
        )
    return fits[0] if fits else KERAS


def _float64(tensor: Tensor) -> npt.NDArray[np.float64]:
    if tensor.values.dtype.kind != "f":
        raise Misfit(f"{_named([tensor])} holds {tensor.stored}, not real numbers")
    return tensor.values.astype(np.float64)


def _float32(values: npt.NDArray[np.float64], tensors: Sequence[Tensor]) -> Floats:
    with np.errstate(over="ignore"):
        found = values.astype(np.float32)
    if not np.isfinite(found).all():
        raise Misfit(f"{_named(tensors)} has values that are not finite float32 numbers")
    return found


def _named(tensors: Iterable[Tensor]) -> str:
    return " with ".join(shown(tensor.name) for tensor in tensors)


# ---- vectors that were images -------------------------------------------------------------------

_KEEPS = ("relu", "tanh", "sigmoid", "softmax", "dropout", "batchnorm", "affine")


def orders_of(graph: Mapping[str, Any]) -> dict[str, npt.NDArray[np.intp]]:
    """For each vector that is a flattened image, or has one in it: where PyTorch, whose images have
    their channels first, keeps each of its values."""
    shapes = {spec["name"]: tuple(spec["shape"]) for spec in graph["inputs"]}
    shapes |= {node["name"]: tuple(node["shape"]) for node in graph["nodes"]}
    orders: dict[str, npt.NDArray[np.intp]] = {}
    for node in graph["nodes"]:
        sources = node["inputs"]
        if node["op"] == "flatten" and len(shapes.get(sources[0], ())) == 3:
            high, wide, channels = shapes[sources[0]]
            first = np.arange(high * wide * channels).reshape(channels, high, wide)
            orders[node["name"]] = first.transpose(1, 2, 0).ravel()
        elif node["op"] in (*_KEEPS, "add", "flatten") and sources[0] in orders:
            orders[node["name"]] = orders[sources[0]]
        elif node["op"] == "concat" and any(source in orders for source in sources):
            parts, start = [], 0
            for source in sources:
                size = shapes[source][-1]
                parts.append(start + orders.get(source, np.arange(size)))
                start += size
            orders[node["name"]] = np.concatenate(parts)
    return orders
