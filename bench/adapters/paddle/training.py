"""The recipe's losses and optimisers in Paddle's words."""

import paddle
from paddle.nn import functional as F

from bench.adapters.base import given
from bench.weights import is_decayed

# ---- losses -------------------------------------------------------------------------------------


def loss_of(spec, values, batch, native):
    """One loss of the recipe: the mean over the batch, or over the places that count."""
    output, target = values[spec["output"]], given(spec["target"], values, batch)
    function = _LOSSES[spec["name"]]
    if function is _softmax_cross_entropy and not native:
        function = _whole_softmax_cross_entropy
    if spec["mask"] is None:
        return function(output, target, "mean")
    places = function(output, target, "none")
    mask = given(spec["mask"], values, batch).astype(places.dtype)
    return (places * mask).sum() / (spec.get("divisor") or mask.sum().clip(min=1.0))


def _softmax_cross_entropy(output, target, reduction):
    return F.cross_entropy(output, target, reduction=reduction, axis=_classes(output))


def _classes(output):
    return 1 if output.ndim == 4 else -1


_CUT = 64.0
"""Where 3.3.1 cuts off, on a CPU, how far a logit is below the largest (log_softmax does, too)."""


def _whole_softmax_cross_entropy(output, target, reduction):
    """Paddle's, and what it cuts off of a row's loss; its gradient is right without that.

    What is cut off is only computed where some row's loss reaches the cut: logsumexp less the
    target's logit, exact without a look, costs two to four times as much.
    """
    places = _softmax_cross_entropy(output, target, "none")
    if output.place.is_cpu_place() and float(places.max()) >= _CUT:
        with paddle.no_grad():
            axis = _classes(output)
            index = target.unsqueeze(axis)
            own = paddle.take_along_axis(output, index, axis, broadcast=False).squeeze(axis)
            missing = F.relu(output.max(axis) - own - _CUT)
        places = places + missing.reshape(places.shape)
    return places.mean() if reduction == "mean" else places


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


def clip(recipe, trained, native):
    """Clip the gradients of all parameters by their norm together.

    Paddle's own `grad_clip` of an optimiser takes the norm of each group of parameters.
    """
    if recipe.get("clip") is None:
        return
    tensors = [tensor for _, _, tensor in trained]
    if native or recipe["clip"] >= 0.1:
        paddle.nn.utils.clip_grad_norm_(tensors, recipe["clip"])
        return
    # Paddle adds 1e-6 to the norm that it divides by: next to nothing unless that is as small
    with paddle.no_grad():
        gradients = [tensor.grad_ for tensor in tensors]
        norm = paddle.linalg.norm(paddle.stack([paddle.linalg.norm(g) for g in gradients]))
        factor = recipe["clip"] / norm.clip(min=recipe["clip"])
        for gradient in gradients:
            gradient.multiply_(y=factor)


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


def moves_epsilon(recipe, native):
    """Whether Adam's epsilon must be moved each step: Paddle's is outside the bias correction."""
    o = recipe["optimizer"]
    return o["name"] == "adam" and not native and bool(o.get("hat_epsilon"))


def move_epsilon(optimizer, recipe, step):
    o = recipe["optimizer"]
    optimizer._epsilon = o["epsilon"] / (1 - o["beta2"] ** step) ** 0.5
    optimizer._default_dict["epsilon"] = optimizer._epsilon  # each group is stepped with this one
