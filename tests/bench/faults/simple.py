"""Faults of dense layers, activations, flatten, add, concat and affine."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.reference import layers
from tests.bench.faults.fault import Fault, Json, backward_fault, forward_fault, some


def _without_bias_in_evaluation(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    return layers.dense({**node, "bias": node["bias"] and context.training}, inputs, p, context)


def _without_bias_in_training(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    bias = node["bias"] and not context.training
    return layers.dense({**node, "bias": bias}, inputs, p, context)


def _half_precision(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    y, cache = layers.dense(node, inputs, p, context)
    return y.astype(np.float16).astype(y.dtype), cache


def _mean_bias(node: Json, cache: Any, dy: Any) -> Any:
    upstream, grads = layers.dense_backward(node, cache, dy)
    if node["bias"]:
        grads["bias"] = dy.reshape(-1, dy.shape[-1]).mean(axis=0)
    return upstream, grads


def _first_step_only(node: Json, cache: Any, dy: Any) -> Any:
    x, _ = cache
    upstream, grads = layers.dense_backward(node, cache, dy)
    return upstream, {**grads, "kernel": x[:, 0].T @ dy[:, 0]} if x.ndim == 3 else grads


def _leaky(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    y, cache = layers.relu(node, inputs, p, context)
    return y + np.minimum(inputs[0], 0) * y.dtype.type(0.01), cache


def _half_at_zero(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    y, positive = layers.relu(node, inputs, p, context)
    return y, positive + (inputs[0] == 0) * y.dtype.type(0.5)


def _capped(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    y, positive = layers.relu(node, inputs, p, context)
    return np.minimum(y, 1), positive & (y < 1)


def _hard_tanh(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    y = np.clip(inputs[0], -1, 1)
    return y, y


def _tanh_gradient(node: Json, y: Any, dy: Any) -> Any:
    return [dy * (1 - y)], {}


def _hard_sigmoid(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    y = np.clip(0.2 * inputs[0] + 0.5, 0, 1).astype(inputs[0].dtype)
    return y, y


def _sigmoid_gradient(node: Json, y: Any, dy: Any) -> Any:
    return [dy * y], {}


def _over_everything(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    flat, _ = layers.softmax(node, [inputs[0].reshape(len(inputs[0]), -1)], p, context)
    y = flat.reshape(inputs[0].shape)
    return y, y


def _hot(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    y, _ = layers.softmax(node, [inputs[0] * inputs[0].dtype.type(1.1)], p, context)
    return y, y


def _each_by_itself(node: Json, y: Any, dy: Any) -> Any:
    return [dy * y * (1 - y)], {}


def _channels_first(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    x = inputs[0]
    order = (0, 3, 1, 2) if x.ndim == 4 else (0, 2, 1) if x.ndim == 3 else (0, 1)
    return x.transpose(order).reshape(len(x), -1), x.shape


def _scrambled_back(node: Json, shape: Any, dy: Any) -> Any:
    if len(shape) < 3:
        return [dy.reshape(shape)], {}
    rest = (shape[0], shape[-1], *shape[1:-1])
    return [np.moveaxis(dy.reshape(rest), 1, -1)], {}


def _two_at_most(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    return inputs[0] + inputs[1], len(inputs)


def _to_the_first(node: Json, count: int, dy: Any) -> Any:
    return [dy] + [np.zeros_like(dy)] * (count - 1), {}


def _shared_out(node: Json, count: int, dy: Any) -> Any:
    return [dy / dy.dtype.type(count)] * count, {}


def _reversed(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    return layers.concat(node, inputs[::-1], p, context)[0], layers.concat(
        node, inputs, p, context
    )[1]


def _reversed_in_training(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    return (_reversed if context.training else layers.concat)(node, inputs, p, context)


def _swapped_gradients(node: Json, edges: Any, dy: Any) -> Any:
    parts, _ = layers.concat_backward(node, edges, dy)
    if parts[0].shape == parts[1].shape:
        parts[0], parts[1] = parts[1], parts[0]
    return parts, {}


def _has_bias(node: Json) -> bool:
    return bool(node["bias"])


def _several(node: Json) -> bool:
    return len(set(node["inputs"])) > 1


def _reads_more_than_a_vector(graph: Json, recipe: Json) -> bool:
    ranks = {node["name"]: len(node["shape"]) for node in graph["nodes"]}
    ranks.update({spec["name"]: len(spec["shape"]) for spec in graph["inputs"]})
    return some("flatten", lambda n: ranks.get(n["inputs"][0], 1) > 1)(graph, recipe)


def _reads_a_sequence(graph: Json, recipe: Json) -> bool:
    return some("dense", lambda n: len(n["shape"]) == 2 and n["shape"][0] > 1)(graph, recipe)


def _without_offset(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    return layers.affine(node, inputs, {**p, "offset": np.zeros_like(p["offset"])}, context)


def _offset_first(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    return (inputs[0] + p["offset"]) * p["scale"], p["scale"]


def _unscaled(node: Json, scale: Any, dy: Any) -> Any:
    return [dy], {}


FAULTS: tuple[Fault, ...] = (
    forward_fault(
        "dense layer forgets its bias in evaluation", "dense", _without_bias_in_evaluation,
        needs=some("dense", _has_bias),
    ),
    forward_fault(
        "dense layer forgets its bias in training", "dense", _without_bias_in_training,
        needs=some("dense", _has_bias),
    ),
    forward_fault("dense layer in float16", "dense", _half_precision),
    backward_fault(
        "dense layer averages its bias' gradient", "dense", _mean_bias,
        parameters=("bias",), needs=some("dense", _has_bias),
    ),
    backward_fault(
        "dense layer learns from the first step of a sequence alone", "dense", _first_step_only,
        parameters=("kernel",), needs=_reads_a_sequence,
    ),
    forward_fault("relu leaks", "relu", _leaky),
    forward_fault("relu ends at one", "relu", _capped),
    forward_fault(
        "relu's derivative at 0 is 1/2", "relu", _half_at_zero, checks=("kinks", "gradients"),
        upstream=True,
    ),
    forward_fault("tanh is a clipped line", "tanh", _hard_tanh),
    backward_fault("tanh's gradient is 1 - y", "tanh", _tanh_gradient, upstream=True),
    forward_fault("sigmoid is a clipped line", "sigmoid", _hard_sigmoid),
    backward_fault("sigmoid's gradient is y", "sigmoid", _sigmoid_gradient, upstream=True),
    forward_fault("softmax of all places together", "softmax", _over_everything,
                  needs=some("softmax", lambda n: len(n["shape"]) > 1)),
    forward_fault("softmax of values that are a tenth larger", "softmax", _hot),
    backward_fault("softmax's gradient is that of each value by itself", "softmax", _each_by_itself,
                   upstream=True),
    forward_fault(
        "flatten puts channels first", "flatten", _channels_first, needs=_reads_more_than_a_vector
    ),
    backward_fault(
        "flatten puts channels first in its gradient", "flatten", _scrambled_back, upstream=True,
        needs=_reads_more_than_a_vector,
    ),
    forward_fault(
        "add ignores its third input", "add", _two_at_most,
        needs=some("add", lambda n: len(n["inputs"]) > 2),
    ),
    backward_fault("add passes its gradient to the first input alone", "add", _to_the_first,
                   upstream=True),
    backward_fault("add divides its gradient among its inputs", "add", _shared_out, upstream=True),
    forward_fault(
        "concat in the other order", "concat", _reversed, needs=some("concat", _several)
    ),
    forward_fault(
        "concat in the other order in training", "concat", _reversed_in_training,
        needs=some("concat", _several),
    ),
    forward_fault("affine forgets its offset", "affine", _without_offset),
    forward_fault("affine adds its offset first", "affine", _offset_first),
    backward_fault("affine does not scale its gradient", "affine", _unscaled, upstream=True),
    backward_fault(
        "concat swaps the gradients of two inputs", "concat", _swapped_gradients, upstream=True,
        needs=some("concat", _several),
    ),
)  # fmt: skip
