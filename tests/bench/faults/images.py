"""Faults of convolutions and pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.reference import layers
from tests.bench.faults.fault import (
    Fault,
    Json,
    attribute_fault,
    backward_fault,
    forward_fault,
    some,
)

SHAPES = ("shapes", "forward")
"""A wrong size shows in shapes, unless it happens to come out the same."""


def _other_sides(node: Json) -> Json:
    return {"padding": [list(pair)[::-1] for pair in node["padding"]]}


def _other_axes(node: Json) -> Json:
    return {"padding": list(node["padding"])[::-1]}


def _other_strides(node: Json) -> Json:
    return {"stride": list(node["stride"])[::-1]}


def _with_kernel(change: Any) -> Any:
    def forward(node: Json, inputs: Any, p: Json, context: Any) -> Any:
        return layers.conv2d(node, inputs, {**p, "kernel": change(p["kernel"])}, context)

    return forward


def _conv_without_bias_in_evaluation(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    bias = node["bias"] and context.training
    return layers.conv2d({**node, "bias": bias}, inputs, p, context)


def _conv_mean_bias(node: Json, cache: Any, dy: Any) -> Any:
    upstream, grads = layers.conv2d_backward(node, cache, dy)
    return upstream, {**grads, **({"bias": dy.mean(axis=(0, 1, 2))} if node["bias"] else {})}


def _conv_flipped_back(node: Json, cache: Any, dy: Any) -> Any:
    x, kernel = cache
    _, grads = layers.conv2d_backward(node, cache, dy)
    return layers.conv2d_backward(node, (x, kernel[::-1, ::-1]), dy)[0], grads


def _zero_padded(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    x = layers._pad(inputs[0], node["padding"])
    return layers.maxpool({**node, "padding": [[0, 0], [0, 0]]}, [x], p, context)


def _max_gradient_to_all(node: Json, cache: Any, dy: Any) -> Any:
    _, shape = cache
    ones = np.full((1, *dy.shape[1:3], 1), np.prod(node["size"]), dy.dtype)
    return layers.avgpool_backward(node, (ones, shape), dy)


def _average_with_padding(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    y, (counts, shape) = layers.avgpool(node, inputs, p, context)
    size = float(np.prod(node["size"]))
    return y * (counts / size).astype(y.dtype), (counts, shape)


def _average_gradient_with_padding(node: Json, cache: Any, dy: Any) -> Any:
    counts, shape = cache
    size = np.full_like(counts, np.prod(node["size"]))
    return layers.avgpool_backward(node, (size, shape), dy)


def _global_sum(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    return inputs[0].sum(axis=(1, 2)), inputs[0].shape


def _global_sum_gradient(node: Json, shape: Any, dy: Any) -> Any:
    return [np.broadcast_to(dy[:, None, None, :], shape).copy()], {}


def _global_largest_size(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    _, cache = layers.globalmaxpool(node, inputs, p, context)
    return np.abs(inputs[0]).max(axis=(1, 2)), cache


def _global_max_gradient_to_all(node: Json, cache: Any, dy: Any) -> Any:
    return layers.globalavgpool_backward(node, cache[1], dy)


def _more_than_one_place(node: Json) -> bool:
    return bool(np.prod(node.get("kernel", node.get("size", [1]))) > 1)


FAULTS: tuple[Fault, ...] = (
    forward_fault(
        "convolution flips its kernel", "conv2d", _with_kernel(lambda k: k[::-1, ::-1]),
        needs=some("conv2d", _more_than_one_place),
    ),
    forward_fault(
        "convolution swaps the kernel's height and width", "conv2d",
        _with_kernel(lambda k: k.transpose(1, 0, 2, 3) if k.shape[0] == k.shape[1] else k),
        needs=some("conv2d", lambda n: n["kernel"][0] == n["kernel"][1] > 1),
    ),
    attribute_fault("convolution pads on the other side", "conv2d", _other_sides),
    attribute_fault("convolution swaps its paddings", "conv2d", _other_axes, checks=SHAPES),
    attribute_fault("convolution swaps its strides", "conv2d", _other_strides, checks=SHAPES),
    forward_fault(
        "convolution forgets its bias in evaluation", "conv2d", _conv_without_bias_in_evaluation,
        needs=some("conv2d", lambda n: n["bias"]),
    ),
    backward_fault(
        "convolution averages its bias' gradient", "conv2d", _conv_mean_bias,
        parameters=("bias",), needs=some("conv2d", lambda n: n["bias"]),
    ),
    backward_fault(
        "convolution passes its gradient back through a flipped kernel", "conv2d",
        _conv_flipped_back, upstream=True, needs=some("conv2d", _more_than_one_place),
    ),
    forward_fault(
        "maximum counts zeros of padding", "maxpool", _zero_padded,
        needs=some("maxpool", lambda n: any(map(any, n["padding"]))),
    ),
    attribute_fault("maximum pads on the other side", "maxpool", _other_sides),
    attribute_fault("maximum swaps its strides", "maxpool", _other_strides, checks=SHAPES),
    backward_fault(
        "maximum passes its gradient to the whole window", "maxpool", _max_gradient_to_all,
        upstream=True, needs=some("maxpool", _more_than_one_place),
    ),
    forward_fault(
        "average counts padding", "avgpool", _average_with_padding,
        needs=some("avgpool", lambda n: any(map(any, n["padding"]))),
    ),
    attribute_fault("average swaps its strides", "avgpool", _other_strides, checks=SHAPES),
    backward_fault(
        "average counts padding in its gradient", "avgpool", _average_gradient_with_padding,
        upstream=True, needs=some("avgpool", lambda n: any(map(any, n["padding"]))),
    ),
    forward_fault("global average is a sum", "globalavgpool", _global_sum),
    backward_fault(
        "global average passes the whole gradient to each value", "globalavgpool",
        _global_sum_gradient, upstream=True,
    ),
    forward_fault("global maximum of absolute values", "globalmaxpool", _global_largest_size),
    backward_fault(
        "global maximum passes its gradient to all values", "globalmaxpool",
        _global_max_gradient_to_all, upstream=True,
    ),
)  # fmt: skip
