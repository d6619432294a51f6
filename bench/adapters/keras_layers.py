"""The graph in Keras' functional API: the same words in Keras 2 and 3.

Canonical weights go in as they are, but for Theano, which turns the filters around.
"""

import abc

import keras
import numpy as np
from keras import layers

from bench.adapters.base import Model
from bench.formats import Unsupported
from bench.weights import is_state

BACKEND = keras.backend.backend()
ops = keras.ops if hasattr(keras, "ops") else keras.backend
_constant = ops.convert_to_tensor if hasattr(keras, "ops") else keras.backend.constant


def functional(graph, make):
    """({input: tensor}, {node: tensor}, {node: layer}); `make` makes the layer of a node."""
    inputs = {
        # a number a sample is a column here: Keras 2 makes one of it in any case
        spec["name"]: layers.Input(
            tuple(spec["shape"]) or (1,), name=spec["name"], dtype=spec["dtype"]
        )
        for spec in graph["inputs"]
    }
    values, by_node = dict(inputs), {}
    for node in graph["nodes"]:
        by_node[node["name"]] = layer = make(node)
        _run(node, values, layer)
    return inputs, {node["name"]: values[node["name"]] for node in graph["nodes"]}, by_node


def layer_of(node, native, batchnorm, **lstm):
    """The layer of a node; `batchnorm` is the class to take, `lstm` what its layer is told."""
    op, name = node["op"], node["name"]
    if BACKEND == "theano" and not native and op in ("relu", "maxpool", "globalmaxpool"):
        return layers.Lambda(
            lambda x: _first_maximum(node, x), output_shape=tuple(node["shape"]), name=name
        )
    if op == "conv2d":
        return layers.Conv2D(
            node["filters"],
            tuple(node["kernel"]),
            strides=tuple(node["stride"]),
            padding=_word(node),
            use_bias=node["bias"],
            name=name,
        )
    if op == "dense":
        return layers.Dense(node["units"], use_bias=node["bias"], name=name)
    if op == "batchnorm":
        if native:
            return layers.BatchNormalization(name=name)
        layer = batchnorm(momentum=node["keep"], epsilon=node["epsilon"], name=name)
        layer.unbiased = node["unbiased"]
        return layer
    if op == "embedding":
        return layers.Embedding(node["vocabulary"], node["units"], name=name)
    if op == "lstm":
        sequences = node["output"] == "sequence"
        return layers.LSTM(
            node["units"], return_sequences=sequences, return_state=True, name=name, **lstm
        )
    if op == "dropout":
        return layers.Dropout(node["rate"], name=name)
    if op in ("maxpool", "avgpool"):
        kind = layers.MaxPooling2D if op == "maxpool" else layers.AveragePooling2D
        return kind(tuple(node["size"]), tuple(node["stride"]), padding=_word(node), name=name)
    if op == "globalavgpool":
        return layers.GlobalAveragePooling2D(name=name)
    if op == "globalmaxpool":
        return layers.GlobalMaxPooling2D(name=name)
    if op in ("relu", "tanh", "sigmoid"):
        return layers.Activation(op, name=name)
    if op == "flatten":
        return layers.Flatten(name=name)
    if op == "add":
        return layers.Add(name=name)
    if op == "concat":
        return layers.Concatenate(name=name)
    raise Unsupported("no {} in the Keras adapter".format(op))


def _first_maximum(node, x):
    """The maximum with zero or of a window; on Theano, Keras' own give every tie the gradient."""
    if node["op"] == "relu":
        return ops.maximum(ops.zeros_like(x), x)
    pooled = node["op"] == "maxpool"
    (height, width), (down, right) = _shape(x)[1:3], (1, 1)
    rows, columns = 1, 1
    if pooled:
        (height, width), (down, right) = node["size"], node["stride"]
        rows, columns = node["shape"][:2]
    y = None
    for i in range(height):
        for j in range(width):
            vertical = slice(i, i + (rows - 1) * down + 1, down)
            part = x[:, vertical, j : j + (columns - 1) * right + 1 : right]
            y = part if y is None else ops.maximum(y, part)
    return y if pooled else y[:, 0, 0]


def _run(node, values, layer):
    op, name = node["op"], node["name"]
    x = values[node["inputs"][0]]
    if op in ("conv2d", "maxpool", "avgpool") and _word(node) == "valid" and _pads(node):
        if op == "maxpool":
            values[name] = layer(_padded_low(node, x))
        else:
            y = layer(layers.ZeroPadding2D(_padding(node), name=name + "_padded")(x))
            values[name] = _without_padding(node, x, y) if op == "avgpool" else y
    elif op == "lstm":
        values[name] = _lstm(node, x, values, layer)
    elif op in ("add", "concat"):
        values[name] = layer([values[source] for source in node["inputs"]])
    else:
        values[name] = layer(x)


def _lstm(node, x, values, layer):
    name, told = node["name"], {}
    if node["initial"]:
        told["initial_state"] = [values[source] for source in node["initial"]]
    if node["lengths"]:
        steps = _shape(x)[1]
        told["mask"] = layers.Lambda(
            # Theano stretches a new axis, but not one that happens to be of size one
            lambda lengths: ops.less(
                ops.arange(steps, dtype="int32"), ops.expand_dims(lengths[:, 0], -1)
            ),
            output_shape=(steps,),
            name=name + "_mask",
        )(values[node["lengths"]])
    y, values[name + ":h"], values[name + ":c"] = layer(x, **told)
    if node["lengths"] and node["output"] == "sequence":  # Keras repeats the last output
        y = layers.Lambda(
            lambda pair: pair[0] * ops.expand_dims(ops.cast(pair[1], "float32"), -1),
            output_shape=tuple(node["shape"]),
            name=name + "_cut",
        )([y, told["mask"]])
    return y


def _shape(x):
    """What is known of the shape, None for the batch."""
    return tuple(x.shape) if hasattr(keras, "ops") else keras.backend.int_shape(x)


# ---- padding ------------------------------------------------------------------------------------


def _padding(node):
    return tuple(tuple(pad) for pad in node["padding"])


def _pads(node):
    return any(node["padding"][0] + node["padding"][1])


def _word(node):
    """ "same" where every backend means the graph's padding by it; else "valid", after padding."""
    pooling = "size" in node
    size = node["size"] if pooling else node["kernel"]
    half = [[k // 2, k // 2] for k in size]
    if half != [list(pad) for pad in node["padding"]] or list(node["stride"]) != [1, 1]:
        return "valid"
    if not _pads(node) or any(k % 2 == 0 for k in size):
        return "valid"
    if pooling and (BACKEND == "theano" or (node["op"] == "avgpool" and BACKEND == "torch")):
        return "valid"  # Theano's average has no gradient then, PyTorch's repeats the edge
    return "same"


def _padded_low(node, x):
    """Padded with what no maximum ever takes."""

    def pad(x):
        for axis, (before, after) in zip((1, 2), node["padding"]):
            parts = [low(x, axis, before)] + [x] + [low(x, axis, after)]
            x = ops.concatenate([part for part in parts if part is not None], axis=axis)
        return x

    def low(x, axis, count):
        edge = [slice(None)] * 4
        edge[axis] = slice(0, count)
        return ops.zeros_like(x[tuple(edge)]) - float("inf") if count else None

    _, height, width, channels = _shape(x)
    (top, bottom), (left, right) = node["padding"]
    shape = (height + top + bottom, width + left + right, channels)
    return layers.Lambda(pad, output_shape=shape, name=node["name"] + "_padded")(x)


def _without_padding(node, x, y):
    """Average pooling of a zero-padded image, as if the padding did not count."""
    ones = np.pad(np.ones(_shape(x)[1:3], np.float32), node["padding"], "constant")
    counts = np.zeros(node["shape"][:2], np.float32)
    for row, column in np.ndindex(*counts.shape):
        top, left = row * node["stride"][0], column * node["stride"][1]
        window = ones[top : top + node["size"][0], left : left + node["size"][1]]
        counts[row, column] = window.sum()
    factor = (node["size"][0] * node["size"][1] / counts)[None, :, :, None]
    return layers.Lambda(
        lambda y: y * _constant(factor), output_shape=tuple(node["shape"]), name=node["name"] + "_w"
    )(y)


# ---- weights ------------------------------------------------------------------------------------


def _variables(node, layer):
    """{canonical parameter: variable}."""
    op = node["op"]
    if op in ("conv2d", "dense"):
        found = {"kernel": layer.kernel}
        if node["bias"]:
            found["bias"] = layer.bias
        return found
    if op == "batchnorm":
        return {
            "gamma": layer.gamma,
            "beta": layer.beta,
            "mean": layer.moving_mean,
            "variance": layer.moving_variance,
        }
    if op == "embedding":
        return {"table": layer.embeddings}
    return {
        "input_kernel": layer.cell.kernel,
        "recurrent_kernel": layer.cell.recurrent_kernel,
        "bias": layer.cell.bias,
    }


def _turned(node, name, value):
    """A filter for Theano, which convolves where others correlate; there and back."""
    if BACKEND == "theano" and node["op"] == "conv2d" and name == "kernel":
        return np.ascontiguousarray(value[::-1, ::-1])
    return value


# ---- model --------------------------------------------------------------------------------------


class FunctionalModel(Model):
    """What needs no loop: the tensors, the weights, and batches in Keras' order."""

    def __init__(self, graph, recipe, make):
        self._graph, self._recipe = graph, recipe
        self._inputs, self._values, by_node = functional(graph, make)
        self._variables = [
            (node, name, variable)
            for node in graph["nodes"]
            if node["parameters"]
            for name, variable in sorted(_variables(node, by_node[node["name"]]).items())
        ]
        # a loss for each output, in the order of the losses: so Keras takes them as lists
        self._heads = [self._values[spec["output"]] for spec in recipe["losses"]]
        if sorted(spec["output"] for spec in recipe["losses"]) != sorted(graph["outputs"]):
            raise Unsupported("Keras' own loop wants one loss for each output")
        self._net = self._model(self._heads)

    def _model(self, outputs):
        return keras.models.Model([self._inputs[s["name"]] for s in self._graph["inputs"]], outputs)

    def _arrays(self, batch):
        """The batch's inputs in the model's order."""
        return [_column(batch[spec["name"]]) for spec in self._graph["inputs"]]

    def predict(self, batch):
        found = self._net.predict_on_batch(self._arrays(batch))
        found = found if isinstance(found, (list, tuple)) else [found]
        return {
            spec["output"]: np.asarray(value) for spec, value in zip(self._recipe["losses"], found)
        }

    @abc.abstractmethod
    def _read(self, variables):
        """Their values, all at once."""

    @abc.abstractmethod
    def _write(self, pairs):
        """Put values into variables, all at once."""

    def weights(self):
        return _named(self._variables, self._read([each[2] for each in self._variables]))

    def load(self, weights):
        self._write(
            [
                (variable, _turned(node, name, weights[node["name"]][name]))
                for node, name, variable in self._variables
            ]
        )

    def _trained(self):
        return [each for each in self._variables if not is_state(each[0], each[1])]

    def _caught(self, caught):
        """{node: {parameter: gradient}} from {id of a variable: where its gradient was put}."""
        trained = self._trained()
        return _named(trained, self._read([caught[id(variable)] for _, _, variable in trained]))


def _named(variables, values):
    """{node: {parameter: canonical value}}."""
    found = {}
    for (node, name, _), value in zip(variables, values):
        found.setdefault(node["name"], {})[name] = np.array(_turned(node, name, value))
    return found


def _column(value):
    return value[:, None] if value.ndim == 1 else value
