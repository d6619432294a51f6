"""Chainer's optimisers, and two whose formulas are made to be the recipe's."""

from chainer import optimizers
from chainer.backends import cuda
from chainer.optimizers import ada_delta, nesterov_ag


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


def optimizer_of(recipe, native):
    o = recipe["optimizer"]
    if o["name"] == "sgd":
        if not o["nesterov"]:
            return optimizers.MomentumSGD(o["lr"], o["momentum"])
        return (optimizers.NesterovAG if native else NesterovAG)(o["lr"], o["momentum"])
    if o["name"] == "adam":
        if native:
            return optimizers.Adam(o["lr"])
        return optimizers.Adam(o["lr"], o["beta1"], o["beta2"], o["epsilon"])
    if native:
        return optimizers.AdaDelta()
    if o["lr"] == 1.0:
        return optimizers.AdaDelta(o["rho"], o["epsilon"])
    return AdaDelta(o["lr"], o["rho"], o["epsilon"])
