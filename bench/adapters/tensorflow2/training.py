"""The recipe's optimisers in Keras' words; the formulas of the losses are in tensorflow_nn."""

import tensorflow as tf

from bench.adapters.tensorflow_nn import dense_gradient, needs_dense_gradients
from bench.weights import is_decayed


def optimizer_of(recipe, trained, native):
    """Keras' optimiser of the recipe; `trained` are (node, parameter's name, variable)."""
    o, kinds = recipe["optimizer"], tf.keras.optimizers
    decayed = {id(variable) for _, name, variable in trained if is_decayed(name)}
    if o["name"] == "sgd":
        kind = _corrected(kinds.SGD, recipe, decayed, native)
        return kind(o["lr"], momentum=o["momentum"], nesterov=o["nesterov"])
    if o["name"] == "adam":
        kind = _corrected(kinds.Adam, recipe, decayed, native)
        explicit = {"beta_1": o["beta1"], "beta_2": o["beta2"], "epsilon": o["epsilon"]}
        return kind(o["lr"], **({} if native else explicit))
    kind = _corrected(kinds.Adadelta, recipe, decayed, native)
    explicit = {"rho": o["rho"], "epsilon": o["epsilon"]}
    return kind(o["lr"], **({} if native else explicit))


def make_slots(optimizer, trained):
    """The optimiser's state, made outside of the step: one that makes variables is traced twice."""
    if hasattr(optimizer, "build"):  # Keras 3
        optimizer.build([variable for _, _, variable in trained])


def set_rate(optimizer, recipe, trained, rate, native):
    if recipe["optimizer"].get("momentum") and not native:
        # Keras' velocities have the learning rate in them
        ratio = rate / float(tf.keras.backend.get_value(optimizer.learning_rate))
        for velocity in _velocities(optimizer, [variable for _, _, variable in trained]):
            velocity.assign(ratio * tf.identity(velocity))
    optimizer.learning_rate = rate


def _velocities(optimizer, variables):
    if hasattr(optimizer, "momentums"):  # Keras 3; none before the first step
        return optimizer.momentums
    if int(optimizer.iterations.numpy()) == 0:  # asking for a slot would make it
        return []
    return [optimizer.get_slot(variable, "momentum") for variable in variables]


def _corrected(kind, recipe, decayed, native):
    """The optimiser's class, following the recipe's formula; `decayed` are ids of variables."""
    o = recipe["optimizer"]
    decay = o.get("weight_decay", 0.0)
    dense = needs_dense_gradients(recipe, native)

    def _clipped(pairs):
        """The gradients, clipped by their norm together; each row of a table counts once."""
        pairs = list(pairs)
        if recipe.get("clip") is None:
            return pairs
        gradients = [dense_gradient(gradient, variable) for gradient, variable in pairs]
        gradients, _ = tf.clip_by_global_norm(gradients, recipe["clip"])
        return [(gradient, variable) for gradient, (_, variable) in zip(gradients, pairs)]

    class Corrected(kind):
        def apply_gradients(self, pairs, *args, **kwargs):
            pairs = [(self._with_decay(g, variable), variable) for g, variable in _clipped(pairs)]
            if native or o["name"] != "adam" or o.get("hat_epsilon"):
                return super().apply_gradients(pairs, *args, **kwargs)
            # Keras' Adam has its epsilon inside the bias correction: moved outside each step
            t = tf.cast(tf.identity(self.iterations) + 1, tf.float32)
            self.epsilon = o["epsilon"] * tf.sqrt(1 - tf.pow(tf.constant(o["beta2"]), t))
            done = super().apply_gradients(pairs, *args, **kwargs)
            self.epsilon = o["epsilon"]
            return done

        def _with_decay(self, gradient, variable):
            if decay and id(variable) in decayed:
                return dense_gradient(gradient, variable) + decay * tf.identity(variable)
            return dense_gradient(gradient, variable) if dense else gradient

    Corrected.__name__ = kind.__name__
    return Corrected
