"""Theano: Lasagne's layers and updates, compiled functions. Images are NCHW inside."""

import os
from collections import OrderedDict

import numpy as np

from bench.adapters import theano_layers as own  # imports Theano as it has to be
from bench.adapters import theano_setup
from bench.adapters.base import Model, cells_read
from bench.adapters.channels_first import Layout, kernel_in, kernel_out, symmetric, value_in
from bench.adapters.theano_layers import L, T, lasagne, theano
from bench.formats import Unsupported
from bench.weights import is_decayed, is_state

VARIANTS = ("function",)


def set_up(options):
    if options.device != "cpu":
        raise Unsupported("Theano's GPU back end (pygpu) is not on the package index")
    if not theano.config.cxx:
        raise Unsupported("Theano compiles its functions and finds no g++")
    # threads: OpenBLAS and OpenMP read their variables, theano_setup turns OpenMP on
    np.random.seed(options.seed)
    lasagne.random.set_rng(np.random.RandomState(options.seed))


def describe():
    library = theano_setup.blas()
    return {
        "framework": "theano",
        "version": theano.__version__,
        "threads": theano_setup.blas_threads(),
        "kernels": {
            "blas": os.path.basename(library) if library else "none: Theano's own code",
            "openmp": bool(theano.config.openmp),
            "compiler": "g++ " + str(theano.gof.cmodule.gcc_version()),
        },
    }


def build(graph, recipe, options):
    return TheanoModel(graph, recipe, options)


# ---- layers -------------------------------------------------------------------------------------


class Net:
    """The graph as Lasagne layers, by node; `NAME:h` and `NAME:c` are an LSTM's final states."""

    def __init__(self, graph, layout, native):
        self._layout, self._native = layout, native
        self.inputs = {
            spec["name"]: T.TensorType(spec["dtype"], [False] * (len(spec["shape"]) + 1))(
                spec["name"]
            )
            for spec in graph["inputs"]
        }
        self.layers = {
            spec["name"]: L.InputLayer(_shape(spec), self.inputs[spec["name"]])
            for spec in graph["inputs"]
        }
        self._weighted = {}
        self._cells_read = cells_read(graph)
        for node in graph["nodes"]:
            self._add(node)

    def weighted(self, node):
        """The layer that holds a node's parameters."""
        return self._weighted[node["name"]]

    def outputs(self, names, deterministic):
        """Expressions of these nodes."""
        layers = [self.layers[name] for name in names]
        return L.get_output(layers, deterministic=deterministic)

    def batchnorms(self):
        return [layer for layer in self._weighted.values() if isinstance(layer, own.BatchNorm)]

    def _add(self, node):
        op, name = node["op"], node["name"]
        sources = [self.layers[source] for source in node["inputs"]]
        x = sources[0]
        if op == "conv2d":
            y = self._weighted[name] = own.Convolution(x, node)
        elif op == "dense":
            y = self._dense(node, x)
        elif op == "batchnorm":
            y = self._weighted[name] = own.BatchNorm(x, node, self._native)
        elif op == "embedding":
            y = L.EmbeddingLayer(x, node["vocabulary"], node["units"])
            self._weighted[name] = y
        elif op == "lstm":
            y = self._lstm(node, x)
        elif op == "maxpool":
            y = self._maxpool(node, x)
        elif op == "avgpool":
            y = _average_pool(node, x)
        elif op == "globalavgpool":
            y = L.GlobalPoolLayer(x, pool_function=T.mean)
        elif op == "globalmaxpool" and self._native:
            y = L.GlobalPoolLayer(x, pool_function=T.max)
        elif op == "globalmaxpool":
            y = own.Expression([x], own.globalmaxpool, node["shape"])
        elif op == "dropout":
            y = L.DropoutLayer(x, p=node["rate"])
        elif op == "relu":
            rectify = lasagne.nonlinearities.rectify if self._native else own.rectify
            y = L.NonlinearityLayer(x, rectify)
        elif op in ("tanh", "sigmoid"):
            y = L.NonlinearityLayer(x, getattr(lasagne.nonlinearities, op))
        elif op == "flatten":
            if len(x.output_shape) == 4 and not self._layout.keeps_order(name):
                x = L.DimshuffleLayer(x, (0, 2, 3, 1))
            y = L.FlattenLayer(x)
        elif op == "add":
            y = L.ElemwiseSumLayer(sources)
        elif op == "concat":
            y = L.ConcatLayer(sources, axis=1 if len(node["shape"]) == 3 else len(node["shape"]))
        else:
            raise Unsupported("no {} in the Theano adapter".format(op))
        self.layers[name] = y

    def _dense(self, node, x):
        shape = x.output_shape
        if len(shape) > 2:  # a sequence: Lasagne's layer knows rows of features alone
            x = L.ReshapeLayer(x, (-1, shape[-1]))
        given = {} if node["bias"] else {"b": None}
        y = L.DenseLayer(x, node["units"], nonlinearity=None, **given)
        self._weighted[node["name"]] = y
        return y if len(shape) == 2 else L.ReshapeLayer(y, (-1,) + tuple(node["shape"]))

    def _maxpool(self, node, x):
        if not self._native:
            return own.Expression([x], lambda v: own.maxpool(node, v), _channels_first(node))
        pad = [p[0] for p in node["padding"]]
        if not symmetric(node["padding"]):
            x, pad = L.PadLayer(x, [tuple(p) for p in node["padding"]], val=-np.inf), (0, 0)
        return L.MaxPool2DLayer(x, node["size"], node["stride"], pad)

    def _lstm(self, node, x):
        name, units = node["name"], node["units"]
        mask = None
        if node["lengths"]:
            steps = x.output_shape[1]
            mask = own.Expression(
                [self.layers[node["lengths"]]],
                lambda lengths: T.cast(T.arange(steps) < lengths.dimshuffle(0, "x"), "float32"),
                (steps,),
            )
        if node["initial"] or name in self._cells_read:
            initial = [self.layers[source] for source in node["initial"] or []] or None
            both = self._weighted[name] = own.StatefulLSTM(x, units, mask, initial)
            sequence = L.SliceLayer(both, slice(0, units), axis=2)
            cells = L.SliceLayer(both, slice(units, 2 * units), axis=2)
            self.layers[name + ":c"] = L.SliceLayer(cells, -1, axis=1)
        else:
            sequence = self._weighted[name] = L.LSTMLayer(
                x, units, peepholes=self._native, mask_input=mask
            )
        # behind the true length a state stands still: the last is the true one
        self.layers[name + ":h"] = L.SliceLayer(sequence, -1, axis=1)
        if node["output"] == "last":
            return self.layers[name + ":h"]
        if mask is None:
            return sequence
        return own.Expression(
            [sequence, mask], lambda y, m: y * m.dimshuffle(0, 1, "x"), node["shape"]
        )


def _channels_first(node):
    height, width, channels = node["shape"]
    return channels, height, width


def _shape(spec):
    shape = spec["shape"]
    return (None, shape[2], shape[0], shape[1]) if len(shape) == 3 else (None,) + tuple(shape)


def _average_pool(node, x):
    if not any(map(any, node["padding"])):
        return L.Pool2DLayer(x, node["size"], node["stride"], mode="average_exc_pad")
    size = x.output_shape[2:]
    return own.Expression([x], lambda v: own.average_pool(node, v, size), _channels_first(node))


# ---- weights ------------------------------------------------------------------------------------

_GATES = ("ingate", "forgetgate", "cell", "outgate")  # the graph's i, f, g, o


def _variables(node, layer):
    """{canonical parameter: shared variables}, which side by side make it up."""
    if node["op"] in ("conv2d", "dense"):
        variables = {"kernel": [layer.W]}
        if node["bias"]:
            variables["bias"] = [layer.b]
        return variables
    if node["op"] == "batchnorm":
        return {name: [getattr(layer, name)] for name in ("gamma", "beta", "mean", "variance")}
    if node["op"] == "embedding":
        return {"table": [layer.W]}
    if isinstance(layer, own.StatefulLSTM):
        return {"input_kernel": [layer.W_in], "recurrent_kernel": [layer.W_hid], "bias": [layer.b]}
    return {
        name: [getattr(layer, prefix + gate) for gate in _GATES]
        for name, prefix in (
            ("input_kernel", "W_in_to_"),
            ("recurrent_kernel", "W_hid_to_"),
            ("bias", "b_"),
        )
    }


def _to_theano(node, name, value, layout):
    if node["op"] == "conv2d" and name == "kernel":
        return kernel_in(value)[:, :, ::-1, ::-1]  # Theano convolves, the graph correlates
    if node["op"] == "dense" and name == "kernel":
        return layout.dense_in(node["name"], value)
    return value


def _from_theano(node, name, value, layout):
    if node["op"] == "conv2d" and name == "kernel":
        return kernel_out(value[:, :, ::-1, ::-1])
    if node["op"] == "dense" and name == "kernel":
        return layout.dense_out(node["name"], value)
    return value


# ---- loss and optimiser -------------------------------------------------------------------------


def _loss(spec, output, batch):
    target, name = batch[spec["target"]], spec["name"]
    if name == "softmax-cross-entropy":
        flat = output.reshape((-1, output.shape[-1])) if output.ndim > 2 else output
        # Theano makes one stable operation of the two
        places = lasagne.objectives.categorical_crossentropy(
            lasagne.nonlinearities.softmax(flat), target.flatten()
        ).reshape(target.shape)
    elif name == "sigmoid-cross-entropy":
        # Theano's own function for it has no gradient in 1.0.2
        places = T.nnet.softplus(output) - target * output
    elif name == "mean-squared-error":
        places = lasagne.objectives.squared_error(output, target)
    else:
        places = abs(output - target)
    if spec["mask"] is None:
        return lasagne.objectives.aggregate(places, mode="mean")
    mask = T.cast(batch[spec["mask"]], "float32")
    return lasagne.objectives.aggregate(places, mask, mode="normalized_sum")


def _target(spec, shapes):
    """The variable of a loss's target."""
    shape = shapes[spec["output"]]
    whole = spec["name"] == "softmax-cross-entropy"
    kind = ("int32", len(shape)) if whole else ("float32", len(shape) + 1)
    return T.TensorType(kind[0], [False] * kind[1])(spec["target"])


def _updates(optimizer, gradients, parameters, native):
    """New values of the parameters and of the optimiser's state, by Lasagne."""
    o, rate = optimizer, optimizer["lr"]
    if o["name"] == "sgd":
        if not o["momentum"]:
            return lasagne.updates.sgd(gradients, parameters, rate)
        rule = lasagne.updates.nesterov_momentum if o["nesterov"] else lasagne.updates.momentum
        return rule(gradients, parameters, rate, o["momentum"])
    if o["name"] == "adadelta":
        explicit = {} if native else {"rho": o["rho"], "epsilon": o["epsilon"]}
        return lasagne.updates.adadelta(gradients, parameters, rate, **explicit)
    if native:
        return lasagne.updates.adam(gradients, parameters, rate)
    # Lasagne's epsilon stands inside the bias correction: this one takes that back at each step
    steps = theano.shared(np.float32(0), "steps")
    epsilon = o["epsilon"] * T.sqrt(1 - o["beta2"] ** (steps + 1))
    updates = lasagne.updates.adam(gradients, parameters, rate, o["beta1"], o["beta2"], epsilon)
    updates[steps] = steps + 1
    return updates


# ---- model --------------------------------------------------------------------------------------


class TheanoModel(Model):
    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        self._native = options.setting == "native"
        self._layout = Layout(graph)
        self._net = Net(graph, self._layout, self._native)
        self._nodes = [node for node in graph["nodes"] if node["parameters"]]
        heads = [self._net.layers[name] for name in graph["outputs"]]
        self._parameters = L.get_all_params(heads, trainable=True)
        self._state = []
        shapes = {node["name"]: node["shape"] for node in graph["nodes"]}
        self._batch = OrderedDict(self._net.inputs)
        for spec in recipe["losses"]:
            target = self._batch.setdefault(spec["target"], _target(spec, shapes))
            if spec["mask"]:
                mask = T.TensorType("float32", [False] * target.ndim)(spec["mask"])
                self._batch.setdefault(spec["mask"], mask)
        self._compiled = {}
        self.path = {
            "loop": "theano.function with updates",
            "layers": "Lasagne " + lasagne.__version__,
            "layout": "NCHW, filters turned around",
            "lstm": "scan",
        }
        self.path.update(_NATIVE if self._native else _HELPED)

    # ---- what is compiled, each when it is first needed

    def _function(self, name):
        if name not in self._compiled:
            self._compiled[name] = getattr(self, "_compile_" + name)()
        return self._compiled[name]

    def _compile_step(self):
        loss = self._loss()
        statistics = [update for layer in self._net.batchnorms() for update in layer.updates]
        decay = self._recipe["optimizer"].get("weight_decay", 0.0)
        decayed = {variable for _, name, variable in self._trained() if is_decayed(name)}
        gradients = [
            gradient + decay * parameter if decay and parameter in decayed else gradient
            for parameter, gradient in zip(self._parameters, T.grad(loss, self._parameters))
        ]
        updates = _updates(self._recipe["optimizer"], gradients, self._parameters, self._native)
        self._state = [variable for variable in updates if variable not in self._parameters]
        updates.update(statistics)
        return theano.function(list(self._batch.values()), loss, updates=updates)

    def _compile_predict(self):
        outputs = self._net.outputs(self._graph["outputs"], deterministic=True)
        return self._forward(outputs)

    def _compile_evaluated(self):
        names = [node["name"] for node in self._graph["nodes"]]
        return self._forward(self._net.outputs(names, deterministic=True))

    def _compile_trained(self):
        names = [node["name"] for node in self._graph["nodes"]]
        return self._forward(self._net.outputs(names, deterministic=False))

    def _compile_gradients(self):
        loss = self._loss()
        variables = [variable for _, _, variable in self._trained()]
        return theano.function(list(self._batch.values()), [loss] + T.grad(loss, variables))

    def _forward(self, outputs):
        inputs = list(self._net.inputs.values())
        return theano.function(inputs, outputs, on_unused_input="ignore")

    def _loss(self):
        names = [spec["output"] for spec in self._recipe["losses"]]
        outputs = self._net.outputs(names, deterministic=False)
        return sum(
            spec["weight"] * _loss(spec, output, self._batch)
            for spec, output in zip(self._recipe["losses"], outputs)
        )

    def _trained(self):
        """(node, canonical name, variable) of everything that learns."""
        for node in self._nodes:
            for name, variables in sorted(_variables(node, self._net.weighted(node)).items()):
                if not is_state(node, name):
                    for variable in variables:
                        yield node, name, variable

    # ---- what a model does

    def _values(self, batch, names):
        return [value_in(batch[name]).astype(self._batch[name].dtype, copy=False) for name in names]

    def train_step(self, batch):
        return self._function("step")(*self._values(batch, self._batch))

    def losses(self, handles):
        return [float(loss) for loss in handles]

    def predict(self, batch):
        return self._run("predict", batch, self._graph["outputs"])

    def activations(self, batch, training=False):
        names = [node["name"] for node in self._graph["nodes"]]
        return self._run("trained" if training else "evaluated", batch, names)

    def _run(self, function, batch, names):
        values = self._function(function)(*self._values(batch, self._net.inputs))
        return {name: self._layout.value_out(name, v) for name, v in zip(names, values)}

    def gradients(self, batch):
        values = self._function("gradients")(*self._values(batch, self._batch))
        parts = OrderedDict()
        for (node, name, _), value in zip(self._trained(), values[1:]):
            parts.setdefault(node["name"], (node, OrderedDict()))[1].setdefault(name, []).append(
                value
            )
        return float(values[0]), {
            key: {
                name: _from_theano(node, name, np.concatenate(pieces, axis=-1), self._layout)
                for name, pieces in found.items()
            }
            for key, (node, found) in parts.items()
        }

    def weights(self):
        return {
            node["name"]: {
                name: _from_theano(
                    node,
                    name,
                    np.concatenate([variable.get_value() for variable in variables], axis=-1),
                    self._layout,
                )
                for name, variables in _variables(node, self._net.weighted(node)).items()
            }
            for node in self._nodes
        }

    def load(self, weights):
        for node in self._nodes:
            for name, variables in _variables(node, self._net.weighted(node)).items():
                value = _to_theano(node, name, weights[node["name"]][name], self._layout)
                for variable, piece in zip(variables, np.split(value, len(variables), axis=-1)):
                    variable.set_value(np.ascontiguousarray(piece, np.float32))

    def sync(self):
        """A function returns when it is done; what is not yet compiled is compiled now."""
        self._function("step")
        self._function("predict")

    def save_native(self, folder):
        heads = [self._net.layers[name] for name in self._graph["outputs"]]
        np.savez(os.path.join(folder, "model.npz"), *L.get_all_param_values(heads))
        state = [variable.get_value() for variable in self._state]
        np.savez(os.path.join(folder, "optimizer.npz"), *state)


_HELPED = {
    "ties": "helped: a maximum's gradient goes to one place, that of relu at 0 is 0",
    "adam": "epsilon helped each step",
}
_NATIVE = {
    "ties": "a maximum's gradient goes to every place that has it; that of relu at 0 is 1/2",
    "adam": "betas .9, .999, epsilon 1e-8 inside the bias correction",
    "adadelta": "rho .95, epsilon 1e-6",
    "batchnorm": "keep .9, epsilon 1e-4, unbiased",
    "peepholes": "on; the output gate's is added behind the sigmoid",
}
