"""TensorFlow 2: tf.keras layers, trained by GradientTape in a tf.function, or by Keras' fit.

Images are NHWC, so canonical weights go in as they are.
"""

import math
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

from bench.adapters.base import Model
from bench.formats import Unsupported
from bench.weights import is_decayed, is_state

VARIANTS = ("function", "fit")

_RELEASE = tuple(int(part) for part in tf.__version__.split(".")[:2])
layers = tf.keras.layers


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
    tf.random.set_seed(options.seed)  # before any layer draws its weights


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
    kind = FitModel if options.variant == "fit" else FunctionModel
    return kind(graph, recipe, options)


# ---- layers -------------------------------------------------------------------------------------


def _layer(node, native, decay):
    """The Keras layer of a node; None for a pure function. `decay` is set for Keras' own loop."""
    op, name = node["op"], node["name"]
    penalty = tf.keras.regularizers.l2(decay / 2) if decay else None  # its gradient is 2 * c * w
    if op == "conv2d":
        return layers.Conv2D(
            node["filters"],
            tuple(node["kernel"]),
            strides=tuple(node["stride"]),
            padding=_keras_padding(node) or "valid",
            use_bias=node["bias"],
            kernel_regularizer=penalty,
            name=name,
        )
    if op == "dense":
        return layers.Dense(
            node["units"], use_bias=node["bias"], kernel_regularizer=penalty, name=name
        )
    if op == "batchnorm":
        if native:
            return layers.BatchNormalization(name=name)
        return layers.BatchNormalization(momentum=node["keep"], epsilon=node["epsilon"], name=name)
    if op == "embedding":
        return layers.Embedding(
            node["vocabulary"], node["units"], embeddings_regularizer=penalty, name=name
        )
    if op == "lstm":
        return layers.LSTM(
            node["units"],
            return_sequences=node["output"] == "sequence",
            return_state=True,
            recurrent_activation="sigmoid",
            kernel_regularizer=penalty,
            recurrent_regularizer=penalty,
            name=name,
        )
    if op == "dropout":
        return layers.Dropout(node["rate"], name=name)
    return None


def _keras_padding(node):
    """ "valid" or "same" where Keras' word means just the graph's padding; None: pad by hand."""
    if not any(node["padding"][0] + node["padding"][1]):
        return "valid"
    size = node.get("kernel") or node["size"]
    plain = node["stride"] == [1, 1] and all(
        [(k - 1) // 2, k // 2] == list(pad) for k, pad in zip(size, node["padding"])
    )
    return "same" if plain else None


def _padded(node, x, value=0.0):
    return tf.pad(x, [[0, 0]] + list(node["padding"]) + [[0, 0]], constant_values=value)


class Net(tf.keras.Model):
    """The graph as a Keras model: its layers by node, run in the graph's order."""

    def __init__(self, graph, native, decay=0.0):
        super().__init__()
        self._graph_json, self._native = graph, native
        self.by_node = {}
        for node in graph["nodes"]:
            layer = _layer(node, native, decay)
            if layer is not None:
                self.by_node[node["name"]] = layer
                setattr(self, "node_" + node["name"], layer)  # Keras tracks attributes

    def call(self, inputs, training=False):
        values = self.run(inputs, training)
        return {name: values[name] for name in self._graph_json["outputs"]}

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
            y = self.by_node[name](x if _keras_padding(node) else _padded(node, x))
        elif op in ("dense", "embedding"):
            y = self.by_node[name](x)
        elif op in ("dropout", "batchnorm"):
            y = self.by_node[name](x, training=training)
        elif op == "maxpool":
            word = _keras_padding(node)
            x = x if word else _padded(node, x, -math.inf)
            y = tf.nn.max_pool2d(x, node["size"], node["stride"], (word or "valid").upper())
        elif op == "avgpool":
            y = _average_pool(node, x)
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

    def _lstm(self, node, x, values, training):
        name, mask = node["name"], None
        if node["lengths"]:
            mask = tf.sequence_mask(values[node["lengths"]], x.shape[1])
        initial = [values[source] for source in node["initial"]] if node["initial"] else None
        y, h, c = self.by_node[name](x, mask=mask, initial_state=initial, training=training)
        values[name + ":h"], values[name + ":c"] = h, c
        if node["output"] == "sequence" and mask is not None:
            y = y * tf.cast(mask, y.dtype)[:, :, None]  # Keras repeats the last output
        return y


def _average_pool(node, x):
    word = _keras_padding(node)  # TensorFlow's "same" does not count the padding either
    if word:
        return tf.nn.avg_pool2d(x, node["size"], node["stride"], word.upper())
    inside = _padded(node, tf.ones_like(x[:1, :, :, :1]))
    pooled = tf.nn.avg_pool2d(_padded(node, x), node["size"], node["stride"], "VALID")
    return pooled / tf.nn.avg_pool2d(inside, node["size"], node["stride"], "VALID")


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


def _loss(spec, values, batch):
    output, target = values[spec["output"]], batch[spec["target"]]
    name = spec["name"]
    if name == "softmax-cross-entropy":
        places = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)
    elif name == "sigmoid-cross-entropy":
        places = tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
    elif name == "mean-squared-error":
        places = tf.square(output - target)
    else:
        places = tf.abs(output - target)
    if spec["mask"] is None:
        return tf.reduce_mean(places)
    mask = tf.cast(batch[spec["mask"]], places.dtype)
    return tf.reduce_sum(places * mask) / tf.reduce_sum(mask)


def _optimizer(recipe, native):
    o, kinds = recipe["optimizer"], tf.keras.optimizers
    if o["name"] == "sgd":
        return kinds.SGD(o["lr"], momentum=o["momentum"], nesterov=o["nesterov"])
    if o["name"] == "adam":
        explicit = {} if native else {"beta_1": o["beta1"], "beta_2": o["beta2"]}
        return kinds.Adam(o["lr"], **explicit)
    explicit = {} if native else {"rho": o["rho"], "epsilon": o["epsilon"]}
    return kinds.Adadelta(o["lr"], **explicit)


# ---- model --------------------------------------------------------------------------------------


class FunctionModel(Model):
    """GradientTape inside a tf.function: the loop that TensorFlow 2 users write themselves."""

    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        self._native = options.setting == "native"
        self._decay = recipe["optimizer"].get("weight_decay", 0.0)
        self._net = Net(graph, self._native, self._decay if options.variant == "fit" else 0.0)
        self._net({spec["name"]: _zeros(spec) for spec in graph["inputs"]})  # makes the variables
        self._optimizer = _optimizer(recipe, self._native)
        self._helped = recipe["optimizer"]["name"] == "adam" and not self._native
        if self._helped:
            # Keras' Adam has its epsilon inside the bias correction: moved outside each step
            self._epsilon = tf.Variable(0.0, trainable=False)
            self._optimizer.epsilon = self._epsilon
        self._trained = [
            (node, name, variable)
            for node in self._nodes_with_weights()
            for name, variable in sorted(_variables(node, self._net.by_node[node["name"]]).items())
            if not is_state(node, name)
        ]
        self._steps = 0
        self._step = None
        self._last = None
        self.path = {
            "loop": options.variant,
            "layout": "NHWC",
            "adam": "epsilon helped each step" if self._helped else "as it is",
        }

    def _nodes_with_weights(self):
        return [node for node in self._graph["nodes"] if node["parameters"]]

    def _loss_of(self, batch):
        values = self._net(batch, training=True)
        return tf.add_n(
            [spec["weight"] * _loss(spec, values, batch) for spec in self._recipe["losses"]]
        )

    def _gradients_of(self, batch):
        with tf.GradientTape() as tape:
            loss = self._loss_of(batch)
        variables = [variable for _, _, variable in self._trained]
        return loss, tape.gradient(loss, [_raw(variable) for variable in variables])

    def _take_step(self, batch):
        loss, gradients = self._gradients_of(batch)
        pairs = []
        for gradient, (_, name, variable) in zip(gradients, self._trained):
            if self._decay and is_decayed(name):
                gradient = tf.convert_to_tensor(gradient) + self._decay * _raw(variable)
            pairs.append((gradient, variable))
        self._optimizer.apply_gradients(pairs)
        return loss

    def _help_adam(self):
        self._steps += 1
        if self._helped:
            o = self._recipe["optimizer"]
            self._epsilon.assign(o["epsilon"] * math.sqrt(1 - o["beta2"] ** self._steps))

    def train_step(self, batch):
        if self._step is None:
            # the batch size is left open: the last, partial batch compiles nothing anew
            signature = {
                name: tf.TensorSpec((None,) + value.shape[1:], value.dtype)
                for name, value in batch.items()
            }
            self._step = tf.function(self._take_step, input_signature=[signature])
        self._help_adam()
        self._last = self._step(batch)
        return self._last

    def losses(self, handles):
        return [float(handle) for handle in handles]

    def predict(self, batch):
        if not hasattr(self, "_predict"):
            self._predict = tf.function(
                lambda inputs: self._net(inputs, training=False), **_OPEN_SHAPES
            )
        values = self._predict(self._inputs(batch))
        return {name: value.numpy() for name, value in values.items()}

    def _inputs(self, batch):
        return {s["name"]: tf.convert_to_tensor(batch[s["name"]]) for s in self._graph["inputs"]}

    def activations(self, batch, training=False):
        values = self._net.run(self._inputs(batch), training)
        return {node["name"]: values[node["name"]].numpy() for node in self._graph["nodes"]}

    def gradients(self, batch):
        tensors = {name: tf.convert_to_tensor(value) for name, value in batch.items()}
        loss, gradients = self._gradients_of(tensors)
        found = {}
        for (node, name, _), gradient in zip(self._trained, gradients):
            value = tf.convert_to_tensor(gradient).numpy()
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


class FitModel(FunctionModel):
    """Keras' own loop: compile and fit, one fit call an epoch."""

    def __init__(self, graph, recipe, options):
        super().__init__(graph, recipe, options)
        kinds = {
            "softmax-cross-entropy": lambda: tf.keras.losses.SparseCategoricalCrossentropy(
                from_logits=True
            ),
            "sigmoid-cross-entropy": lambda: tf.keras.losses.BinaryCrossentropy(from_logits=True),
            "mean-squared-error": tf.keras.losses.MeanSquaredError,
            "mean-absolute-error": tf.keras.losses.MeanAbsoluteError,
        }
        losses = recipe["losses"]
        if any(spec["mask"] for spec in losses):
            raise Unsupported("Keras' fit averages a masked loss over all places")
        self._net.compile(
            optimizer=self._optimizer,
            loss={spec["output"]: kinds[spec["name"]]() for spec in losses},
            loss_weights={spec["output"]: spec["weight"] for spec in losses},
        )

    def train_step(self, batch):
        kept = []
        self.train_epoch([batch], lambda handle, seconds: kept.append(handle))
        return kept[0]

    def train_epoch(self, batches, on_step):
        model = self

        class Steps(tf.keras.callbacks.Callback):
            def on_train_batch_begin(self, batch, logs=None):
                model._net.reset_metrics()  # else Keras reports a running mean
                model._steps = int(
                    model._optimizer.iterations
                )  # it may announce one batch too many
                model._help_adam()

            def on_train_batch_end(self, batch, logs=None):
                now = time.monotonic()
                on_step(float(logs["loss"]), now - model._began)
                model._began = time.monotonic()

        def pairs():
            for batch in batches:
                inputs = {s["name"]: batch[s["name"]] for s in self._graph["inputs"]}
                yield inputs, {s["output"]: batch[s["target"]] for s in self._recipe["losses"]}

        self._began = time.monotonic()
        self._net.fit(pairs(), epochs=1, verbose=0, callbacks=[Steps()])

    def sync(self):
        pass  # the loss that fit reports has been waited for


_OPEN_SHAPES = (
    {"reduce_retracing": True} if _RELEASE >= (2, 9) else {"experimental_relax_shapes": True}
)


def _zeros(spec):
    return tf.zeros([1] + spec["shape"], spec["dtype"]) + (1 if spec["dtype"] == "int32" else 0)


def _raw(variable):
    """The tf.Variable behind a Keras 3 variable; in Keras 2 it is one."""
    return (
        getattr(variable, "value", variable) if not isinstance(variable, tf.Variable) else variable
    )
