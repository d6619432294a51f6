"""The recipe's losses and optimisers in Chainer's words."""

import chainer
import numpy as np
from chainer import functions as F
from chainer import optimizers
from chainer.backends import cuda
from chainer.optimizers import ada_delta, nesterov_ag

from bench.adapters.base import given
from bench.formats import Unsupported
from bench.weights import is_decayed

# ---- losses -------------------------------------------------------------------------------------


def loss_of(spec, values, batch):
    """One loss of the recipe: the mean over the batch, or over the places that count."""
    output, target = values[spec["output"]], _array(spec["target"], values, batch)
    mask = _array(spec["mask"], values, batch) if spec["mask"] else None
    divisor = spec.get("divisor")
    if spec["name"] == "softmax-cross-entropy" and not divisor:
        return _softmax_cross_entropy(output, target, mask)
    mean, per_place = _PER_PLACE[spec["name"]]
    if mask is None:
        return mean(output, target)
    mask = mask.astype(np.float32)
    return F.sum(per_place(output, target) * mask) / (divisor or max(float(mask.sum()), 1.0))


def _array(name, values, batch):
    return array_of(given(name, values, batch))


def array_of(value):
    """Of a variable, or an array itself: a batch's, or what is only reshaped of one."""
    return getattr(value, "array", value)


def _softmax_of_each(output, target):
    if output.ndim != 3:
        return F.softmax_cross_entropy(output, target, reduce="no")
    rows = F.reshape(output, (-1, output.shape[-1]))
    places = F.softmax_cross_entropy(rows, target.reshape(-1), reduce="no")
    return F.reshape(places, target.shape)


def _softmax_cross_entropy(output, target, mask):
    if mask is not None:  # what has the label -1 is left out of the mean
        target = cuda.get_array_module(target).where(mask != 0, target, np.int32(-1))
    if output.ndim == 3:  # a sequence; Chainer wants the classes on axis 1
        output, target = F.reshape(output, (-1, output.shape[-1])), target.reshape(-1)
    return F.softmax_cross_entropy(output, target)


def _sigmoid_cross_entropy(output, target):
    """Of any target from 0 to 1; Chainer's own takes 0 and 1 alone."""
    return F.softplus(output) - output * target


def _smooth_l1(output, target):
    error = output - target
    slope = F.clip(error, -1.0, 1.0)
    return slope * (error - 0.5 * slope)


_PER_PLACE = {
    "softmax-cross-entropy": (F.softmax_cross_entropy, _softmax_of_each),
    "smooth-l1": (lambda output, target: F.mean(_smooth_l1(output, target)), _smooth_l1),
    "sigmoid-cross-entropy": (
        lambda output, target: F.mean(_sigmoid_cross_entropy(output, target)),
        _sigmoid_cross_entropy,
    ),
    "mean-squared-error": (F.mean_squared_error, F.squared_error),
    "mean-absolute-error": (F.mean_absolute_error, F.absolute_error),
}
"""{loss: (its mean, its value in every place)}."""


# ---- optimisers ---------------------------------------------------------------------------------


def optimizer_of(recipe, net, trained, native):
    """Chainer's optimiser of the recipe; `trained` are (node, parameter's name, parameters)."""
    optimizer = _rule_of(recipe, native)
    optimizer.setup(net)
    if recipe.get("clip") is not None:  # comes before the hooks of the rules below
        optimizer.add_hook(Clipping(recipe["clip"]))
    net.disable_update()  # Chainer gives zeros to what has no gradient, and decays it
    decay = recipe["optimizer"].get("weight_decay", 0.0)
    for _, name, parameters in trained:
        for parameter in parameters:
            parameter.update_rule.enabled = True
            if decay and (native or is_decayed(name)):
                parameter.update_rule.add_hook(chainer.optimizer_hooks.WeightDecay(decay))
    return optimizer


class Clipping(chainer.optimizer_hooks.GradientClipping):
    """Chainer's, of what is trained: it counts the second bias of an LSTM, too."""

    def __call__(self, optimizer):
        parameters = [p for p in optimizer.target.params(False) if p.update_rule.enabled]
        norm = sum(float((p.grad**2).sum()) for p in parameters if p.grad is not None) ** 0.5
        for parameter in parameters:
            if norm > self.threshold and parameter.grad is not None:
                parameter.grad *= self.threshold / norm


def _rule_of(recipe, native):
    o = recipe["optimizer"]
    if o["name"] == "sgd":
        if not o["momentum"]:
            return optimizers.SGD(o["lr"])
        if not o["nesterov"]:
            return optimizers.MomentumSGD(o["lr"], o["momentum"])
        return (optimizers.NesterovAG if native else NesterovAG)(o["lr"], o["momentum"])
    if o["name"] == "adam":
        if native:
            return optimizers.Adam(o["lr"])
        return optimizers.Adam(o["lr"], o["beta1"], o["beta2"], o["epsilon"])
    if native:
        return optimizers.AdaDelta()
    if o["lr"] == 1.0 and not recipe.get("schedule"):
        return optimizers.AdaDelta(o["rho"], o["epsilon"])
    return AdaDelta(o["lr"], o["rho"], o["epsilon"])


class NesterovRule(nesterov_ag.NesterovAGRule):
    def update_core(self, param):
        v, lr, momentum = self.state["v"], self.hyperparam.lr, self.hyperparam.momentum
        v *= momentum
        v -= lr * param.grad
        param.data += momentum * v - lr * param.grad


class NesterovAG(optimizers.NesterovAG):
    """Nesterov's momentum; Chainer's own puts the new velocity where the old one belongs."""

    def create_update_rule(self):
        return NesterovRule(self.hyperparam)


class AdaDeltaRule(ada_delta.AdaDeltaRule):
    lr = 1.0

    def update_core(self, param):
        squares, deltas = self.state["msg"], self.state["msdx"]
        rho, eps, grad = self.hyperparam.rho, self.hyperparam.eps, param.grad
        squares *= rho
        squares += (1 - rho) * grad * grad
        delta = cuda.get_array_module(grad).sqrt((deltas + eps) / (squares + eps)) * grad
        deltas *= rho
        deltas += (1 - rho) * delta * delta
        param.data -= self.lr * delta


class AdaDelta(optimizers.AdaDelta):
    """Adadelta with the learning rate that Chainer's leaves out."""

    def __init__(self, lr, rho, eps):
        super(AdaDelta, self).__init__(rho, eps)
        self._lr = lr

    def create_update_rule(self):
        rule = AdaDeltaRule(self.hyperparam)
        rule.lr = self._lr
        return rule

    def set_rate(self, rate):
        for parameter in self.target.params():
            parameter.update_rule.lr = rate


def set_rate(optimizer, rate, native):
    if isinstance(optimizer, AdaDelta):
        optimizer.set_rate(rate)
    elif isinstance(optimizer, optimizers.AdaDelta):
        raise Unsupported("Chainer's own AdaDelta has no learning rate that could change")
    elif isinstance(optimizer, optimizers.Adam):
        optimizer.alpha = rate
    else:
        if not native:  # Chainer's velocities have the learning rate in them
            for parameter in optimizer.target.params():
                velocity = (parameter.update_rule.state or {}).get("v")
                if velocity is not None:
                    velocity *= rate / optimizer.lr
        optimizer.lr = rate


def corrects_adam(recipe, native):
    """Whether Adam's epsilon must be moved each step: Chainer's is before the bias correction."""
    o = recipe["optimizer"]
    return o["name"] == "adam" and not native and not o.get("hat_epsilon")


def correct_adam(optimizer, recipe, step):
    o = recipe["optimizer"]
    optimizer.eps = o["epsilon"] * (1 - o["beta2"] ** step) ** 0.5
