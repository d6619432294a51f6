"""The recipe's losses and optimisers in TensorFlow 1's words."""

import tensorflow as tf

from bench.adapters.tensorflow_nn import dense_gradient, needs_dense_gradients
from bench.ops import is_made, open_shapes
from bench.weights import is_decayed

# ---- losses: their formulas are in tensorflow_nn ------------------------------------------------


def target_placeholders(graph, recipe, inputs):
    """{name: placeholder} of the recipe's targets and masks; one may be an input, too."""
    shapes, placeholders = open_shapes(graph), dict(inputs)
    for spec in recipe["losses"]:
        shape, dtype = shapes[spec["output"]], tf.float32
        if spec["name"] == "softmax-cross-entropy":
            shape, dtype = shape[:-1], tf.int32
        for name, kind in ((spec["target"], dtype), (spec["mask"], tf.float32)):
            if name is not None and name not in placeholders and not is_made(name):
                placeholders[name] = tf.placeholder(kind, [None] + shape, name)
    return placeholders


# ---- optimisers ---------------------------------------------------------------------------------


def rate_of(recipe):
    """A number, or with a schedule a placeholder that each step is told."""
    lr = recipe["optimizer"]["lr"]
    return tf.placeholder_with_default(lr, [], "rate") if recipe.get("schedule") else lr


def optimizer_of(recipe, rate, native, step):
    o = dict(recipe["optimizer"], lr=rate)
    if o["name"] == "sgd":
        if not o["momentum"]:
            return tf.train.GradientDescentOptimizer(o["lr"])
        return tf.train.MomentumOptimizer(o["lr"], o["momentum"], use_nesterov=o["nesterov"])
    if o["name"] == "adam":
        if native:
            return tf.train.AdamOptimizer(o["lr"])
        if o.get("hat_epsilon"):
            return tf.train.AdamOptimizer(o["lr"], o["beta1"], o["beta2"], o["epsilon"])
        # TensorFlow's Adam has its epsilon inside the bias correction: moved outside each step
        power = tf.pow(o["beta2"], tf.cast(step + 1, tf.float32))
        epsilon = o["epsilon"] * tf.sqrt(1 - power)
        return tf.train.AdamOptimizer(o["lr"], o["beta1"], o["beta2"], epsilon)
    if native:
        return tf.train.AdadeltaOptimizer(o["lr"])
    return tf.train.AdadeltaOptimizer(o["lr"], o["rho"], o["epsilon"])


def clipped(recipe, pairs):
    """The gradients, clipped by their norm together; each row of a table counts once."""
    if recipe.get("clip") is None:
        return pairs
    gradients = [dense_gradient(gradient, variable) for gradient, variable in pairs]
    gradients, _ = tf.clip_by_global_norm(gradients, recipe["clip"])
    return [(gradient, variable) for gradient, (_, variable) in zip(gradients, pairs)]


def with_decay(recipe, native, name, gradient, variable):
    """The gradient that the optimiser is given: with weight decay, on kernels and tables."""
    decay = recipe["optimizer"].get("weight_decay", 0.0)
    if decay and (is_decayed(name) or name == "kernels"):
        return dense_gradient(gradient, variable) + decay * variable
    if needs_dense_gradients(recipe, native):
        return dense_gradient(gradient, variable)
    return gradient
