"""TensorFlow 2's other ordinary way to train: Keras' compile and fit, one fit call an epoch."""

import itertools
import time

import numpy as np
import tensorflow as tf

from bench.adapters.tensorflow2 import RELEASE, FunctionModel, open_spec
from bench.formats import Unsupported


class FitModel(FunctionModel):
    """Keras' own loop: compile and fit, one fit call an epoch."""

    def __init__(self, graph, recipe, options):
        super().__init__(graph, recipe, options)
        keras = tf.keras.losses
        kinds = {
            "softmax-cross-entropy": lambda: keras.SparseCategoricalCrossentropy(from_logits=True),
            "sigmoid-cross-entropy": lambda: keras.BinaryCrossentropy(from_logits=True),
            "mean-squared-error": keras.MeanSquaredError,
            "mean-absolute-error": keras.MeanAbsoluteError,
        }
        self._losses = {spec["output"]: spec for spec in recipe["losses"]}
        if len(self._losses) < len(recipe["losses"]) or set(self._losses) != set(graph["outputs"]):
            raise Unsupported("Keras' compile wants one loss for each output")
        self._losses = [self._losses[name] for name in graph["outputs"]]
        self._masked = any(spec["mask"] for spec in self._losses)
        temporal = {"sample_weight_mode": "temporal"} if self._masked and RELEASE < (2, 2) else {}
        self._net.compile(
            optimizer=self._optimizer,
            loss=_alone([kinds[spec["name"]]() for spec in self._losses]),
            loss_weights=[spec["weight"] for spec in self._losses],
            **temporal,
        )
        self.path["xla"] = bool(getattr(self._net, "jit_compile", False))

    def train_step(self, batch):
        kept = []
        self.train_epoch([batch], lambda handle, seconds: kept.append(handle))
        return kept[0]

    def train_epoch(self, batches, on_step):
        net, known = self._net, {"steps": None}

        class Steps(tf.keras.callbacks.Callback):
            def on_train_batch_begin(self, batch, logs=None):
                net.reset_metrics()  # else Keras reports a running mean
                self.began = time.monotonic()

            def on_train_batch_end(self, batch, logs=None):
                loss = float(logs["loss"])
                on_step(loss, time.monotonic() - self.began)
                if RELEASE >= (2, 16):
                    # Keras 3 would begin one step more, find no data, and count it all the same
                    net.stop_training = batch + 1 == known["steps"]

        def examples():
            current, count = ahead[0], 1
            for following in itertools.chain(ahead[1:], rest):
                yield current
                current, count = following, count + 1
            known["steps"] = count  # told before the last is handed out
            yield current

        rest = map(self._as_keras, batches)
        ahead = list(itertools.islice(rest, 2))  # TensorFlow 2.1 begins anew after a first look
        dataset = _dataset(examples, ahead[0])
        net.fit(dataset, epochs=1, verbose=0, shuffle=False, callbacks=[Steps()])

    def _as_keras(self, batch):
        """(inputs, targets) or (inputs, targets, weights of the places)."""
        inputs = {spec["name"]: batch[spec["name"]] for spec in self._graph["inputs"]}
        targets = [batch[spec["target"]] for spec in self._losses]
        if not self._masked:
            return inputs, _alone(targets)
        if RELEASE < (2, 2):  # it weighs places of three-dimensional targets only
            targets = [
                t[..., None] if spec["mask"] else t for t, spec in zip(targets, self._losses)
            ]
        # Keras divides by the number of all places, so the places that count weigh more
        masks = [
            np.asarray(batch[spec["mask"]], np.float32)
            if spec["mask"]
            else np.ones(batch[spec["target"]].shape[:1], np.float32)
            for spec in self._losses
        ]
        return inputs, _alone(targets), _alone([mask * (mask.size / mask.sum()) for mask in masks])

    def losses(self, handles):
        return list(handles)

    def sync(self):
        pass  # the loss that fit reports has been waited for


def _alone(values):
    """Keras' way with one output: the thing itself, not a tuple of one."""
    return tuple(values) if len(values) > 1 else values[0]


def _dataset(examples, first):
    """A tf.data.Dataset of what `examples()` yields, shaped like `first`."""
    specs = tf.nest.map_structure(open_spec, first)
    if RELEASE >= (2, 4):
        dataset = tf.data.Dataset.from_generator(examples, output_signature=specs)
    else:
        types = tf.nest.map_structure(lambda spec: spec.dtype, specs)
        shapes = tf.nest.map_structure(lambda spec: spec.shape, specs)
        dataset = tf.data.Dataset.from_generator(examples, types, shapes)
    # what TensorFlow 2.1 had prefetched when it took its first look would be lost
    return dataset.prefetch(1) if RELEASE >= (2, 2) else dataset
