"""The recipe's losses and optimisers in Keras 3's words."""

import keras
from keras import ops

from bench.adapters.keras_functional import BACKEND

# ---- losses -------------------------------------------------------------------------------------


def loss_of(spec, native):
    return PlaceLoss(spec)


class PlaceLoss(keras.losses.Loss):
    """A loss of one value a place, so that a mask of the target's shape can be its sample weights.

    Keras' own classes take the mean over the last axis first, and an output [T, 1] for [T].
    """

    def __init__(self, spec):
        # with a mask the mean is over the places that count; Keras' "mean" is over all
        reduction = "mean_with_sample_weight" if spec["mask"] else "mean"
        self._divisor = spec.get("divisor")
        super().__init__(reduction="sum" if self._divisor else reduction)
        self._per_place = _PER_PLACE[spec["name"]]

    def call(self, y_true, y_pred):
        places = self._per_place(y_true, _without_past(y_pred))
        return places / self._divisor if self._divisor else places


def identity_loss():
    """Of a model whose output is its loss."""
    return lambda y_true, y_pred: y_pred[..., 0]


def per_place(name, target, output, native):
    return _PER_PLACE[name](target, _without_past(output))


def _without_past(output):
    """On TensorFlow a loss takes what stands before a sigmoid for the logits, whatever it is told
    that the logits are: Keras keeps it in this attribute (3.15)."""
    if BACKEND != "tensorflow" or not hasattr(output, "_keras_logits"):
        return output
    import tensorflow as tf

    return tf.identity(output)


def _absolute(difference):
    if BACKEND == "jax":  # the derivative of abs at 0 is 1 there
        return difference * ops.stop_gradient(ops.sign(difference))
    return ops.abs(difference)


def _smooth_l1(target, output):
    error = output - target
    slope = ops.clip(error, -1.0, 1.0)
    return slope * (error - 0.5 * slope)


_PER_PLACE = {
    "smooth-l1": _smooth_l1,
    "softmax-cross-entropy": lambda target, logits: ops.sparse_categorical_crossentropy(
        target, logits, from_logits=True
    ),
    "sigmoid-cross-entropy": lambda target, logits: ops.binary_crossentropy(
        target, logits, from_logits=True
    ),
    "mean-squared-error": lambda target, output: ops.square(output - target),
    "mean-absolute-error": lambda target, output: _absolute(output - target),
}


# ---- optimisers ---------------------------------------------------------------------------------


def set_rate(optimizer, rate):
    optimizer.learning_rate = rate


def rate_of(optimizer):
    return float(ops.convert_to_numpy(optimizer.learning_rate))


def velocities(optimizer):
    return optimizer.momentums if optimizer.built else []


def adjusted(kind, decayed, decay, clip, native, hat):
    """Keras' optimiser with clipping, weight decay in the gradient, Adam's epsilon in its place.

    `decayed` are the ids of the variables that decay; `hat`: the epsilon stays inside.
    """
    kind = type(kind())  # on PyTorch, Keras puts a class of its own in the place of each

    class Adjusted(kind):
        def apply(self, grads, trainable_variables=None):
            variables = trainable_variables or self._trainable_variables
            if BACKEND == "tensorflow" and not native:
                grads = [_dense(gradient) for gradient in grads]
            if clip is not None:
                grads = [_dense(gradient) for gradient in grads]
                norm = ops.sqrt(sum(ops.sum(ops.square(gradient)) for gradient in grads))
                grads = [gradient * (clip / ops.maximum(norm, clip)) for gradient in grads]
            if decay:
                grads = [
                    _dense(gradient) + decay * ops.convert_to_tensor(variable)
                    if id(variable) in decayed
                    else gradient
                    for gradient, variable in zip(grads, variables)
                ]
            if native or hat or not hasattr(self, "beta_2"):
                super().apply(grads, trainable_variables)
                return
            own = vars(self)  # Keras would look at what is set, whether it has to be saved
            epsilon = own["epsilon"]
            # Adam's stands inside the bias correction: moved outside
            own["epsilon"] = epsilon * _correction(self.beta_2, self.iterations)
            super().apply(grads, trainable_variables)
            own["epsilon"] = epsilon

    Adjusted.__name__ = kind.__name__
    return Adjusted


def _correction(beta, iterations):
    """The root of Adam's bias correction at the step after so many."""
    if BACKEND == "torch":  # eager, where each small operation costs more than the number
        return (1 - beta ** (int(iterations.value) + 1)) ** 0.5
    power = ops.power(ops.cast(beta, "float32"), ops.cast(iterations + 1, "float32"))
    return ops.sqrt(1 - power)


def _dense(gradient):
    """On TensorFlow an embedding's gradient comes as rows: Keras' formulas for these differ."""
    if BACKEND != "tensorflow":
        return gradient
    import tensorflow as tf

    return tf.convert_to_tensor(gradient)


class GradientCatcher(keras.optimizers.Optimizer):
    """Keeps the gradients and takes no step."""

    caught = ()

    def __init__(self):
        super().__init__(learning_rate=0.0)

    @property
    def learning(self):
        return self._trainable_variables

    def build(self, variables):
        super().build(variables)
        self.caught = [self.add_variable_from_reference(v, "caught") for v in variables]

    def update_step(self, gradient, variable, learning_rate):
        self.assign(self.caught[self._get_variable_index(variable)], _dense(gradient))
