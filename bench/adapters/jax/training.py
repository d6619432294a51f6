"""The recipe's losses and optimisers in optax's words."""

import jax.numpy as jnp
import optax
from jax import lax

# ---- losses -------------------------------------------------------------------------------------


def loss_of(spec, values, batch):
    """One loss of the recipe: the mean over the batch, or over the places that count."""
    places = _PER_PLACE[spec["name"]](values[spec["output"]], batch[spec["target"]])
    if spec["mask"] is None:
        return places.mean()
    mask = batch[spec["mask"]].astype(places.dtype)
    return (places * mask).sum() / jnp.maximum(mask.sum(), 1.0)


def _absolute_error(output, target):
    # the derivative of jnp.abs at 0 is 1 in 0.12
    difference = output - target
    return difference * lax.stop_gradient(jnp.sign(difference))


_PER_PLACE = {
    "softmax-cross-entropy": optax.softmax_cross_entropy_with_integer_labels,
    "sigmoid-cross-entropy": optax.sigmoid_binary_cross_entropy,
    "mean-squared-error": optax.squared_error,
    "mean-absolute-error": _absolute_error,
}


# ---- optimisers ---------------------------------------------------------------------------------


def optimizer_of(recipe, decayed, native):
    """optax's optimiser of the recipe; `decayed` has True or False for every parameter."""
    o = recipe["optimizer"]
    if o["name"] == "sgd":
        rule = optax.sgd(o["lr"], momentum=o["momentum"], nesterov=o["nesterov"])
    elif o["name"] == "adam":
        explicit = {} if native else {"b1": o["beta1"], "b2": o["beta2"], "eps": o["epsilon"]}
        rule = optax.adam(o["lr"], **explicit)
    else:
        explicit = {} if native else {"rho": o["rho"], "eps": o["epsilon"]}
        rule = optax.adadelta(o["lr"], **explicit)
    decay = o.get("weight_decay", 0.0)
    return optax.chain(optax.add_decayed_weights(decay, decayed), rule) if decay else rule
