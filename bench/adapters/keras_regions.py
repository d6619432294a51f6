"""Detectors in Keras: a host node, regions of an image, and losses inside of the model.

Rows behind the host node are regions, not the batch, so Keras can't take a loss of each output: one
layer makes the whole loss, and that is the model's only output.
"""

import keras
from keras import layers

from bench import host
from bench.adapters.base import given
from bench.adapters.keras_functional import BACKEND, layer_name, ops, shape_of
from bench.ops import extras_of, host_nodes, is_made, open_shapes

KERAS_3 = hasattr(keras, "ops")


def proposals(net, node, inputs, values):
    made = HostLayer(node, name=layer_name(node))(inputs)
    values.update(zip(extras_of(node), made[1:]))
    return made[0]


def roialign(net, node, inputs, values):
    layer = layers.Lambda(
        lambda read: _aligned(node, *read),
        output_shape=tuple(node["shape"]),
        name=layer_name(node),
    )
    return layer(inputs)


def _aligned(node, image, wy, wx):
    """Two products for all regions together: rows first, then columns."""
    if BACKEND == "theano":
        from bench.adapters.theano_regions import roi_align

        cells = roi_align(node, image[0].dimshuffle(0, 2, 1), wy, wx)
        return cells.dimshuffle(0, 1, 3, 2)
    if not KERAS_3:
        from bench.adapters.tensorflow_regions import roi_align

        return roi_align(None, node, [image, wy, wx], None)
    height, width = ops.shape(image)[1:3]
    pool, _, channels = node["shape"]
    image = ops.reshape(ops.transpose(image[0], (0, 2, 1)), (height, channels * width))
    across = ops.matmul(ops.reshape(wy, (-1, height)), image)
    across = ops.reshape(across, (-1, pool * channels, width))
    cells = ops.matmul(across, ops.transpose(wx, (0, 2, 1)))
    return ops.transpose(ops.reshape(cells, (-1, pool, channels, pool)), (0, 1, 3, 2))


class HostLayer(layers.Layer):
    """All that a host node makes, each backend's way to call NumPy."""

    def __init__(self, node, **settings):
        super(HostLayer, self).__init__(**settings)
        self._node = node
        self.uses_learning_phase = True  # or Keras 2 would not tell it that it trains
        if BACKEND == "tensorflow" and KERAS_3:
            self.supports_jit = False  # XLA has no operation for it

    def _shapes(self, scores):
        """[(shape, dtype)], None where a number varies."""
        rows, columns = shape_of(scores)[1:3]
        last = {1: rows, 2: columns}
        return [
            ((None,) + shape[1:-1] + (last[k],) if k in last else (None,) + shape[1:], kind)
            for k, (shape, kind) in enumerate(host.shapes_of(self._node, 1, 1, True))
        ]

    def compute_output_spec(self, inputs, training=None):
        made = self._shapes(inputs[0])
        return [keras.KerasTensor(shape, dtype=kind.__name__) for shape, kind in made]

    def compute_output_shape(self, input_shape):
        return [shape for shape, _ in self._shapes(self._scores)]

    def call(self, inputs, training=None):
        if not KERAS_3:
            self._scores = inputs[0]  # Keras 2 asks for the shapes afterwards
            return self._in_either_phase(inputs)
        if BACKEND == "tensorflow":
            from bench.adapters.tensorflow_regions import call_on_host

            return call_on_host(self._node, inputs, bool(training))
        if BACKEND == "jax":
            return self._by_callback(inputs, bool(training))
        arrays = [ops.convert_to_numpy(x) for x in inputs]
        return [ops.convert_to_tensor(v) for v in host.call(self._node, arrays, bool(training))]

    def _by_callback(self, inputs, training):
        import jax

        made = host.shapes_of(self._node, *inputs[0].shape[1:3], training)
        shapes = [jax.ShapeDtypeStruct(shape, kind) for shape, kind in made]
        read = [jax.lax.stop_gradient(x) for x in inputs]
        return jax.pure_callback(
            lambda *arrays: host.call(self._node, arrays, training), shapes, *read
        )

    def _in_either_phase(self, inputs):
        """Keras 2: whether it trains is a tensor, and goes to NumPy with the others."""
        from keras import backend as K

        if BACKEND == "theano":
            from bench.adapters.theano_regions import HostOperation

            return HostOperation(self._node)(*(list(inputs) + [K.learning_phase()]))
        import tensorflow as tf

        made = self._shapes(inputs[0])
        read = [tf.stop_gradient(x) for x in inputs] + [K.learning_phase()]
        values = tf.py_func(self._call_in_phase, read, [kind for _, kind in made])
        for value, (shape, _) in zip(values, made):
            value.set_shape(shape)
        return values

    def _call_in_phase(self, *arrays):
        return host.call(self._node, arrays[:-1], bool(arrays[-1]))


class TotalLoss(layers.Layer):
    """The recipe's losses, weighted and added: one number, as a row of one column."""

    def __init__(self, recipe, names, per_place, **settings):
        super(TotalLoss, self).__init__(**settings)
        self._recipe, self._names, self._per_place = recipe, names, per_place

    def call(self, inputs):
        known = dict(zip(self._names, inputs))
        return ops.reshape(
            sum(self._loss_of(spec, known) for spec in self._recipe["losses"]), (1, 1)
        )

    def _loss_of(self, spec, known):
        target = given(spec["target"], known, known)
        places = self._per_place(spec["name"], target, known[spec["output"]])
        if not spec["mask"]:
            return spec["weight"] * ops.mean(places)
        mask = known[spec["mask"]]
        divisor = spec.get("divisor") or ops.maximum(ops.sum(mask), 1.0)
        return spec["weight"] * ops.sum(places * mask) / divisor

    def compute_output_shape(self, input_shape):
        return (1, 1) if KERAS_3 else (None, 1)


def total_loss(graph, recipe, net, per_place):
    """(the loss's tensor, {name: input} of targets and masks that come with the batch)."""
    shapes, targets = open_shapes(graph), {}
    for spec in recipe["losses"]:
        places = tuple(shapes[spec["output"]])
        kind = "float32"
        if spec["name"] == "softmax-cross-entropy":
            places, kind = places[:-1] or (1,), "int32"
        for name, dtype in ((spec["target"], kind), (spec["mask"], "float32")):
            if name and not is_made(name) and name not in targets:
                targets[name] = layers.Input(places, name="target_" + name, dtype=dtype)
    read = {spec[key] for spec in recipe["losses"] for key in ("output", "target", "mask")}
    names = sorted(name for name in read if name)
    layer = TotalLoss(recipe, names, per_place, name="total_loss")
    return layer([targets[n] if n in targets else net.values[n] for n in names]), targets


def has_regions(graph):
    return bool(host_nodes(graph))
