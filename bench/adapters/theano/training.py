"""The recipe's losses and optimisers in Theano's and Lasagne's words."""

import numpy as np
import theano
from theano import tensor as T

from bench.adapters.base import given
from bench.adapters.theano_lasagne import lasagne
from bench.ops import is_made

# ---- losses -------------------------------------------------------------------------------------


def loss_of(spec, values, batch):
    """One loss of the recipe: the mean over the batch, or over the places that count."""
    target = given(spec["target"], values, batch)
    places = _PER_PLACE[spec["name"]](values[spec["output"]], target)
    if spec["mask"] is None:
        return places.mean()
    mask = given(spec["mask"], values, batch)
    divisor = spec.get("divisor") or T.maximum(mask.sum(), np.float32(1))
    return (places * mask).sum() / divisor


def _softmax_cross_entropy(logits, target):
    if logits.ndim == 4:  # an image; Theano's softmax knows rows of classes alone
        logits = logits.dimshuffle(0, 2, 3, 1)
    rows = logits.reshape((-1, logits.shape[-1])) if logits.ndim > 2 else logits
    # Theano makes one stable operation of the two
    probabilities = lasagne.nonlinearities.softmax(rows)
    values = lasagne.objectives.categorical_crossentropy(probabilities, target.flatten())
    return values.reshape(target.shape) if target.ndim > 1 else values


def _smooth_l1(output, target):
    error = output - target
    slope = T.clip(error, np.float32(-1), np.float32(1))
    return slope * (error - np.float32(0.5) * slope)


_PER_PLACE = {
    "smooth-l1": _smooth_l1,
    "softmax-cross-entropy": _softmax_cross_entropy,
    # Theano's own function for it has no gradient in 1.0.2
    "sigmoid-cross-entropy": lambda logits, target: T.nnet.softplus(logits) - target * logits,
    "mean-squared-error": lasagne.objectives.squared_error,
    "mean-absolute-error": lambda output, target: abs(output - target),
}


def targets_and_masks(recipe, shapes):
    """(name, variable) of every target and mask; several losses may share one."""
    for spec in recipe["losses"]:
        labels = spec["name"] == "softmax-cross-entropy"
        axes = [False] * (len(shapes[spec["output"]]) + (0 if labels else 1))
        if not is_made(spec["target"]):
            kind = T.TensorType("int32" if labels else "float32", axes)
            yield spec["target"], kind(spec["target"])
        if spec["mask"] and not is_made(spec["mask"]):
            yield spec["mask"], T.TensorType("float32", axes)(spec["mask"])


# ---- optimisers ---------------------------------------------------------------------------------


def updates_of(recipe, gradients, parameters, decayed, rate, native):
    """New values of the parameters and of the optimiser's state, by Lasagne."""
    o = recipe["optimizer"]
    decay = o.get("weight_decay", 0.0)
    if recipe.get("clip") is not None:
        gradients = lasagne.updates.total_norm_constraint(gradients, recipe["clip"])
    if decay:
        gradients = [
            gradient + decay * parameter if parameter in decayed else gradient
            for parameter, gradient in zip(parameters, gradients)
        ]
    if o["name"] == "sgd":
        if not o["momentum"]:
            return lasagne.updates.sgd(gradients, parameters, rate)
        rule = lasagne.updates.nesterov_momentum if o["nesterov"] else lasagne.updates.momentum
        return rule(gradients, parameters, rate, o["momentum"])
    if o["name"] == "adadelta":
        explicit = {} if native else {"rho": o["rho"], "epsilon": o["epsilon"]}
        return lasagne.updates.adadelta(gradients, parameters, rate, **explicit)
    if native:
        return lasagne.updates.adam(gradients, parameters, rate)
    # Lasagne's epsilon stands inside the bias correction: this one takes that back at each step
    if o.get("hat_epsilon"):
        betas = o["beta1"], o["beta2"]
        return lasagne.updates.adam(gradients, parameters, rate, *betas, epsilon=o["epsilon"])
    steps = theano.shared(np.float32(0), "steps")
    epsilon = o["epsilon"] * T.sqrt(1 - o["beta2"] ** (steps + 1))
    updates = lasagne.updates.adam(gradients, parameters, rate, o["beta1"], o["beta2"], epsilon)
    updates[steps] = steps + 1
    return updates
