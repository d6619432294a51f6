"""The recipe's losses and optimisers in PyTorch's words."""

import torch
from torch.nn import functional as F

from bench.adapters.base import given
from bench.weights import is_decayed

_RELEASE = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


# ---- losses -------------------------------------------------------------------------------------


def loss_of(spec, values, batch):
    """One loss of the recipe: the mean over the batch, or over the places that count."""
    output, target = values[spec["output"]], given(spec["target"], values, batch)
    if spec["name"] == "softmax-cross-entropy":
        if output.dim() == 3:  # a sequence; PyTorch wants the classes on axis 1
            output = output.transpose(1, 2)
        if spec["mask"] is None:
            return F.cross_entropy(output, target)
        places = F.cross_entropy(output, target, reduction="none")
    else:
        function = _REAL_VALUED[spec["name"]]
        if spec["mask"] is None:
            return function(output, target)
        places = function(output, target, reduction="none")
    mask = given(spec["mask"], values, batch).to(places.dtype)
    return (places * mask).sum() / (spec.get("divisor") or mask.sum().clamp(min=1.0))


def _absolute_error(output, target, reduction="mean"):
    """l1_loss of old releases (seen in 1.0) has the derivative 1 where the error is exactly 0."""
    error = (output - target).abs()
    return error.mean() if reduction == "mean" else error


_REAL_VALUED = {
    "sigmoid-cross-entropy": F.binary_cross_entropy_with_logits,
    "mean-squared-error": F.mse_loss,
    "smooth-l1": F.smooth_l1_loss,
    "mean-absolute-error": F.l1_loss if _RELEASE >= (1, 13) else _absolute_error,
}


# ---- optimisers ---------------------------------------------------------------------------------


def optimizer_of(recipe, trained, native, **settings):
    """PyTorch's optimiser of the recipe; `trained` are (node, parameter's name, tensor).

    `settings` change how it is computed, not what.
    """
    o = recipe["optimizer"]
    decayed, plain = [], []
    for _, name, tensor in trained:
        (decayed if native or is_decayed(name) else plain).append(tensor)
    decay = o.get("weight_decay", 0.0)
    groups = [{"params": decayed, "weight_decay": decay}, {"params": plain, "weight_decay": 0.0}]
    if not decay:  # one group, as by hand: each costs time in every step
        groups = [{"params": decayed + plain}]
    groups = [group for group in groups if group["params"]]
    if o["name"] == "sgd":
        return torch.optim.SGD(groups, lr=o["lr"], momentum=o["momentum"], nesterov=o["nesterov"])
    if o["name"] == "adam":
        explicit = {} if native else {"betas": (o["beta1"], o["beta2"]), "eps": o["epsilon"]}
        return torch.optim.Adam(groups, lr=o["lr"], **dict(explicit, **settings))
    explicit = {} if native else {"rho": o["rho"], "eps": o["epsilon"]}
    return torch.optim.Adadelta(groups, lr=o["lr"], **explicit)


def clip(recipe, optimizer, native):
    """Clip the gradients of all parameters by their norm together."""
    if recipe.get("clip") is None:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if native or recipe["clip"] >= 0.1:
        torch.nn.utils.clip_grad_norm_(parameters, recipe["clip"])
        return
    # PyTorch adds 1e-6 to the norm that it divides by: next to nothing unless that is as small
    norm = torch.norm(torch.stack([torch.norm(p.grad) for p in parameters]))
    factor = recipe["clip"] / norm.clamp(min=recipe["clip"])
    for p in parameters:
        p.grad.mul_(factor)


_INSIDE = _RELEASE < (1, 4)
"""Whether Adam's epsilon stands inside the bias correction; since 1.4 as in Algorithm 1."""


def corrects_adam(recipe, native):
    """Whether Adam's epsilon must be moved each step: it stands where the recipe has it not."""
    o = recipe["optimizer"]
    return o["name"] == "adam" and _INSIDE != bool(o.get("hat_epsilon")) and not native


def correct_adam(optimizer, recipe, step):
    o = recipe["optimizer"]
    root = (1 - o["beta2"] ** step) ** 0.5
    for group in optimizer.param_groups:
        group["eps"] = o["epsilon"] * root if _INSIDE else o["epsilon"] / root
