"""TensorFlow 2: tf.keras layers, trained by GradientTape in a tf.function, or by Keras' fit.

Images are NHWC, so canonical weights go in as they are.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

from bench.adapters.base import Model
from bench.adapters.tensorflow_nn import (
    average_pool,
    chosen,
    loss_of,
    max_pool,
    padded,
    padding_word,
)
from bench.formats import Unsupported
from bench.weights import is_decayed, is_state

VARIANTS = ("function", "fit")

RELEASE = tuple(int(part) for part in tf.__version__.split(".")[:2])
layers = tf.keras.layers
tf.get_logger().setLevel("ERROR")  # else it warns that a trial's functions are traced anew


def set_up(options):
    gpus = tf.config.experimental.list_physical_devices("GPU")
    if options.device == "gpu" and not gpus:
        raise Unsupported("this TensorFlow sees no GPU")
    if options.device == "cpu":
        tf.config.experimental.set_visible_devices([], "GPU")
    for gpu in gpus if options.device == "gpu" else []:
        tf.config.experimental.set_memory_growth(gpu, True)
    if options.threads:
        tf.config.threading.set_intra_op_parallelism_threads(options.threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    seed = getattr(tf.keras.utils, "set_random_seed", tf.random.set_seed)
    seed(options.seed)  # before any layer draws its weights


def describe():
    build = tf.sysconfig.get_build_info() if hasattr(tf.sysconfig, "get_build_info") else {}
    return {
        "framework": "tensorflow",
        "version": tf.__version__,
        "keras": tf.keras.__version__ if hasattr(tf.keras, "__version__") else None,
        # 0: TensorFlow takes as many as there are cores
        "threads": tf.config.threading.get_intra_op_parallelism_threads()
        or len(os.sched_getaffinity(0)),
        "inter_op_threads": tf.config.threading.get_inter_op_parallelism_threads() or None,
        "kernels": {key: str(value) for key, value in sorted(dict(build).items())},
    }


def build(graph, recipe, options):
    if options.variant == "fit":
        from bench.adapters.tensorflow2_fit import FitModel

        return FitModel(graph, recipe, options)
    return FunctionModel(graph, recipe, options)


# ---- layers -------------------------------------------------------------------------------------


def _layer(node, native):
    """The Keras layer of a node; None for a pure function."""
    op, name = node["op"], node["name"]
    if op == "conv2d":
        return layers.Conv2D(
            node["filters"],
            tuple(node["kernel"]),
            strides=tuple(node["stride"]),
            padding=padding_word(node) or "valid",
            use_bias=node["bias"],
            name=name,
        )
    if op == "dense":
        return layers.Dense(node["units"], use_bias=node["bias"], name=name)
    if op == "batchnorm":
        if native:
            return layers.BatchNormalization(name=name)
        return layers.BatchNormalization(momentum=node["keep"], epsilon=node["epsilon"], name=name)
    if op == "embedding":
        return layers.Embedding(node["vocabulary"], node["units"], name=name)
    if op == "lstm":
        return layers.LSTM(
            node["units"],
            return_sequences=node["output"] == "sequence",
            return_state=True,
            recurrent_activation="sigmoid",
            name=name,
        )
    if op == "dropout":
        return layers.Dropout(node["rate"], name=name)
    return None


class Net(tf.keras.Model):
    """The graph as a Keras model: its layers by node, run in the graph's order."""

    def __init__(self, graph, native):
        super().__init__()
        self._graph_json, self._native = graph, native
        self.by_node = {}
        for node in graph["nodes"]:
            layer = _layer(node, native)
            if layer is not None:
                self.by_node[node["name"]] = layer

    @tf.autograph.experimental.do_not_convert
    def call(self, inputs, training=False):
        if tf.is_tensor(training):
            training = False  # TensorFlow 2.1 tries the model out before it trains
        values = self.run(inputs, training)
        outputs = [values[name] for name in self._graph_json["outputs"]]
        return outputs if len(outputs) > 1 else outputs[0]

    def run(self, inputs, training):
        """Every node's value by name."""
        values = dict(inputs)
        for node in self._graph_json["nodes"]:
            self._run(node, values, training)
        return values

    def _run(self, node, values, training):
        op, name = node["op"], node["name"]
        x = values[node["inputs"][0]]
        if op == "conv2d":
            y = self.by_node[name](x if padding_word(node) else padded(node, x))
        elif op in ("dense", "embedding"):
            y = self.by_node[name](x)
        elif op == "dropout":
            y = self.by_node[name](x, training=training)
        elif op == "batchnorm":
            y = self._batchnorm(node, x, training)
        elif op == "maxpool":
            y = max_pool(node, x)
        elif op == "avgpool":
            y = average_pool(node, x)
        elif op == "globalavgpool":
            y = tf.reduce_mean(x, [1, 2])
        elif op == "globalmaxpool":
            y = tf.reduce_max(x, [1, 2])
        elif op == "lstm":
            y = self._lstm(node, x, values, training)
        elif op in ("relu", "tanh", "sigmoid"):
            y = getattr(tf.nn, op)(x)
        elif op == "flatten":
            y = tf.reshape(x, [-1, node["shape"][0]])
        elif op == "add":
            y = tf.add_n([values[source] for source in node["inputs"]])
        elif op == "concat":
            y = tf.concat([values[source] for source in node["inputs"]], -1)
        else:
            raise Unsupported("no {} in the TensorFlow 2 adapter".format(op))
        values[name] = y

    def _batchnorm(self, node, x, training):
        layer = self.by_node[node["name"]]
        # TensorFlow's fused kernel keeps the unbiased variance; Keras' own formula, which 2-D
        # inputs and all of Keras 3 get, the biased one
        unbiased = bool(getattr(layer, "fused", False))
        if not training or self._native or unbiased == node["unbiased"]:
            return layer(x, training=training)
        old = node["keep"] * tf.identity(layer.moving_variance)
        y = layer(x, training=training)
        added = tf.identity(layer.moving_variance) - old
        rows = tf.cast(tf.size(x) / node["shape"][-1], tf.float32)
        less = tf.maximum(rows - 1, 1) / rows
        layer.moving_variance.assign(old + (added / less if node["unbiased"] else added * less))
        return y

    def _lstm(self, node, x, values, training):
        name, mask = node["name"], None
        if node["lengths"]:
            lengths = tf.reshape(values[node["lengths"]], [-1])  # a column in Keras 2.1's fit
            mask = tf.sequence_mask(lengths, x.shape[1])
        initial = [values[source] for source in node["initial"]] if node["initial"] else None
        y, h, c = self.by_node[name](x, mask=mask, initial_state=initial, training=training)
        values[name + ":h"], values[name + ":c"] = h, c
        if node["output"] == "sequence" and mask is not None:
            y = y * tf.cast(mask, y.dtype)[:, :, None]  # Keras repeats the last output
        return y


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


# ---- loss and optimiser -------------------------------------------------------------------------


def _optimizer(recipe, native, decayed):
    """Keras' optimiser, made to follow the recipe's formula. `decayed` tells which variables."""
    o, kinds = recipe["optimizer"], tf.keras.optimizers
    decay = o.get("weight_decay", 0.0)
    # Sparse gradients of a table would leave the moments of its other rows alone
    dense = not native and (o["name"] != "sgd" or o["momentum"])
    matched_adam = o["name"] == "adam" and not native

    def helped(kind):
        class Helped(kind):
            def apply_gradients(self, pairs, *args, **kwargs):
                pairs = [(self._coupled(g, variable), variable) for g, variable in pairs]
                if not matched_adam:
                    return super().apply_gradients(pairs, *args, **kwargs)
                # Keras' Adam has its epsilon inside the bias correction: moved outside each step
                t = tf.cast(tf.identity(self.iterations) + 1, tf.float32)
                self.epsilon = o["epsilon"] * tf.sqrt(1 - tf.pow(tf.constant(o["beta2"]), t))
                done = super().apply_gradients(pairs, *args, **kwargs)
                self.epsilon = o["epsilon"]
                return done

            def _coupled(self, gradient, variable):
                if decay and decayed(variable):
                    return _dense(gradient, variable) + decay * tf.identity(variable)
                return _dense(gradient, variable) if dense else gradient

        Helped.__name__ = kind.__name__
        return Helped

    if o["name"] == "sgd":
        return helped(kinds.SGD)(o["lr"], momentum=o["momentum"], nesterov=o["nesterov"])
    if o["name"] == "adam":
        explicit = {"beta_1": o["beta1"], "beta_2": o["beta2"], "epsilon": o["epsilon"]}
        return helped(kinds.Adam)(o["lr"], **({} if native else explicit))
    explicit = {"rho": o["rho"], "epsilon": o["epsilon"]}
    return helped(kinds.Adadelta)(o["lr"], **({} if native else explicit))


def _dense(gradient, variable):
    """The gradient of a table as a tensor: all rows, most of them zero."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    return tf.math.unsorted_segment_sum(gradient.values, gradient.indices, variable.shape[0])


# ---- model --------------------------------------------------------------------------------------


class FunctionModel(Model):
    """GradientTape inside a tf.function: the loop that TensorFlow 2 users write themselves."""

    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        native = options.setting == "native"
        self._net = Net(graph, native)
        self._net({spec["name"]: _ones(spec) for spec in graph["inputs"]})  # makes the variables
        self._trained = [
            (node, name, variable)
            for node in self._nodes_with_weights()
            for name, variable in sorted(_variables(node, self._net.by_node[node["name"]]).items())
            if not is_state(node, name)
        ]
        decayed = {id(variable) for _, name, variable in self._trained if is_decayed(name)}
        self._optimizer = _optimizer(recipe, native, lambda variable: id(variable) in decayed)
        self._step = self._evaluate = self._last = None
        self.path = {"loop": options.variant, "layout": "NHWC"}
        self.path.update(chosen(graph, self._net.by_node, self._optimizer.get_config(), native))
        if native:
            self.path["initial"] += "; recurrent kernels orthogonal, tables uniform-0.05"

    def _nodes_with_weights(self):
        return [node for node in self._graph["nodes"] if node["parameters"]]

    def _loss_of(self, batch):
        values = self._net.run(batch, training=True)
        losses = self._recipe["losses"]
        return tf.add_n([spec["weight"] * loss_of(spec, values, batch) for spec in losses])

    def _gradients_of(self, batch):
        variables = [variable for _, _, variable in self._trained]
        with tf.GradientTape() as tape:
            loss = self._loss_of(batch)
        return loss, tape.gradient(loss, [_raw(variable) for variable in variables])

    def _take_step(self, batch):
        loss, gradients = self._gradients_of(batch)
        variables = [variable for _, _, variable in self._trained]
        self._optimizer.apply_gradients(zip(gradients, variables))
        return loss

    def train_step(self, batch):
        if self._step is None:
            self._step = tf.function(
                self._take_step, input_signature=[_signature(batch)], autograph=False
            )
        self._last = self._step(batch)
        return self._last

    def losses(self, handles):
        return [float(handle) for handle in handles]

    def predict(self, batch):
        inputs = self._inputs(batch)
        if self._evaluate is None:
            self._evaluate = tf.function(
                self._outputs, input_signature=[_signature(inputs)], autograph=False
            )
        values = self._evaluate(inputs)
        return {name: value.numpy() for name, value in zip(self._graph["outputs"], values)}

    def _outputs(self, inputs):
        outputs = self._net(inputs, training=False)
        return outputs if isinstance(outputs, (list, tuple)) else [outputs]

    def _inputs(self, batch):
        return {s["name"]: tf.convert_to_tensor(batch[s["name"]]) for s in self._graph["inputs"]}

    def activations(self, batch, training=False):
        values = self._net.run(self._inputs(batch), training)
        return {node["name"]: values[node["name"]].numpy() for node in self._graph["nodes"]}

    def gradients(self, batch):
        tensors = {name: tf.convert_to_tensor(value) for name, value in batch.items()}
        loss, gradients = self._gradients_of(tensors)
        found = {}
        for (node, name, variable), gradient in zip(self._trained, gradients):
            value = _dense(gradient, variable).numpy()
            found.setdefault(node["name"], {})[name] = value
        return float(loss), found

    def weights(self):
        return {
            node["name"]: {
                name: np.array(variable.numpy())
                for name, variable in _variables(node, self._net.by_node[node["name"]]).items()
            }
            for node in self._nodes_with_weights()
        }

    def load(self, weights):
        for node in self._nodes_with_weights():
            for name, variable in _variables(node, self._net.by_node[node["name"]]).items():
                variable.assign(weights[node["name"]][name])

    def sync(self):
        if self._last is not None:
            self._last.numpy()

    def save_native(self, folder):
        self._net.save_weights(os.path.join(folder, "model.weights.h5"))
        tf.train.Checkpoint(optimizer=self._optimizer).write(os.path.join(folder, "optimizer"))


def _signature(batch):
    return {name: open_spec(value) for name, value in batch.items()}


def open_spec(value):
    """The array's spec with the batch left open: a last, partial batch compiles nothing anew."""
    return tf.TensorSpec((None,) + tuple(value.shape[1:]), value.dtype)


def _ones(spec):
    return tf.ones([1] + spec["shape"], spec["dtype"])


def _raw(variable):
    """The tf.Variable behind a Keras 3 variable; in Keras 2 it is one."""
    return variable if isinstance(variable, tf.Variable) else variable.value
