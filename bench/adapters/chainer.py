"""Chainer: links and functions, define-by-run; on a CPU all of it is NumPy. Images are NCHW."""

import math
import os

import chainer
import numpy as np
from chainer import functions as F
from chainer import links as L
from chainer.backends import cuda, intel64

from bench.adapters.base import Model, shapes_of, spent_after
from bench.adapters.chainer_optimizers import AdaDelta, NesterovAG, optimizer_of
from bench.adapters.channels_first import Layout, symmetric, value_in
from bench.formats import Unsupported
from bench.libraries import openblas_threads
from bench.weights import is_decayed, is_state

VARIANTS = ("define-by-run",)


def set_up(options):
    if options.threads and openblas_threads() not in (options.threads, None):
        raise Unsupported("NumPy's OpenBLAS takes its threads from the environment at import")
    if options.device == "gpu":
        if not cuda.available:
            raise Unsupported("this Chainer has no CuPy that sees a GPU")
        cuda.get_device_from_id(0).use()
        cuda.cupy.random.seed(options.seed)
    np.random.seed(options.seed)  # before any link draws its weights


def describe():
    return {
        "framework": "chainer",
        "version": chainer.__version__,
        "threads": openblas_threads(),  # of matrix products; everything else takes one
        "kernels": {
            "ideep": intel64.is_ideep_available(),
            "cupy": cuda.cupy.__version__ if cuda.available else None,
            "cudnn": cuda.cudnn_enabled,
        },
    }


def build(graph, recipe, options):
    return ChainerModel(graph, recipe, options)


# ---- layers -------------------------------------------------------------------------------------


def _link(node, features, native):
    """The link of a node that has parameters; None for a pure function."""
    op = node["op"]
    if op == "conv2d":
        pad = [p[0] for p in node["padding"]] if symmetric(node["padding"]) else (0, 0)
        return L.Convolution2D(
            features,
            node["filters"],
            tuple(node["kernel"]),
            tuple(node["stride"]),
            tuple(pad),
            nobias=not node["bias"],
        )
    if op == "dense":
        return L.Linear(features, node["units"], nobias=not node["bias"])
    if op == "batchnorm":
        explicit = {} if native else {"decay": node["keep"], "eps": node["epsilon"]}
        return L.BatchNormalization(features, **explicit)
    if op == "embedding":
        return L.EmbedID(node["vocabulary"], node["units"])
    if op == "lstm":
        return L.NStepLSTM(1, features, node["units"], 0.0)
    return None


class Net(chainer.Chain):
    """The graph as a chain: its links by node, run in the graph's order."""

    def __init__(self, graph, layout, native):
        super(Net, self).__init__()
        self._graph, self._layout, self._native = graph, layout, native
        self._spent = spent_after(graph)
        self.links_by_node = {}
        shapes = shapes_of(graph)
        with self.init_scope():
            for node in graph["nodes"]:
                source = shapes[node["inputs"][0]]
                link = _link(node, source[-1] if source else 0, native)
                if link is not None:
                    self.links_by_node[node["name"]] = link
                    setattr(self, "node_" + node["name"], link)

    def run(self, inputs, keep=False):
        """The outputs by name; with `keep` every node's value."""
        values = dict(inputs)
        for node in self._graph["nodes"]:
            self._run(node, values)
            for name in () if keep else self._spent[node["name"]]:
                values.pop(name, None)
        return values

    def _run(self, node, values):
        op, name = node["op"], node["name"]
        x = values[node["inputs"][0]]
        link = self.links_by_node.get(name)
        if op == "conv2d":
            y = link(x if symmetric(node["padding"]) else _padded(node, x))
        elif op == "dense":
            y = _over_last(link, x)
        elif op == "embedding":
            y = link(x)
        elif op == "batchnorm":
            y = self._batchnorm(node, link, x)
        elif op == "maxpool":
            y = _max_pool(node, x)
        elif op == "avgpool":
            y = _average_pool(node, x)
        elif op in ("globalmaxpool", "globalavgpool"):
            pool = F.max_pooling_2d if op == "globalmaxpool" else F.average_pooling_2d
            y = F.reshape(pool(x, x.shape[2:]), x.shape[:2])
        elif op == "lstm":
            y = self._lstm(node, link, x, values)
        elif op == "dropout":
            y = F.dropout(x, node["rate"])
        elif op in ("relu", "tanh", "sigmoid"):
            y = getattr(F, op)(x)
        elif op == "flatten":
            if x.ndim == 4 and not self._layout.keeps_order(name):
                x = F.transpose(x, (0, 2, 3, 1))
            y = F.reshape(x, (x.shape[0], -1))
        elif op == "add":
            y = F.add(*[values[source] for source in node["inputs"]])
        elif op == "concat":
            axis = 1 if x.ndim == 4 else x.ndim - 1
            y = F.concat([values[source] for source in node["inputs"]], axis=axis)
        else:
            raise Unsupported("no {} in the Chainer adapter".format(op))
        values[name] = y

    def _batchnorm(self, node, link, x):
        if node["unbiased"] or self._native or not chainer.config.train:
            return _over_last(link, x) if x.ndim == 3 else link(x)
        # Chainer keeps the unbiased variance: take the factor n/(n-1) out of what it adds
        old = link.avg_var * node["keep"]
        y = _over_last(link, x) if x.ndim == 3 else link(x)
        rows = x.size // x.shape[-1 if x.ndim == 3 else 1]
        link.avg_var[...] = old + (link.avg_var - old) * ((rows - 1.0) / rows)
        return y

    def _lstm(self, node, link, x, values):
        name = node["name"]
        hx = cx = None
        if node["initial"]:
            hx, cx = (F.expand_dims(values[source], 0) for source in node["initial"])
        rows = F.separate(x, axis=0)
        if node["lengths"]:  # ragged: each row as long as it truly is
            lengths = cuda.to_cpu(values[node["lengths"]])
            rows = [row[: int(length)] for row, length in zip(rows, lengths)]
        hy, cy, ys = link(hx, cx, list(rows))
        values[name + ":h"], values[name + ":c"] = hy[0], cy[0]
        if node["output"] == "last":
            return hy[0]
        return (
            F.pad_sequence(ys, length=x.shape[1], padding=0.0) if node["lengths"] else F.stack(ys)
        )


def _over_last(link, x):
    """A link over vectors, applied along the last axis of sequences, or an image's channels."""
    if x.ndim == 2:
        return link(x)
    if x.ndim == 4:
        x = F.transpose(x, (0, 2, 3, 1))
    y = link(F.reshape(x, (-1, x.shape[-1])))
    y = F.reshape(y, x.shape[:-1] + (-1,))
    return F.transpose(y, (0, 3, 1, 2)) if x.ndim == 4 else y


def _padded(node, x, value=0.0):
    width = [(0, 0), (0, 0)] + [tuple(pad) for pad in node["padding"]]
    return F.pad(x, width, "constant", constant_values=value)


def _max_pool(node, x):
    pad = tuple(p[0] for p in node["padding"])
    if not symmetric(node["padding"]):
        x, pad = _padded(node, x, -np.inf), (0, 0)
    # cover_all, Chainer's default, rounds the size up
    return F.max_pooling_2d(x, tuple(node["size"]), tuple(node["stride"]), pad, cover_all=False)


def _average_pool(node, x):
    size, stride = tuple(node["size"]), tuple(node["stride"])
    if not any(node["padding"][0] + node["padding"][1]):
        return F.average_pooling_2d(x, size, stride)
    # Chainer counts the padding: divide by the share of each window that is inside
    ones = cuda.get_array_module(x).ones((1, 1) + x.shape[2:], np.float32)
    inside = F.average_pooling_2d(_padded(node, ones), size, stride)
    pooled = F.average_pooling_2d(_padded(node, x), size, stride)
    return pooled / F.broadcast_to(inside, pooled.shape)


# ---- weights ------------------------------------------------------------------------------------


def _held(node, link):
    """{canonical parameter: Chainer's parameters or arrays that together are it}."""
    op = node["op"]
    if op in ("conv2d", "dense"):
        return dict({"kernel": [link.W]}, **({"bias": [link.b]} if node["bias"] else {}))
    if op == "batchnorm":
        return {
            "gamma": [link.gamma],
            "beta": [link.beta],
            "mean": [link.avg_mean],
            "variance": [link.avg_var],
        }
    if op == "embedding":
        return {"table": [link.W]}
    # one matrix a gate, in the order i, f, g, o: of the input, then of the state
    return {
        "input_kernel": [getattr(link[0], "w{}".format(k)) for k in range(4)],
        "recurrent_kernel": [getattr(link[0], "w{}".format(k)) for k in range(4, 8)],
        "bias": [getattr(link[0], "b{}".format(k)) for k in range(4)],
    }


def _array(held):
    return held.array if isinstance(held, chainer.Parameter) else held


# ---- loss ---------------------------------------------------------------------------------------


def _loss(spec, output, batch):
    target, name = batch[spec["target"]], spec["name"]
    xp = cuda.get_array_module(target)
    mask = batch[spec["mask"]] if spec["mask"] else None
    if name in ("softmax-cross-entropy", "sigmoid-cross-entropy"):
        target = target.astype(np.int32)
        if mask is not None:
            target = xp.where(mask != 0, target, np.int32(-1))  # left out of the mean
        if name == "sigmoid-cross-entropy":
            return F.sigmoid_cross_entropy(output, target)
        return F.softmax_cross_entropy(
            F.reshape(output, (-1, output.shape[-1])), target.reshape(-1)
        )
    if mask is None:
        squared = name == "mean-squared-error"
        return (F.mean_squared_error if squared else F.mean_absolute_error)(output, target)
    difference = output - target
    places = difference * difference if name == "mean-squared-error" else abs(difference)
    mask = mask.astype(np.float32)
    return F.sum(places * mask) / float(mask.sum())


# ---- model --------------------------------------------------------------------------------------


class ChainerModel(Model):
    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        self._layout = Layout(graph)
        native = options.setting == "native"
        self._net = Net(graph, self._layout, native)
        if options.device == "gpu":
            self._net.to_gpu(0)
        self._optimizer = optimizer_of(recipe, native)
        self._optimizer.setup(self._net)
        decay = recipe["optimizer"].get("weight_decay", 0.0)
        if native and decay:
            self._optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(decay))
        if not native:
            self._match(decay)
        self._helped = recipe["optimizer"]["name"] == "adam" and not native
        self._steps = 0
        o, own = self._optimizer, (NesterovAG, AdaDelta)
        self.path = {
            "loop": options.variant,
            "layout": "NCHW",
            "optimizer": dict(o.hyperparam.get_dict(), name=type(o).__name__),
            "formula": "helped" if self._helped or isinstance(o, own) else "as it is",
            "weight decay": "on every parameter" if native else "on kernels and tables",
            "lstm": "NStepLSTM over ragged rows",
        }

    def _match(self, decay):
        for node in self._nodes_with_weights():
            link = self._link(node)
            for name, held in _held(node, link).items():
                if decay and is_decayed(name):
                    for parameter in held:
                        hook = chainer.optimizer_hooks.WeightDecay(decay)
                        parameter.update_rule.add_hook(hook)
            if node["op"] == "lstm":  # two biases would learn twice as fast as the graph's one
                for k in range(4, 8):
                    getattr(link[0], "b{}".format(k)).update_rule.enabled = False

    def _nodes_with_weights(self):
        return [node for node in self._graph["nodes"] if node["parameters"]]

    def _link(self, node):
        return self._net.links_by_node[node["name"]]

    def _arrays(self, batch):
        return {name: self._net.xp.asarray(value_in(value)) for name, value in batch.items()}

    def _loss_and_backward(self, batch):
        arrays = self._arrays(batch)
        values = self._net.run({s["name"]: arrays[s["name"]] for s in self._graph["inputs"]})
        parts = [
            spec["weight"] * _loss(spec, values[spec["output"]], arrays)
            for spec in self._recipe["losses"]
        ]
        loss = sum(parts[1:], parts[0])
        self._net.cleargrads()
        loss.backward()
        return loss.array

    def train_step(self, batch):
        loss = self._loss_and_backward(batch)
        if self._helped:
            self._help_adam()
        self._optimizer.update()
        return loss

    def _help_adam(self):
        self._steps += 1
        o = self._recipe["optimizer"]
        self._optimizer.eps = o["epsilon"] * math.sqrt(1 - o["beta2"] ** self._steps)

    def losses(self, handles):
        return [float(handle) for handle in handles]

    def _values(self, batch, training, keep=False):
        arrays = self._arrays({s["name"]: batch[s["name"]] for s in self._graph["inputs"]})
        with chainer.using_config("train", training), chainer.no_backprop_mode():
            return self._net.run(arrays, keep)

    def _out(self, name, value):
        return self._layout.value_out(name, cuda.to_cpu(value.array))

    def predict(self, batch):
        values = self._values(batch, training=False)
        return {name: self._out(name, values[name]) for name in self._graph["outputs"]}

    def activations(self, batch, training=False):
        values = self._values(batch, training, keep=True)
        names = [node["name"] for node in self._graph["nodes"]]
        return {name: self._out(name, values[name]) for name in names}

    def gradients(self, batch):
        loss = self._loss_and_backward(batch)
        found = {}
        for node in self._nodes_with_weights():
            for name, held in _held(node, self._link(node)).items():
                if not is_state(node, name):
                    value = np.concatenate([cuda.to_cpu(each.grad) for each in held])
                    grads = found.setdefault(node["name"], {})
                    grads[name] = self._layout.parameter_out(node, name, value)
        return float(loss), found

    def weights(self):
        found = {}
        for node in self._nodes_with_weights():
            for name, held in _held(node, self._link(node)).items():
                value = np.concatenate([cuda.to_cpu(_array(each)) for each in held])
                parameters = found.setdefault(node["name"], {})
                parameters[name] = self._layout.parameter_out(node, name, value)
        return found

    def load(self, weights):
        for node in self._nodes_with_weights():
            for name, held in _held(node, self._link(node)).items():
                value = self._layout.parameter_in(node, name, weights[node["name"]][name])
                for each, part in zip(held, np.split(value, len(held))):
                    _array(each)[...] = self._net.xp.asarray(part)

    def sync(self):
        if self._net.xp is not np:
            cuda.Stream.null.synchronize()

    def save_native(self, folder):
        chainer.serializers.save_npz(os.path.join(folder, "model.npz"), self._net)
        chainer.serializers.save_npz(os.path.join(folder, "optimizer.npz"), self._optimizer)
