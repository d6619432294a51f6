"""TensorFlow 2's other ordinary way to train: Keras' compile and fit, one fit call an epoch."""

import itertools
import time

import numpy as np
import tensorflow as tf

from bench.adapters.tensorflow2.layers import KERAS_3, RELEASE, first_inputs
from bench.adapters.tensorflow2.model import FunctionModel
from bench.adapters.tensorflow_nn import total_loss
from bench.ops import host_nodes, is_made, sizes_of, trained_nodes

_KERAS = tf.keras.losses
_LOSSES = {
    "softmax-cross-entropy": lambda: _KERAS.SparseCategoricalCrossentropy(from_logits=True),
    "sigmoid-cross-entropy": lambda: _KERAS.BinaryCrossentropy(from_logits=True),
    "smooth-l1": _KERAS.Huber,
    "mean-squared-error": _KERAS.MeanSquaredError,
    "mean-absolute-error": _KERAS.MeanAbsoluteError,
}


class Trained(tf.keras.Model):
    """The part of the net that is trained, with one output for each loss of the recipe."""

    def __init__(self, net, graph, recipe):
        super().__init__()
        nodes = trained_nodes(graph, recipe)
        self.trained_layers = [
            net.by_node[node["name"]] for node in nodes if node["name"] in net.by_node
        ]
        numbers = [spec["name"] for spec in graph["inputs"] if not spec["shape"]]
        masked = any(spec["mask"] for spec in recipe["losses"])

        self._has_regions = bool(host_nodes(graph))

        def values_of(inputs, training):
            # Keras 2 makes a column of a row of numbers
            inputs = dict(inputs, **{name: tf.reshape(inputs[name], [-1]) for name in numbers})
            return inputs, net.run(inputs, nodes, training)

        def loss(inputs, training):
            inputs, values = values_of(inputs, training)
            return total_loss(recipe, values, inputs)

        def outputs(inputs, training):
            _, values = values_of(inputs, training)
            found = [values[spec["output"]] for spec in recipe["losses"]]
            return [_for_keras(*pair, masked) for pair in zip(recipe["losses"], found)]

        self._loss_of = loss
        self._outputs = outputs  # a function: Keras would track and wrap lists and dictionaries

    @tf.autograph.experimental.do_not_convert
    def call(self, inputs, training=False):
        if tf.is_tensor(training):
            training = False  # TensorFlow 2.1 tries the model out before it trains
        if self._has_regions:  # rows of the outputs are regions: the loss is made inside
            loss = self._loss_of(inputs, training)
            self.add_loss(loss)
            return loss
        return _alone(self._outputs(inputs, training))


def _for_keras(spec, output, masked):
    """A loss's output in a form that every Keras takes as it is meant."""
    if not masked:
        # Keras takes what stands before a sigmoid or a softmax for the logits, whatever it is told
        return tf.identity(output) if "cross-entropy" in spec["name"] else output
    # [rows, places, values of each]: TensorFlow 2.1 weighs places of three-dimensional outputs only
    values = output.shape[-1] if spec["name"] == "softmax-cross-entropy" else 1
    if None in output.shape[1:]:  # images of several sizes
        return tf.reshape(output, [tf.shape(output)[0], -1, values])
    return tf.reshape(output, [-1, int(np.prod(output.shape[1:])) // values, values])


class Epoch:
    """What a dataset yields: the examples of one epoch."""

    steps = None
    """How many there are, as soon as the last one is handed out."""

    def __init__(self, examples):
        self.ahead = list(itertools.islice(examples, 2))  # TensorFlow 2.1 begins anew after a look
        self._rest = examples

    def examples(self):
        current, count = self.ahead[0], 1
        for following in itertools.chain(self.ahead[1:], self._rest):
            yield current
            current, count = following, count + 1
        self.steps = count
        yield current


class FitModel(FunctionModel):
    """Keras' own loop: compile and fit, one fit call an epoch."""

    def __init__(self, graph, recipe, options):
        super().__init__(graph, recipe, options)
        self._losses, self._dataset = recipe["losses"], None
        self._masked = any(spec["mask"] for spec in self._losses)
        temporal = {"sample_weight_mode": "temporal"} if self._masked and RELEASE < (2, 2) else {}
        self._keras = Trained(self._net, graph, recipe)
        self._has_regions = bool(host_nodes(graph))
        if self._has_regions:
            self._targets = batch_names(recipe)
            plain = {"jit_compile": False} if KERAS_3 else {}  # XLA can't call NumPy
            self._keras.compile(optimizer=self._optimizer, **plain)
            self.path["xla"] = False
            return
        self._keras(first_inputs(graph))
        self._keras.compile(
            optimizer=self._optimizer,
            loss=_alone([_LOSSES[spec["name"]]() for spec in self._losses]),
            loss_weights=[spec["weight"] for spec in self._losses],
            **temporal,
        )
        self.path["xla"] = bool(getattr(self._keras, "jit_compile", False))

    def prepared(self, batch):
        return batch  # fit fetches within its step, and makes tensors of NumPy's arrays

    def train_step(self, batch):
        kept = []
        self.train_epoch([batch], lambda handle, seconds: kept.append(handle))
        return kept[0]

    def train_epoch(self, batches, on_step):
        net = self._keras

        class Steps(tf.keras.callbacks.Callback):
            def on_train_batch_begin(self, batch, logs=None):
                net.reset_metrics()  # else Keras reports a running mean
                self.began = time.monotonic()

            def on_train_batch_end(self, batch, logs=None):
                loss = float(logs["loss"])
                on_step(loss, time.monotonic() - self.began)
                if KERAS_3:
                    # Keras 3 would begin one step more, find no data, and count it all the same
                    net.stop_training = batch + 1 == epoch.steps

        epoch = self._epoch = Epoch(map(self._as_keras, batches))
        if self._dataset is None:  # one for all epochs: each is traced anew
            specs = self._specs(epoch.ahead[0])
            self._dataset = _dataset(lambda: self._epoch.examples(), specs)
        net.fit(self._dataset, epochs=1, verbose=0, shuffle=False, callbacks=[Steps()])

    def _specs(self, example):
        """The specs of what `_as_keras` makes, batches and sizes that vary left open."""

        def open_spec(value):
            if self._masked and sizes_of(self._graph):  # [rows, places, …]
                return tf.TensorSpec([None, None] + list(value.shape[2:]), value.dtype)
            shape = list(self._open_spec(None, value).shape)
            shape[1:] = shape[1:-1] + list(value.shape[1:][-1:])  # classes or values: never a size
            return tf.TensorSpec(shape, value.dtype)

        inputs = {name: self._open_spec(name, value) for name, value in example[0].items()}
        return (inputs,) + tf.nest.map_structure(open_spec, example[1:])

    def _as_keras(self, batch):
        """(inputs, targets) or (inputs, targets, weights of the places)."""
        inputs = {spec["name"]: batch[spec["name"]] for spec in self._graph["inputs"]}
        if self._has_regions:
            inputs.update((name, batch[name]) for name in self._targets)
            return (inputs,)
        targets = [self._target(spec, batch) for spec in self._losses]
        if not self._masked:
            return inputs, _alone(targets)
        return (
            inputs,
            _alone(targets),
            _alone([self._weights(spec, batch) for spec in self._losses]),
        )

    def _target(self, spec, batch):
        target = batch[spec["target"]]
        if self._masked:
            return target.reshape(len(target), -1, 1)
        # Keras 3 would take classes of a shape [T] for those of an output [T, 1] without its axis
        return target[..., None] if spec["name"] == "softmax-cross-entropy" else target

    def _weights(self, spec, batch):
        target = batch[spec["target"]]
        if not spec["mask"]:
            return np.ones((len(target), target.size // len(target)), np.float32)
        mask = np.asarray(batch[spec["mask"]], np.float32).reshape(len(target), -1)
        # Keras divides by the number of all places, so the places that count weigh more
        return mask * (mask.size / (spec.get("divisor") or max(mask.sum(), 1)))

    def losses(self, handles):
        return list(handles)

    def sync(self):
        pass  # the loss that fit reports has been waited for


def batch_names(recipe):
    """The targets and masks that come with the batch."""
    names = {spec[key] for spec in recipe["losses"] for key in ("target", "mask")}
    return sorted(name for name in names if name and not is_made(name))


def _alone(values):
    """Keras' way with one output: the thing itself, not a tuple of one."""
    return tuple(values) if len(values) > 1 else values[0]


def _dataset(examples, specs):
    """A tf.data.Dataset of what `examples()` yields."""
    if RELEASE >= (2, 4):
        dataset = tf.data.Dataset.from_generator(examples, output_signature=specs)
    else:
        types = tf.nest.map_structure(lambda spec: spec.dtype, specs)
        shapes = tf.nest.map_structure(lambda spec: spec.shape, specs)
        dataset = tf.data.Dataset.from_generator(examples, types, shapes)
    # what TensorFlow 2.1 had prefetched when it took its first look would be lost
    return dataset.prefetch(1) if RELEASE >= (2, 2) else dataset
