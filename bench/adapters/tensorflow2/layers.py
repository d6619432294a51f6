"""The graph as Keras layers: one function for each op, and where each layer keeps its weights."""

import tensorflow as tf

from bench.adapters import tensorflow_nn as nn
from bench.adapters import tensorflow_regions as regions
from bench.ops import open_shapes

layers = tf.keras.layers

RELEASE = tuple(int(part) for part in tf.__version__.split(".")[:2])
KERAS_3 = RELEASE >= (2, 16)


class Net(tf.keras.Model):
    """The graph's layers by node, run in the graph's order."""

    def __init__(self, graph, native):
        super().__init__()
        self._native = native
        shapes = open_shapes(graph)
        self.by_node = {
            node["name"]: LAYERS[node["op"]](node, shapes[node["inputs"][0]], native)
            for node in graph["nodes"]
            if node["op"] in LAYERS
        }
        for node in graph["nodes"]:
            if node.get("frozen"):
                self.by_node[node["name"]].trainable = False
        self.run(first_inputs(graph), graph["nodes"], training=False)  # makes the variables
        self.built = True  # or Keras 3 saves nothing

    def run(self, inputs, nodes, training):
        """Every value by name: the inputs, and those of the nodes."""
        values = dict(inputs)
        context = nn.Context(values, training, self._native)
        for node in nodes:
            read = [values[source] for source in node["inputs"]]
            layer = self.by_node.get(node["name"])
            values[node["name"]] = OPERATIONS[node["op"]](layer, node, read, context)
        return values


def first_inputs(graph):
    """One row of legal inputs: zeros, which every table has, and lengths of 1."""
    lengths = {node["lengths"] for node in graph["nodes"] if node["op"] == "lstm"}
    return {
        spec["name"]: (tf.ones if spec["name"] in lengths else tf.zeros)(
            [1] + spec["shape"], spec["dtype"]
        )
        for spec in graph["inputs"]
    }


# ---- layers: what has parameters or a mode ------------------------------------------------------


def _conv2d_layer(node, source, native):
    packed, word = _packs_pixels(node), nn.padding_word(node, source)
    afterwards = _strides_afterwards(node, source)
    strides = tuple(_packed_stride(*axis) if packed else axis[1] for axis in _axes(node))
    layer = layers.Conv2D(
        node["filters"],
        tuple(node["kernel"]),
        strides=(1, 1) if afterwards else strides,
        padding="valid" if packed else word or "valid",
        use_bias=node["bias"],
        name=node["name"],
    )
    layer.strides_afterwards = afterwards
    return layer


def _batchnorm_layer(node, source, native):
    if native:
        return layers.BatchNormalization(name=node["name"])
    # the fused kernel, which only Keras 2 has, takes 1.001e-5 instead of a smaller epsilon
    plain = {"fused": False} if node["epsilon"] < 1.001e-5 and not KERAS_3 else {}
    return layers.BatchNormalization(
        momentum=node["keep"], epsilon=node["epsilon"], name=node["name"], **plain
    )


def _dense_layer(node, source, native):
    return layers.Dense(node["units"], use_bias=node["bias"], name=node["name"])


def _embedding_layer(node, source, native):
    return layers.Embedding(node["vocabulary"], node["units"], name=node["name"])


def _lstm_layer(node, source, native):
    return layers.LSTM(
        node["units"],
        return_sequences=node["output"] == "sequence",
        return_state=True,
        recurrent_activation="sigmoid",
        name=node["name"],
    )


class Affine(layers.Layer):
    """A factor and an offset a channel that never learn."""

    def __init__(self, channels, name):
        super().__init__(name=name, trainable=False)
        for constant, value in (("scale", "ones"), ("offset", "zeros")):
            weight = self.add_weight(
                name=constant, shape=(channels,), initializer=value, trainable=False
            )
            setattr(self, constant, weight)


LAYERS = {
    "affine": lambda node, source, native: Affine(node["shape"][-1], node["name"]),
    "conv2d": _conv2d_layer,
    "batchnorm": _batchnorm_layer,
    "dense": _dense_layer,
    "embedding": _embedding_layer,
    "lstm": _lstm_layer,
    "dropout": lambda node, source, native: layers.Dropout(node["rate"], name=node["name"]),
}


# ---- operations ---------------------------------------------------------------------------------


def _conv2d(layer, node, inputs, context):
    x = inputs[0]
    if layer.strides_afterwards:
        down, across = node["stride"]
        return layer(nn.padded(node, x))[:, ::down, ::across]
    if _packs_pixels(node):
        return layer(_packed_pixels(node, nn.padded(node, x)))
    by_layer = layer.padding == "same" or not any(node["padding"][0] + node["padding"][1])
    return layer(x if by_layer else nn.padded(node, x))


def _packs_pixels(node):
    """Whether a convolution must be given only the pixels that its windows read.

    TensorFlow 2.21's oneDNN kernels write outside their memory, which gives wrong numbers or ends
    the process: in the kernel's gradient where the windows stand further apart than they are
    large, and forward, with one channel, for strides [1, more] and an output of one column. Of 1x1
    convolutions only those of fewer than 16 channels do, after batches of two sizes.
    """
    (h, w), (down, across) = node["kernel"], node["stride"]
    apart = down > h or across > w
    one_column = node["shape"][1] == 1 and down == 1 < across
    if _is_pointwise(node):
        return apart and node["parameters"]["kernel"]["shape"][2] < _FEW_CHANNELS
    return apart or one_column


def _strides_afterwards(node, source):
    """The same for images of several sizes, whose pixels can't be chosen beforehand.

    All windows are computed, and those of the stride taken.
    """
    (h, w), (down, across) = node["kernel"], node["stride"]
    risky = down > h or across > w or down == 1 < across
    return None in source[:2] and risky and not _is_pointwise(node)


_FEW_CHANNELS = 16


def _is_pointwise(node):
    return node["kernel"] == [1, 1]


def _axes(node):
    """(size of the window, stride, number of windows) down and across."""
    return zip(node["kernel"], node["stride"], node["shape"])


def _packed_stride(size, stride, count):
    return size if stride > size or count == 1 else stride


def _packed_pixels(node, x):
    if _is_pointwise(node):  # of images of several sizes, too
        down, across = node["stride"]
        return x[:, ::down, ::across]
    for axis, (size, stride, count) in enumerate(_axes(node), start=1):
        if stride > size or count == 1:
            x = tf.gather(x, [k * stride + j for k in range(count) for j in range(size)], axis=axis)
    return x


def _batchnorm(layer, node, inputs, context):
    x = inputs[0]
    # TensorFlow's fused kernel keeps the unbiased variance; Keras' own formula, which all but
    # images and all of Keras 3 get, the biased one
    unbiased = bool(getattr(layer, "fused", False))
    if not context.training or context.native or unbiased == node["unbiased"]:
        return layer(x, training=context.training)
    old = node["keep"] * tf.identity(layer.moving_variance)
    y = layer(x, training=True)
    added = tf.identity(layer.moving_variance) - old
    rows = tf.cast(tf.size(x) / node["shape"][-1], tf.float32)
    less = (rows - 1) / rows
    layer.moving_variance.assign(old + (added / less if node["unbiased"] else added * less))
    return y


def _lstm(layer, node, inputs, context):
    values, name, x = context.values, node["name"], inputs[0]
    mask = tf.sequence_mask(values[node["lengths"]], x.shape[1]) if node["lengths"] else None
    initial = [values[source] for source in node["initial"]] if node["initial"] else None
    y, h, c = layer(x, mask=mask, initial_state=initial, training=context.training)
    values[name + ":h"], values[name + ":c"] = h, c
    if node["output"] == "sequence" and mask is not None:
        y = y * tf.cast(mask, y.dtype)[:, :, None]  # Keras repeats the last output
    return y


OPERATIONS = {
    "conv2d": _conv2d,
    "maxpool": nn.max_pool,
    "avgpool": nn.average_pool,
    "globalmaxpool": nn.global_max_pool,
    "globalavgpool": nn.global_average_pool,
    "batchnorm": _batchnorm,
    "dense": lambda layer, node, inputs, context: layer(inputs[0]),
    "embedding": lambda layer, node, inputs, context: layer(inputs[0]),
    "lstm": _lstm,
    "dropout": lambda layer, node, inputs, context: layer(inputs[0], training=context.training),
    "relu": nn.relu,
    "tanh": nn.tanh,
    "sigmoid": nn.sigmoid,
    "softmax": nn.softmax,
    "flatten": nn.flatten,
    "add": nn.add,
    "concat": nn.concat,
    "affine": regions.affine,
    "proposals": regions.proposals,
    "roialign": regions.roi_align,
}


# ---- weights ------------------------------------------------------------------------------------


def variables_of(node, layer):
    """{canonical parameter: variable}."""
    if node["op"] == "embedding":
        return {"table": layer.embeddings}
    if node["op"] == "lstm":
        return {
            "input_kernel": layer.cell.kernel,
            "recurrent_kernel": layer.cell.recurrent_kernel,
            "bias": layer.cell.bias,
        }
    return nn.variables_of(node, layer)
