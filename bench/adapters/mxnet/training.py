"""The recipe's losses and optimisers in MXNet's words."""

import math

import mxnet as mx
import numpy as np
from mxnet.gluon import nn

from bench.adapters.mxnet.layers import OLD_MKLDNN
from bench.weights import is_decayed

_RELEASE = tuple(int(part) for part in mx.__version__.split(".")[:2])

# ---- losses -------------------------------------------------------------------------------------


class Training(nn.HybridBlock):
    """The net with its losses behind it: what is recorded, and traced as one."""

    def __init__(self, net, recipe, shapes):
        super(Training, self).__init__()
        self.net, self._losses, self._shapes = net, recipe["losses"], shapes
        self.inputs = list(net.inputs)
        for spec in self._losses:
            read = [] if net.makes(spec["output"]) else [spec["output"]]
            # a data array may have the name of a node
            read += [name for name in (spec["target"], spec["mask"]) if name is not None]
            self.inputs += [name for name in read if name not in self.inputs]

    def hybrid_forward(self, F, *arrays):
        batch = dict(zip(self.inputs, arrays))
        values = self.net.run(F, {name: batch[name] for name in self.net.inputs})
        parts = [self._loss_of(F, spec, values, batch) * spec["weight"] for spec in self._losses]
        return parts[0] if len(parts) == 1 else F.add_n(*parts)

    def _loss_of(self, F, spec, values, batch):
        """One loss of the recipe: the mean over the batch, or over the places that count."""
        output = values[spec["output"]] if self.net.makes(spec["output"]) else batch[spec["output"]]
        if OLD_MKLDNN:
            output = F.identity(output)  # a loss may read it twice (`ReadByFew`)
        target = batch[spec["target"]]
        places = _PER_PLACE[spec["name"]](F, output, target, self._shapes[spec["output"]])
        if spec["mask"] is None:
            return F.mean(places)
        mask = F.cast(batch[spec["mask"]], "float32")
        return F.sum(places * mask) / (spec.get("divisor") or F.maximum(F.sum(mask), 1.0))


def _softmax_cross_entropy(F, output, target, shape):
    axis = 1 if len(shape) == 3 else -1
    if shape[-1] == 1:  # just 0, which 1.9.1 misses: it takes 4e-6 for the logarithm of 1
        return F.sum(output - output, axis=axis)
    # oneDNN's logarithm, which 1.9.1 takes along the last axis, is off by up to 4e-6: much of the
    # loss of a row that is nearly right. A temperature makes MXNet take its own kernel, which is
    # exact, as quick for few classes, and four times as slow for ten thousand.
    own = {"temperature": 1.0} if _RELEASE >= (1, 7) and shape[-1] <= 100 else {}
    return -F.pick(F.log_softmax(output, axis=axis, **own), target, axis=axis)


def _sigmoid_cross_entropy(F, output, target, shape):
    # gluon's relu(x) - x*t + softplus(-|x|) has a wrong gradient where a logit is just 0
    if not OLD_MKLDNN:  # whose softplus is 88.4 of every larger number
        return F.Activation(output, act_type="softrelu") - output * target
    low = F.minimum(output, 80.0)
    rest = output - low
    return F.Activation(low, act_type="softrelu") + rest - (low + rest) * target


def _smooth_l1(F, output, target, shape):
    error = output - target
    slope = F.clip(error, -1.0, 1.0)
    return slope * (error - 0.5 * slope)


_PER_PLACE = {
    "smooth-l1": _smooth_l1,
    "softmax-cross-entropy": _softmax_cross_entropy,
    "sigmoid-cross-entropy": _sigmoid_cross_entropy,
    "mean-squared-error": lambda F, output, target, shape: F.square(output - target),
    "mean-absolute-error": lambda F, output, target, shape: F.abs(output - target),
}


# ---- optimisers ---------------------------------------------------------------------------------


class AdaDelta(mx.optimizer.AdaDelta):
    """MXNet's, with the learning rate that it leaves out and coupled weight decay."""

    def update(self, index, weight, grad, state):
        self._update_count(index)
        grad = grad * self.rescale_grad + self._get_wd(index) * weight
        squares, deltas = state
        squares[:] = self.rho * squares + (1 - self.rho) * mx.nd.square(grad)
        root = mx.nd.sqrt(deltas + self.epsilon) / mx.nd.sqrt(squares + self.epsilon)
        delta = root * grad
        deltas[:] = self.rho * deltas + (1 - self.rho) * mx.nd.square(delta)
        weight[:] -= self._get_lr(index) * delta


class NAG(mx.optimizer.NAG):
    """MXNet's, with the weight decay in the gradient: since 1.6 it stands beside the momentum."""

    def update_multi_precision(self, index, weight, grad, state):
        decayed = grad + self._get_wd(index) / self.rescale_grad * weight
        wd, self.wd = self.wd, 0.0
        super(NAG, self).update_multi_precision(index, weight, decayed, state)
        self.wd = wd


def optimizer_of(recipe, trained, native):
    """MXNet's optimiser of the recipe; `trained` are (node, parameter's name, parameter)."""
    if not native:  # gluon decays biases, gamma and beta too
        for _, name, parameter in trained:
            parameter.wd_mult = 1.0 if is_decayed(name) else 0.0
    o, kinds = recipe["optimizer"], mx.optimizer
    common = {"learning_rate": o["lr"], "wd": o.get("weight_decay", 0.0)}
    if o["name"] == "sgd":
        nesterov = NAG if common["wd"] and not native else kinds.NAG
        return (nesterov if o["nesterov"] else kinds.SGD)(momentum=o["momentum"], **common)
    if o["name"] == "adam":
        explicit = {} if native else dict(_betas(o), epsilon=o["epsilon"])
        return kinds.Adam(**dict(common, **explicit))
    if native:
        return kinds.AdaDelta(**common)
    plain = o["lr"] == 1.0 and not common["wd"] and not recipe.get("schedule")
    return (kinds.AdaDelta if plain else AdaDelta)(rho=o["rho"], epsilon=o["epsilon"], **common)


def _betas(o):
    """Adam's coefficients in float32, in which its operator has them.

    Of 1 - 0.99999 that leaves a thousandth off; where the bias correction is of the same numbers,
    it does not matter.
    """
    return {name: float(np.float32(o[name])) for name in ("beta1", "beta2")}


def clip(recipe, trained, native):
    """Clip the gradients of all parameters by their norm together."""
    if recipe.get("clip") is None:
        return
    gradients = [parameter.grad() for _, _, parameter in trained]
    if native or recipe["clip"] >= 1e-3:
        mx.gluon.utils.clip_global_norm(gradients, recipe["clip"])
        return
    # MXNet adds 1e-8 to the norm that it divides by: next to nothing unless that is as small
    norm = mx.nd.norm(mx.nd.concat(*[mx.nd.norm(g) for g in gradients], dim=0))
    factor = recipe["clip"] / mx.nd.maximum(norm, recipe["clip"])
    for gradient in gradients:
        gradient[:] = mx.nd.broadcast_mul(gradient, factor.reshape((1,) * len(gradient.shape)))


def set_rate(trainer, recipe, rate, native):
    o = recipe["optimizer"]
    # MXNet's velocities have the learning rate in them; old releases' NAG is written out, without
    inside = o.get("momentum") and not (o["nesterov"] and not hasattr(mx.nd, "nag_mom_update"))
    if inside and not native:
        for updater in trainer._updaters:
            for velocity in updater.states.values():
                velocity *= rate / trainer.learning_rate
    trainer.set_learning_rate(rate)


def corrects_adam(recipe, native):
    """Whether Adam's epsilon must be moved each step: it stands inside the bias correction."""
    o = recipe["optimizer"]
    return o["name"] == "adam" and not native and not o.get("hat_epsilon")


def correct_adam(optimizer, recipe, step):
    o = recipe["optimizer"]
    optimizer.epsilon = o["epsilon"] * math.sqrt(1 - _betas(o)["beta2"] ** step)
