"""The recipe's losses and optimisers in optax's words."""

import jax.numpy as jnp
import optax
from jax import lax

from bench.adapters.base import given

# ---- losses -------------------------------------------------------------------------------------


def loss_of(spec, values, batch):
    """One loss of the recipe: the mean over the batch, or over the places that count."""
    target = given(spec["target"], values, batch)
    places = _PER_PLACE[spec["name"]](values[spec["output"]], target)
    if spec["mask"] is None:
        return places.mean()
    mask = given(spec["mask"], values, batch).astype(places.dtype)
    return (places * mask).sum() / (spec.get("divisor") or jnp.maximum(mask.sum(), 1.0))


def _absolute_error(output, target):
    # the derivative of jnp.abs at 0 is 1 in 0.12
    difference = output - target
    return difference * lax.stop_gradient(jnp.sign(difference))


def _smooth_l1(output, target):
    error = output - target
    slope = jnp.clip(error, -1.0, 1.0)
    return slope * (error - 0.5 * slope)


_PER_PLACE = {
    "smooth-l1": _smooth_l1,
    "softmax-cross-entropy": optax.softmax_cross_entropy_with_integer_labels,
    "sigmoid-cross-entropy": optax.sigmoid_binary_cross_entropy,
    "mean-squared-error": optax.squared_error,
    "mean-absolute-error": _absolute_error,
}


# ---- optimisers ---------------------------------------------------------------------------------


def optimizer_of(recipe, decayed, native):
    """optax's optimiser of the recipe; `decayed` has True or False for every parameter."""
    o, hat = recipe["optimizer"], False
    if o["name"] == "sgd":
        kind, explicit = optax.sgd, {"momentum": o["momentum"], "nesterov": o["nesterov"]}
    elif o["name"] == "adam":
        kind = optax.adam
        explicit = {} if native else {"b1": o["beta1"], "b2": o["beta2"], "eps": o["epsilon"]}
        hat = not native and o.get("hat_epsilon", False)
    else:
        kind = optax.adadelta
        explicit = {} if native else {"rho": o["rho"], "eps": o["epsilon"]}
    if hat:  # optax has its epsilon outside the bias correction: moved inside each step
        explicit["eps"] = lambda count: o["epsilon"] / jnp.sqrt(1 - o["beta2"] ** (count + 1))
    if recipe.get("schedule") or hat:  # they are part of the state: no step is compiled anew
        static = tuple(name for name, value in explicit.items() if not callable(value))
        kind = optax.inject_hyperparams(kind, static_args=static)
    parts = [kind(o["lr"], **explicit)]
    if o.get("weight_decay", 0.0):
        parts.insert(0, optax.add_decayed_weights(o["weight_decay"], decayed))
    if recipe.get("clip") is not None:
        parts.insert(0, optax.clip_by_global_norm(recipe["clip"]))
    return optax.chain(*parts)


def set_rate(slots, rate):
    """The optimiser's state with another learning rate; the rule is the last of the chain."""
    rule = slots[-1]
    rates = dict(rule.hyperparams, learning_rate=jnp.asarray(rate, jnp.float32))
    return slots[:-1] + (rule._replace(hyperparams=rates),)
