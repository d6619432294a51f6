"""JAX: flax nnx modules, optax, one jitted step whose state is donated. Images are NHWC.

Canonical weights go in as they are.
"""

import functools
import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from bench.adapters.base import Model, shapes_of
from bench.formats import Unsupported
from bench.weights import is_decayed

VARIANTS = ("jit",)


def set_up(options):
    if options.threads:
        # XLA's pool on the CPU is made at the first use and has no other setting
        os.environ["NPROC"] = str(options.threads)
    jax.config.update("jax_platforms", "cpu" if options.device == "cpu" else "cuda")
    try:
        jax.devices()
    except RuntimeError:
        raise Unsupported("this JAX sees no GPU")
    # no TF32 on a GPU where models are to be equal
    precision = "float32" if options.setting == "matched" else None
    jax.config.update("jax_default_matmul_precision", precision)


def describe():
    return {
        "framework": "jax",
        "version": jax.__version__,
        "threads": int(os.environ.get("NPROC") or len(os.sched_getaffinity(0))),
        "kernels": {
            "platform": jax.default_backend(),
            "xla": jax.devices()[0].client.platform_version,
            "matmul_precision": jax.config.jax_default_matmul_precision,
        },
    }


def build(graph, recipe, options):
    return JaxModel(graph, recipe, options)


# ---- layers -------------------------------------------------------------------------------------


def _layer(node, features, native, rngs):
    """The module of a node that has parameters or a mode; None for a pure function."""
    op = node["op"]
    if op == "conv2d":
        return nnx.Conv(
            features,
            node["filters"],
            tuple(node["kernel"]),
            tuple(node["stride"]),
            padding=_padding(node),
            use_bias=node["bias"],
            rngs=rngs,
        )
    if op == "dense":
        return nnx.Linear(features, node["units"], use_bias=node["bias"], rngs=rngs)
    if op == "batchnorm":
        if native:
            return nnx.BatchNorm(features, rngs=rngs)
        return nnx.BatchNorm(features, momentum=node["keep"], epsilon=node["epsilon"], rngs=rngs)
    if op == "embedding":
        return nnx.Embed(node["vocabulary"], node["units"], rngs=rngs)
    if op == "lstm":
        cell = nnx.OptimizedLSTMCell(features, node["units"], rngs=rngs)
        return nnx.RNN(cell, return_carry=True, rngs=False)
    if op == "dropout":
        return nnx.Dropout(node["rate"], rngs=rngs)
    return None


def _padding(node):
    return [tuple(pad) for pad in node["padding"]]


class Net(nnx.Module):
    """The graph as a module: its layers by node, run in the graph's order."""

    def __init__(self, graph, native, rngs):
        self._native = native
        self.layers = nnx.Dict()
        shapes = shapes_of(graph)
        for node in graph["nodes"]:
            source = shapes[node["inputs"][0]]
            layer = _layer(node, source[-1] if source else 0, native, rngs)
            if layer is not None:
                self.layers[node["name"]] = layer

    def __call__(self, graph, inputs, training):
        values = dict(inputs)
        for node in graph["nodes"]:
            self._run(node, values, training)
        return values

    def _run(self, node, values, training):
        op, name = node["op"], node["name"]
        x = values[node["inputs"][0]]
        if op in ("conv2d", "dense", "embedding"):
            y = self.layers[name](x)
        elif op == "dropout":
            y = self.layers[name](x, deterministic=not training)
        elif op == "batchnorm":
            y = self._batchnorm(node, x, training)
        elif op == "maxpool":
            y = nnx.max_pool(x, tuple(node["size"]), tuple(node["stride"]), _padding(node))
        elif op == "avgpool":
            size, stride = tuple(node["size"]), tuple(node["stride"])
            y = nnx.avg_pool(x, size, stride, _padding(node), count_include_pad=False)
        elif op == "globalavgpool":
            y = x.mean((1, 2))
        elif op == "globalmaxpool":
            y = x.max((1, 2))
        elif op == "lstm":
            y = self._lstm(node, x, values)
        elif op in ("relu", "tanh", "sigmoid"):
            y = getattr(nnx, op)(x)
        elif op == "flatten":
            y = x.reshape(x.shape[0], -1)
        elif op == "add":
            y = sum((values[source] for source in node["inputs"][1:]), x)
        elif op == "concat":
            y = jnp.concatenate([values[source] for source in node["inputs"]], -1)
        else:
            raise Unsupported("no {} in the JAX adapter".format(op))
        values[name] = y

    def _batchnorm(self, node, x, training):
        layer = self.layers[node["name"]]
        kept = layer.var[...] * node["keep"]
        y = layer(x, use_running_average=not training)
        if training and node["unbiased"] and not self._native:
            # flax keeps the biased variance: put the factor n/(n-1) into what it has added
            rows = x.size // x.shape[-1]
            layer.var[...] = kept + (layer.var[...] - kept) * (rows / (rows - 1))
        return y

    def _lstm(self, node, x, values):
        zeros = jnp.zeros((x.shape[0], node["units"]), x.dtype)
        h, c = [values[name] for name in node["initial"]] if node["initial"] else (zeros, zeros)
        lengths = values[node["lengths"]] if node["lengths"] else None
        (c, h), sequence = self.layers[node["name"]](x, initial_carry=(c, h), seq_lengths=lengths)
        values[node["name"] + ":h"], values[node["name"] + ":c"] = h, c
        if node["output"] == "last":
            return h
        if lengths is not None:
            steps = jnp.arange(x.shape[1])
            sequence = sequence * (steps < lengths[:, None])[:, :, None]
        return sequence


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
            "gamma": layer.scale,
            "beta": layer.bias,
            "mean": layer.mean,
            "variance": layer.var,
        }
    if op == "embedding":
        return {"table": layer.embedding}
    return {
        "input_kernel": layer.cell.dense_i.kernel,
        "recurrent_kernel": layer.cell.dense_h.kernel,
        "bias": layer.cell.dense_h.bias,
    }


# ---- loss and optimiser -------------------------------------------------------------------------


def _loss(spec, values, batch):
    output, target = values[spec["output"]], batch[spec["target"]]
    places = {
        "softmax-cross-entropy": optax.softmax_cross_entropy_with_integer_labels,
        "sigmoid-cross-entropy": optax.sigmoid_binary_cross_entropy,
        "mean-squared-error": optax.squared_error,
        "mean-absolute-error": lambda output, target: jnp.abs(output - target),
    }[spec["name"]](output, target)
    if spec["mask"] is None:
        return places.mean()
    mask = batch[spec["mask"]].astype(places.dtype)
    return (places * mask).sum() / mask.sum()


def _optimizer(recipe, decayed, native):
    o = recipe["optimizer"]
    if o["name"] == "sgd":
        rule = optax.sgd(o["lr"], momentum=o["momentum"], nesterov=o["nesterov"])
    elif o["name"] == "adam":
        explicit = {} if native else {"b1": o["beta1"], "b2": o["beta2"], "eps": o["epsilon"]}
        rule = optax.adam(o["lr"], **explicit)
    else:
        explicit = {} if native else {"rho": o["rho"], "eps": o["epsilon"]}
        rule = optax.adadelta(o["lr"], **explicit)
    decay = o.get("weight_decay", 0.0)
    return optax.chain(optax.add_decayed_weights(decay, decayed), rule) if decay else rule


# ---- model --------------------------------------------------------------------------------------


class JaxModel(Model):
    """The module taken apart into pure state, which jitted functions take and give back."""

    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        native = options.setting == "native"
        net = Net(graph, native, nnx.Rngs(options.seed))
        self._split(net)
        self._optimizer = _optimizer(recipe, None if native else self._decayed(), native)
        self._slots = self._optimizer.init(self._params)
        self.path = {
            "loop": "jit, state donated, compiled once for each size of batch",
            "layout": "NHWC",
            "lstm": "nnx.RNN of OptimizedLSTMCell: a scan",
            "optimizer": "optax's defaults" if native else "explicit",
            "weight decay": "on every parameter" if native else "on kernels and tables",
            "batchnorm": "flax's defaults, biased" if native else "explicit",
        }

    def _split(self, net):
        self._structure, self._params, self._others = nnx.split(net, nnx.Param, ...)

    def _net(self, params=None):
        return nnx.merge(self._structure, self._params if params is None else params, self._others)

    def _each_variable(self, net):
        for node in self._graph["nodes"]:
            if node["parameters"]:
                for name, variable in _variables(node, net.layers[node["name"]]).items():
                    yield node["name"], name, variable

    def _decayed(self):
        """True or False in the place of every parameter."""
        net = self._net(jax.tree.map(lambda _: False, self._params))
        for _, name, variable in self._each_variable(net):
            if isinstance(variable, nnx.Param):
                variable.set_value(is_decayed(name))
        return nnx.state(net, nnx.Param)

    def _loss_of(self, params, others, batch):
        net = nnx.merge(self._structure, params, others, copy=True)
        values = net(self._graph, batch, training=True)
        loss = sum(spec["weight"] * _loss(spec, values, batch) for spec in self._recipe["losses"])
        return loss, nnx.state(net, nnx.Not(nnx.Param))

    @functools.partial(jax.jit, static_argnums=0, donate_argnums=(1, 2, 3))
    def _step(self, params, others, slots, batch):
        differentiate = jax.value_and_grad(self._loss_of, has_aux=True)
        (loss, others), gradients = differentiate(params, others, batch)
        updates, slots = self._optimizer.update(gradients, slots, params)
        return loss, optax.apply_updates(params, updates), others, slots

    def _outputs(self, params, others, inputs):
        values = nnx.merge(self._structure, params, others)(self._graph, inputs, False)
        return {name: values[name] for name in self._graph["outputs"]}

    def train_step(self, batch):
        loss, self._params, self._others, self._slots = self._step(
            self._params, self._others, self._slots, batch
        )
        return loss

    def losses(self, handles):
        return [float(loss) for loss in jax.device_get(list(handles))]

    def _inputs(self, batch):
        return {spec["name"]: batch[spec["name"]] for spec in self._graph["inputs"]}

    def predict(self, batch):
        if not hasattr(self, "_predict"):
            self._predict = jax.jit(self._outputs)
        return jax.device_get(self._predict(self._params, self._others, self._inputs(batch)))

    def activations(self, batch, training=False):
        net = self._net()
        values = net(self._graph, self._inputs(batch), training)
        _, _, self._others = nnx.split(net, nnx.Param, ...)  # dropout draws anew the next time
        return {node["name"]: np.asarray(values[node["name"]]) for node in self._graph["nodes"]}

    def gradients(self, batch):
        differentiate = jax.jit(jax.value_and_grad(self._loss_of, has_aux=True))
        (loss, _), gradients = differentiate(self._params, self._others, batch)
        found = {}
        for node, name, variable in self._each_variable(self._net(gradients)):
            if isinstance(variable, nnx.Param):
                found.setdefault(node, {})[name] = np.array(variable[...])
        return float(loss), found

    def weights(self):
        found = {}
        for node, name, variable in self._each_variable(self._net()):
            found.setdefault(node, {})[name] = np.array(variable[...])
        return found

    def load(self, weights):
        net = self._net()
        for node, name, variable in self._each_variable(net):
            variable[...] = jnp.array(weights[node][name])
        self._split(net)

    def sync(self):
        jax.block_until_ready((self._params, self._others))

    def save_native(self, folder):
        from orbax import checkpoint

        model = nnx.state(self._net(), (nnx.Param, nnx.BatchStat))
        with checkpoint.StandardCheckpointer() as saver:
            for name, state in (("model", model), ("optimizer", self._slots)):
                saver.save(os.path.join(os.path.abspath(folder), name), nnx.as_pure(state))
