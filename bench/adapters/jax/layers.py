"""The graph as nnx modules: one function for each op, and where each layer keeps its weights."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import lax

from bench import host
from bench.ops import extras_of, shapes_of


class Net(nnx.Module):
    """The graph as a module: its layers by node, run in the graph's order."""

    def __init__(self, graph, native, rngs):
        self.native = native
        self.layers = nnx.Dict()
        shapes = shapes_of(graph)
        for node in graph["nodes"]:
            if node["op"] in LAYERS:
                source = shapes[node["inputs"][0]]
                layer = LAYERS[node["op"]](node, source[-1] if source else 0, native, rngs)
                self.layers[key_of(node)] = layer

    def layer(self, node):
        return self.layers[key_of(node)]

    def __call__(self, inputs, nodes, training, operations):
        """Every value by name; the compiler lets go of those that nobody reads."""
        values = dict(inputs)
        for node in nodes:
            read = [values[source] for source in node["inputs"]]
            values[node["name"]] = operations[node["op"]](self, node, read, values, training)
        return values


def key_of(node):
    """A name that no attribute of a module has, whatever the node is called."""
    return "node_" + node["name"]


# ---- layers: what has parameters or a mode ------------------------------------------------------


def _blank(native, *names):
    """Initialisers of what is loaded before anything is done with it: XLA takes a second to compile
    what would draw the weights of one shape."""
    return {} if native else dict.fromkeys(names, _zeros)


def _zeros(key, shape, dtype, **settings):
    return jnp.asarray(np.zeros(shape, dtype))


def _conv2d_layer(node, features, native, rngs):
    return nnx.Conv(
        features,
        node["filters"],
        tuple(node["kernel"]),
        tuple(node["stride"]),
        padding=_padding(node),
        use_bias=node["bias"],
        rngs=rngs,
        **_blank(native, "kernel_init"),
    )


def _batchnorm_layer(node, features, native, rngs):
    if native:
        return nnx.BatchNorm(features, rngs=rngs)
    # flax's default, E[x^2] - E[x]^2, is off by 3e-4 where a mean is far from zero; the others'
    # variance is not. The accurate one costs 3 % of a step of convolutions and norms
    return nnx.BatchNorm(
        features,
        momentum=node["keep"],
        epsilon=node["epsilon"],
        use_fast_variance=False,
        rngs=rngs,
    )


def _dense_layer(node, features, native, rngs):
    settings = _blank(native, "kernel_init")
    return nnx.Linear(features, node["units"], use_bias=node["bias"], rngs=rngs, **settings)


def _embedding_layer(node, features, native, rngs):
    settings = _blank(native, "embedding_init")
    return nnx.Embed(node["vocabulary"], node["units"], rngs=rngs, **settings)


def _lstm_layer(node, features, native, rngs):
    settings = _blank(native, "kernel_init", "recurrent_kernel_init")
    cell = nnx.OptimizedLSTMCell(features, node["units"], rngs=rngs, **settings)
    return nnx.RNN(cell, return_carry=True, rngs=False)


def _padding(node):
    return [tuple(pad) for pad in node["padding"]]


class Affine(nnx.Module):
    """A factor and an offset a channel that never learn."""

    def __init__(self, features):
        self.scale, self.offset = (nnx.Variable(f(features)) for f in (jnp.ones, jnp.zeros))

    def __call__(self, x):
        return x * self.scale[...] + self.offset[...]


LAYERS = {
    "conv2d": _conv2d_layer,
    "batchnorm": _batchnorm_layer,
    "dense": _dense_layer,
    "embedding": _embedding_layer,
    "lstm": _lstm_layer,
    "affine": lambda node, features, native, rngs: Affine(features),
    "dropout": lambda node, features, native, rngs: nnx.Dropout(node["rate"], rngs=rngs),
}


# ---- operations ---------------------------------------------------------------------------------


def _apply_layer(net, node, inputs, values, training):
    return net.layer(node)(inputs[0])


def _maxpool(net, node, inputs, values, training):
    return nnx.max_pool(inputs[0], tuple(node["size"]), tuple(node["stride"]), _padding(node))


def _avgpool(net, node, inputs, values, training):
    size, stride = tuple(node["size"]), tuple(node["stride"])
    return nnx.avg_pool(inputs[0], size, stride, _padding(node), count_include_pad=False)


def _globalmaxpool(net, node, inputs, values, training):
    # The gradient of max goes where a value equals the maximum. Where XLA computes the values a
    # second time for that, rounded otherwise, none does, and it divides 0 by 0: seen in 0.12.0.1
    # behind a batch normalisation, at XLA's optimisation level 0 only. The barrier prevents it
    return lax.optimization_barrier(inputs[0]).max((1, 2))


def _batchnorm(net, node, inputs, values, training):
    layer, x = net.layer(node), inputs[0]
    kept = layer.var[...] * node["keep"]
    y = layer(x, use_running_average=not training)
    if training and node["unbiased"] and not net.native:
        # flax keeps the biased variance: the factor n/(n-1) is put on what it has added
        rows = x.size // x.shape[-1]
        layer.var[...] = kept + (layer.var[...] - kept) * (rows / (rows - 1))
    return y


def _lstm(net, node, inputs, values, training):
    name, x = node["name"], inputs[0]
    zeros = jnp.zeros((x.shape[0], node["units"]), x.dtype)
    h, c = [values[source] for source in node["initial"]] if node["initial"] else (zeros, zeros)
    lengths = values[node["lengths"]] if node["lengths"] else None
    (c, h), sequence = net.layer(node)(x, initial_carry=(c, h), seq_lengths=lengths)
    values[name + ":h"], values[name + ":c"] = h, c
    if node["output"] == "last":
        return h
    if lengths is not None:
        steps = jnp.arange(x.shape[1])
        sequence = sequence * (steps < lengths[:, None])[:, :, None]
    return sequence


def _dropout(net, node, inputs, values, training):
    return net.layer(node)(inputs[0], deterministic=not training)


def _proposals(net, node, inputs, values, training):
    rows, columns = inputs[0].shape[1:3]
    shapes = host.shapes_of(node, rows, columns, training)
    shapes = [jax.ShapeDtypeStruct(shape, kind) for shape, kind in shapes]
    read = [lax.stop_gradient(x) for x in inputs]
    made = jax.pure_callback(lambda *arrays: host.call(node, arrays, training), shapes, *read)
    values.update(zip(extras_of(node), made[1:]))
    return made[0]


def _roialign(net, node, inputs, values, training):
    """Two products for all regions together: rows first, then columns."""
    image, wy, wx = inputs
    _, height, width, channels = image.shape
    rows, pool = wy.shape[:2]
    across = wy.reshape(-1, height) @ image[0].transpose(0, 2, 1).reshape(height, -1)
    cells = jnp.matmul(across.reshape(rows, pool * channels, width), wx.transpose(0, 2, 1))
    return cells.reshape(rows, pool, channels, pool).transpose(0, 1, 3, 2)


def _flatten(net, node, inputs, values, training):
    return inputs[0].reshape(inputs[0].shape[0], -1)


OPERATIONS = {
    "conv2d": _apply_layer,
    "maxpool": _maxpool,
    "avgpool": _avgpool,
    "globalmaxpool": _globalmaxpool,
    "globalavgpool": lambda net, node, inputs, values, training: inputs[0].mean((1, 2)),
    "batchnorm": _batchnorm,
    "dense": _apply_layer,
    "embedding": _apply_layer,
    "lstm": _lstm,
    "dropout": _dropout,
    "relu": lambda net, node, inputs, values, training: nnx.relu(inputs[0]),
    "tanh": lambda net, node, inputs, values, training: nnx.tanh(inputs[0]),
    "sigmoid": lambda net, node, inputs, values, training: nnx.sigmoid(inputs[0]),
    "softmax": lambda net, node, inputs, values, training: nnx.softmax(inputs[0]),
    "flatten": _flatten,
    "add": lambda net, node, inputs, values, training: sum(inputs[1:], inputs[0]),
    "concat": lambda net, node, inputs, values, training: jnp.concatenate(inputs, -1),
    "affine": _apply_layer,
    "proposals": _proposals,
    "roialign": _roialign,
}


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
            "gamma": layer.scale,
            "beta": layer.bias,
            "mean": layer.mean,
            "variance": layer.var,
        }
    if op == "embedding":
        return {"table": layer.embedding}
    if op == "affine":
        return {"scale": layer.scale, "offset": layer.offset}
    return {
        "input_kernel": layer.cell.dense_i.kernel,
        "recurrent_kernel": layer.cell.dense_h.kernel,
        "bias": layer.cell.dense_h.bias,
    }
