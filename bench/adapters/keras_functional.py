"""The graph in Keras' functional API: what Keras 2 and 3 say in the same words.

Images are NHWC, and canonical weights go in as they are, but for Theano's filters. What the two
generations do differently is in their own packages.
"""

import keras
import numpy as np
from keras import layers

from bench.ops import nodes_for, open_shapes, sources, states_read
from bench.weights import is_frozen

BACKEND = keras.backend.backend()
ops = keras.ops if hasattr(keras, "ops") else keras.backend
_constant = ops.convert_to_tensor if hasattr(keras, "ops") else keras.backend.constant


class Net:
    """The graph as symbolic tensors, and its layers with weights by node.

    Every layer's name begins with a word of ours: what a node is called can't collide with it.
    """

    def __init__(self, graph, operations, native):
        self.native, self._graph, self._layers = native, graph, {}
        shapes = open_shapes(graph)
        self.values = {
            # a number a sample is a column here: Keras 2 makes one of it in any case
            spec["name"]: layers.Input(
                tuple(shapes[spec["name"]]) or (1,),
                name="input_" + spec["name"],
                dtype=spec["dtype"],
            )
            for spec in graph["inputs"]
        }
        for node in graph["nodes"]:
            inputs = [self.values[source] for source in node["inputs"]]
            node = dict(node, shape=shapes[node["name"]])  # None where it varies
            self.values[node["name"]] = operations[node["op"]](self, node, inputs, self.values)

    def keep(self, node, layer):
        """The layer, kept for its weights."""
        self._layers[node["name"]] = layer
        return layer

    def layer(self, node):
        return self._layers[node["name"]]

    def reads(self, states):
        """Whether any of these states of an LSTM is read."""
        return bool(set(states) & set(states_read(self._graph)))

    def inputs_for(self, names):
        """The names of the inputs that these values depend on, in the graph's order."""
        read = set()
        for node in nodes_for(self._graph, names):
            read.update(sources(node) + [node.get("lengths")])
        return [spec["name"] for spec in self._graph["inputs"] if spec["name"] in read]

    def model(self, names, outputs=None, more=()):
        """Keras' model of these values; `outputs` are tensors made of them and of `more` inputs."""
        inputs = [self.values[name] for name in self.inputs_for(names)] + list(more)
        outputs = outputs or [self.values[name] for name in names]
        return keras.models.Model(alone(inputs), alone(outputs))


def alone(values):
    """A single one without its list: Keras 3 takes lists apart, and makes them, in every step."""
    return values[0] if len(values) == 1 else values


def layer_name(node):
    return "node_" + node["name"]


# ---- operations ---------------------------------------------------------------------------------


def _blank(net, *names):
    """Initialisers of what is loaded before anything is done with it: on JAX, XLA takes a second to
    compile what would draw the weights of one shape."""
    blank = BACKEND == "jax" and not net.native
    return {name + "_initializer": _zeros for name in names} if blank else {}


def _zeros(shape, dtype=None):
    return np.zeros(shape, dtype)


def conv2d(net, node, inputs, values, kind=layers.Conv2D):
    layer = kind(
        node["filters"],
        tuple(node["kernel"]),
        strides=tuple(node["stride"]),
        padding=padding_word(node),
        use_bias=node["bias"],
        name=layer_name(node),
        **_blank(net, "kernel"),
    )
    return _kept(net, node, layer)(_zero_padded(node, inputs[0]))


def _kept(net, node, layer):
    layer.trainable = not is_frozen(node)
    return net.keep(node, layer)


def maxpool(net, node, inputs, values, pad):
    """`pad(node, x)` pads with what no maximum ever takes."""
    x, word = inputs[0], padding_word(node)
    if word == "valid" and _pads(node):
        (_, height, width, channels), (rows, columns) = shape_of(x), node["padding"]
        x = layers.Lambda(
            lambda x: pad(node, x),
            output_shape=(height and height + sum(rows), width and width + sum(columns), channels),
            name="padded_" + node["name"],
        )(x)
    size, stride = tuple(node["size"]), tuple(node["stride"])
    return layers.MaxPooling2D(size, stride, padding=word, name=layer_name(node))(x)


def avgpool(net, node, inputs, values):
    x, word = inputs[0], padding_word(node)
    size, stride = tuple(node["size"]), tuple(node["stride"])
    pool = layers.AveragePooling2D(size, stride, padding=word, name=layer_name(node))
    y = pool(_zero_padded(node, x))
    if word == "same" or not _pads(node):
        return y
    # zeros have been counted: taken out
    if None in shape_of(x)[1:]:  # images of several sizes: the average of ones says how many
        ones = layers.Lambda(ops.ones_like, name="ones_" + node["name"])(x)
        padding = tuple(tuple(pad) for pad in node["padding"])
        ones = layers.ZeroPadding2D(padding, name="rim_" + node["name"])(ones)
        pool = layers.AveragePooling2D(size, stride, name="inside_" + node["name"])
        return layers.Lambda(
            lambda pair: pair[0] / pair[1],
            output_shape=shape_of(y)[1:],
            name="average_" + node["name"],
        )([y, pool(ones)])
    share = _share_inside(node, shape_of(x)[1:3])
    return layers.Lambda(
        lambda y: y / _constant(share),
        output_shape=tuple(node["shape"]),
        name="average_" + node["name"],
    )(y)


def globalmaxpool(net, node, inputs, values):
    return layers.GlobalMaxPooling2D(name=layer_name(node))(inputs[0])


def globalavgpool(net, node, inputs, values):
    return layers.GlobalAveragePooling2D(name=layer_name(node))(inputs[0])


def dense(net, node, inputs, values):
    blank = _blank(net, "kernel")
    layer = layers.Dense(node["units"], use_bias=node["bias"], name=layer_name(node), **blank)
    return _kept(net, node, layer)(inputs[0])


class Affine(layers.Layer):
    """A factor and an offset a channel that never learn."""

    def build(self, input_shape):
        for name, value in (("scale", "ones"), ("offset", "zeros")):
            weight = self.add_weight(
                name=name, shape=(input_shape[-1],), initializer=value, trainable=False
            )
            setattr(self, name, weight)
        super(Affine, self).build(input_shape)

    def call(self, inputs):
        return inputs * self.scale + self.offset


def affine(net, node, inputs, values):
    return net.keep(node, Affine(name=layer_name(node)))(inputs[0])


def embedding(net, node, inputs, values):
    blank = _blank(net, "embeddings")
    layer = layers.Embedding(node["vocabulary"], node["units"], name=layer_name(node), **blank)
    y = net.keep(node, layer)(inputs[0])
    if len(node["shape"]) == 1:  # of a column, that is of one number a sample
        y = layers.Flatten(name="vector_" + node["name"])(y)
    return y


def lstm(net, node, inputs, values, kind=layers.LSTM, **settings):
    name, x, given = node["name"], inputs[0], {}
    if node["initial"]:
        given["initial_state"] = [values[source] for source in node["initial"]]
    if node["lengths"]:
        steps = shape_of(x)[1]
        given["mask"] = layers.Lambda(
            # Theano stretches a new axis, but not one that happens to be of size one
            lambda lengths: ops.less(
                ops.arange(steps, dtype="int32"), ops.expand_dims(lengths[:, 0], -1)
            ),
            output_shape=(steps,),
            name="mask_" + name,
        )(values[node["lengths"]])
    states = [name + ":h", name + ":c"]
    layer = kind(
        node["units"],
        return_sequences=node["output"] == "sequence",
        return_state=net.reads(states),  # what nobody reads costs time, too
        name=layer_name(node),
        **_blank(net, "kernel", "recurrent"),
        **settings,
    )
    y = net.keep(node, layer)(x, **given)
    if layer.return_state:
        y, values[states[0]], values[states[1]] = y
    if node["lengths"] and node["output"] == "sequence":  # Keras repeats the last output
        y = layers.Lambda(
            lambda pair: pair[0] * ops.expand_dims(ops.cast(pair[1], "float32"), -1),
            output_shape=tuple(node["shape"]),
            name="cut_" + name,
        )([y, given["mask"]])
    return y


def dropout(net, node, inputs, values):
    return layers.Dropout(node["rate"], name=layer_name(node))(inputs[0])


def activation(net, node, inputs, values):
    return layers.Activation(node["op"], name=layer_name(node))(inputs[0])


def flatten(net, node, inputs, values):
    if len(shape_of(inputs[0])) == 2:  # Keras 2 refuses a vector
        return layers.Activation("linear", name=layer_name(node))(inputs[0])
    return layers.Flatten(name=layer_name(node))(inputs[0])


def add(net, node, inputs, values):
    return layers.Add(name=layer_name(node))(inputs)


def concat(net, node, inputs, values):
    if len(inputs) == 1:  # Keras 2 refuses it
        return layers.Activation("linear", name=layer_name(node))(inputs[0])
    return layers.Concatenate(name=layer_name(node))(inputs)


def shape_of(x):
    """What is known of the shape, None for the batch."""
    return tuple(x.shape) if hasattr(keras, "ops") else keras.backend.int_shape(x)


# ---- padding ------------------------------------------------------------------------------------


def padding_word(node):
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


def _pads(node):
    return any(node["padding"][0] + node["padding"][1])


def _zero_padded(node, x):
    if padding_word(node) == "same" or not _pads(node):
        return x
    padding = tuple(tuple(pad) for pad in node["padding"])
    return layers.ZeroPadding2D(padding, name="padded_" + node["name"])(x)


def _share_inside(node, size):
    """The share of each window that is not padding, to divide an average by: [1, H, W, 1]."""
    ones = np.pad(np.ones(size, np.float32), node["padding"], "constant")
    share = np.zeros(node["shape"][:2], np.float32)
    for row, column in np.ndindex(*share.shape):
        top, left = row * node["stride"][0], column * node["stride"][1]
        window = ones[top : top + node["size"][0], left : left + node["size"][1]]
        share[row, column] = window.mean()
    return share[None, :, :, None]


# ---- weights ------------------------------------------------------------------------------------


def variables_of(node, layer):
    """{canonical parameter: variable}."""
    op = node["op"]
    if op in ("conv2d", "dense"):
        variables = {"kernel": layer.kernel}
        if node["bias"]:
            variables["bias"] = layer.bias
        return variables
    if op == "batchnorm":
        return {
            "gamma": layer.gamma,
            "beta": layer.beta,
            "mean": layer.moving_mean,
            "variance": layer.moving_variance,
        }
    if op == "embedding":
        return {"table": layer.embeddings}
    if op == "affine":
        return {"scale": layer.scale, "offset": layer.offset}
    return {
        "input_kernel": layer.cell.kernel,
        "recurrent_kernel": layer.cell.recurrent_kernel,
        "bias": layer.cell.bias,
    }


def turned(node, name, value):
    """A filter for Theano, which convolves where others correlate; there and back."""
    if BACKEND == "theano" and node["op"] == "conv2d" and name == "kernel":
        return np.ascontiguousarray(value[::-1, ::-1])
    return value
