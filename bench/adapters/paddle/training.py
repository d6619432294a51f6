"""The recipe's losses and optimisers in Paddle's words."""

import paddle
from paddle.nn import functional as F

from bench.adapters.base import given
from bench.weights import is_decayed

# ---- losses -------------------------------------------------------------------------------------


def loss_of(spec, values, batch):
    """One loss of the recipe: the mean over the batch, or over the places that count."""
    output, target = values[spec["output"]], given(spec["target"], values, batch)
    function = _LOSSES[spec["name"]]
    if spec["mask"] is None:
        return function(output, target, "mean")
    places = function(output, target, "none")
    mask = given(spec["mask"], values, batch).astype(places.dtype)
    return (places * mask).sum() / (spec.get("divisor") or mask.sum().clip(min=1.0))


def _softmax_cross_entropy(output, target, reduction):
    # 3.3.1 cuts a row's loss off at 64 on a CPU (log_softmax does, too); its gradient is right
    # beyond, so training is. What would be exact, logsumexp less the target's logit, costs two to
    # four times as much. `path` in model.py says so, and a certificate with such a loss fails.
    classes = 1 if output.ndim == 4 else -1
    return F.cross_entropy(output, target, reduction=reduction, axis=classes)


def _sigmoid_cross_entropy(output, target, reduction):
    # the gradient of F.binary_cross_entropy_with_logits is -1/2 - t at a logit of 0 (3.3.1)
    places = F.softplus(output) - output * target
    return places.mean() if reduction == "mean" else places


def _smooth_l1(output, target, reduction):
    error = output - target
    slope = error.clip(-1.0, 1.0)
    places = slope * (error - 0.5 * slope)
    return places.mean() if reduction == "mean" else places


_LOSSES = {
    "smooth-l1": _smooth_l1,
    "softmax-cross-entropy": _softmax_cross_entropy,
    "sigmoid-cross-entropy": _sigmoid_cross_entropy,
    "mean-squared-error": F.mse_loss,
    "mean-absolute-error": F.l1_loss,
}


# ---- optimisers ---------------------------------------------------------------------------------


def clip(recipe, trained):
    """Clip the gradients of all parameters by their norm together.

    Paddle's own `grad_clip` of an optimiser takes the norm of each group of parameters.
    """
    if recipe.get("clip") is not None:
        tensors = [tensor for _, _, tensor in trained]
        paddle.nn.utils.clip_grad_norm_(tensors, recipe["clip"])


def optimizer_of(recipe, trained, native):
    """Paddle's optimiser of the recipe; `trained` are (node, parameter's name, tensor)."""
    o = recipe["optimizer"]
    # a decay of 0.0 would be computed and added; None is not
    decay = o.get("weight_decay", 0.0) or None
    decayed, plain = [], []
    for _, name, tensor in trained:
        (decayed if native or is_decayed(name) else plain).append(tensor)
    groups = [
        {"params": decayed, "weight_decay": decay},
        {"params": plain, "weight_decay": None},
    ]
    groups = [group for group in groups if group["params"]]
    if o["name"] == "sgd":
        if not o["momentum"]:
            return paddle.optimizer.SGD(o["lr"], groups)
        return paddle.optimizer.Momentum(o["lr"], o["momentum"], groups, o["nesterov"])
    if o["name"] == "adam":
        rule, names = paddle.optimizer.Adam, ("beta1", "beta2", "epsilon")
    else:
        rule, names = paddle.optimizer.Adadelta, ("rho", "epsilon")
    explicit = {} if native else {name: o[name] for name in names}
    return rule(o["lr"], parameters=groups, **explicit)
