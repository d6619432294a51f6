"""Runs inside TensorFlow 1.11: a model with a map as its output, written with tf.keras, certified.

    python tfkeras_maps.py JOB DATA LOSS       prints the checks as JSON

LOSS is "own" (tf.keras takes the mean of a map) or "explicit" (tf.keras is given one value a row).
"""

import json
import sys

import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K

from bench import data, verify
from bench.adapters.base import Model


class Maps(data.Split):
    """The images, with a value of its own for every place and channel to be learnt."""

    def batch(self, rows):
        found = super().batch(rows)
        channels = [found["image"] * k for k in (1.0, 0.5, -1.0)]
        return dict(found, value=np.concatenate(channels, axis=-1))


class Adapter:
    def __init__(self, loss):
        self._loss = loss

    def set_up(self, options):
        K.clear_session()
        tf.set_random_seed(options.seed)

    def build(self, graph, recipe, options):
        return MapModel(graph, recipe, self._loss)


class MapModel(Model):
    def __init__(self, graph, recipe, loss):
        self._graph = graph
        image = graph["inputs"][0]
        values = {image["name"]: tf.keras.layers.Input(image["shape"])}
        self._layers = {}
        for node in graph["nodes"]:
            x = values[node["inputs"][0]]
            if node["op"] == "relu":
                y = tf.keras.layers.Activation("relu")(x)
            else:
                same = "same" if node["shape"][0] == 8 else "valid"
                layer = tf.keras.layers.Conv2D(node["filters"], node["kernel"], padding=same)
                self._layers[node["name"]] = layer
                y = layer(x)
            values[node["name"]] = y
        self._values, self._input = values, values[image["name"]]
        self._net = tf.keras.Model(self._input, values[graph["outputs"][0]])
        o = recipe["optimizer"]
        optimizer = tf.keras.optimizers.SGD(o["lr"], o["momentum"], nesterov=o["nesterov"])

        def by_row(target, output):
            return tf.reduce_mean(tf.square(target - output), axis=(1, 2, 3))

        self._net.compile(optimizer, "mean_squared_error" if loss == "own" else by_row)

    def train_step(self, batch):
        return self._net.train_on_batch(batch["image"], batch["value"])

    def losses(self, handles):
        return [float(handle) for handle in handles]

    def predict(self, batch):
        return {self._graph["outputs"][0]: self._net.predict_on_batch(batch["image"])}

    def activations(self, batch, training=False):
        names = [node["name"] for node in self._graph["nodes"]]
        run = K.function([self._input], [self._values[name] for name in names])
        return dict(zip(names, run([batch["image"]])))  # noqa: B905

    def gradients(self, batch):
        net = self._net
        found = K.gradients(net.total_loss, net.trainable_weights)
        run = K.function(net.inputs + net.targets + net.sample_weights, [net.total_loss, *found])
        fed = net._standardize_user_data(batch["image"], batch["value"])  # as train_on_batch does
        loss, *values = run([array for arrays in fed for array in arrays])
        named, values = {}, iter(values)
        for node in self._layers:
            named[node] = {"kernel": next(values), "bias": next(values)}
        return float(loss), named

    def weights(self):
        read = {node: layer.get_weights() for node, layer in self._layers.items()}
        return {node: {"kernel": k, "bias": b} for node, (k, b) in read.items()}

    def load(self, weights):
        for node, layer in self._layers.items():
            layer.set_weights([weights[node]["kernel"], weights[node]["bias"]])

    def sync(self):
        pass

    def save_native(self, folder):
        raise NotImplementedError


def main(job_file, folder, loss):
    with open(job_file) as file:  # noqa: PTH123  Python 3.6, as everything here
        job = json.load(file)
    splits = {}
    for split, files in job["data"]["splits"].items():
        arrays = {name: np.load(folder + "/" + file) for name, file in files.items()}
        splits[split] = Maps(arrays, job["data"]["divide"])
    done = []
    for check in verify.checks(job, splits, Adapter(loss), folder):
        done.append(check)
        if check["name"] == "recipe-steps":
            break
    print(json.dumps(done))


if __name__ == "__main__":
    main(*sys.argv[1:])
