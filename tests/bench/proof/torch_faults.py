"""Runs inside PyTorch's environment: the real adapter with one fault, certified.

python torch_faults.py REQUESTS        prints, for each of [fault, job, data], the checks as JSON
"""

import functools
import json
import os
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from bench import data, verify
from bench.adapters import torch as adapter
from bench.adapters.torch import layers, model, training
from bench.trial import options_of


def none():
    """The adapter as it is."""


def scrambled():
    """Images reshaped to NCHW where they should be transposed."""

    def reshaped(value):
        if value.ndim != 4:
            return value
        rows, height, width, channels = value.shape
        return value.reshape(rows, channels, height, width)

    model.value_in = reshaped


def ceil_pooling():
    F.max_pool2d = functools.partial(F.max_pool2d, ceil_mode=True)


def dropout_in_evaluation():
    nn.Dropout.forward = lambda self, x: F.dropout(x, self.p, True)


def dropout_never_on():
    nn.Dropout.forward = lambda self, x: x


def sum_for_mean():
    F.cross_entropy = functools.partial(F.cross_entropy, reduction="sum")


def softmax_twice():
    plain = F.cross_entropy
    F.cross_entropy = lambda x, *given, **named: plain(F.softmax(x, 1), *given, **named)


def broadcast():
    wrong = lambda output, target: (output - target[:, 0]).abs().mean()  # noqa: E731
    training._REAL_VALUED["mean-absolute-error"] = wrong


def batchnorm_complement():
    class Complement(nn.BatchNorm2d):
        def __init__(self, features, eps, momentum):
            super().__init__(features, eps=eps, momentum=1 - momentum)

    nn.BatchNorm2d = Complement


def doubled_decay():
    plain = torch.optim.SGD

    def doubled(groups, **named):
        return plain(
            [dict(g, weight_decay=2 * g.get("weight_decay", 0.0)) for g in groups], **named
        )

    torch.optim.SGD = doubled


def late_seed():
    """The weights are drawn first."""
    build, seed = adapter.build, torch.manual_seed
    torch.manual_seed = lambda value: None

    def late(graph, recipe, options):
        model = build(graph, recipe, options)
        seed(options.seed)
        return model

    adapter.build = late


def lengths_ignored():
    plain = layers.OPERATIONS["lstm"]
    layers.OPERATIONS["lstm"] = lambda net, node, inputs, values: plain(
        net, dict(node, lengths=None), inputs, values
    )


def bias_forgotten_in_evaluation():
    plain = layers.OPERATIONS["dense"]

    def forgetful(net, node, inputs, values):
        layer = net.layer(node)
        if layer.training or layer.bias is None:
            return plain(net, node, inputs, values)
        return F.linear(inputs[0], layer.weight)

    layers.OPERATIONS["dense"] = forgetful


def running_mean_not_subtracted():
    plain = layers.OPERATIONS["batchnorm"]

    def forgetful(net, node, inputs, values):
        layer = net.layer(node)
        if layer.training:
            return plain(net, node, inputs, values)
        mean, zero = layer.running_mean.clone(), layer.running_mean * 0
        layer.running_mean.copy_(zero)
        y = plain(net, node, inputs, values)
        layer.running_mean.copy_(mean)
        return y

    layers.OPERATIONS["batchnorm"] = forgetful


def first_six_rows():
    plain = model.loss_of

    def few(spec, values, batch):
        return plain(
            spec, {k: v[:6] for k, v in values.items()}, {k: v[:6] for k, v in batch.items()}
        )

    model.loss_of = few


def first_row_never_learns():
    layers.LAYERS["embedding"] = lambda node, features, native: nn.Embedding(
        node["vocabulary"], node["units"], padding_idx=0
    )


def adam_epsilon_tenfold():
    plain = torch.optim.Adam

    def tenfold(groups, lr, betas, eps):
        return plain(groups, lr=lr, betas=betas, eps=10 * eps)

    torch.optim.Adam = tenfold


def adam_decoupled_decay():
    torch.optim.Adam = torch.optim.AdamW


def stale_predictions():
    """Made with the weights that were loaded, whatever was learnt since."""
    load, predict = model.TorchModel.load, model.TorchModel.predict

    def remember(self, weights):
        load(self, weights)
        self.loaded = weights

    def stale(self, batch):
        now = self.weights()
        load(self, self.loaded)
        found = predict(self, batch)
        load(self, now)
        return found

    model.TorchModel.load, model.TorchModel.predict = remember, stale


def rate_drops_at_step_50():
    plain = model.TorchModel.train_step

    def dropping(self, batch):
        if self._steps == 50:
            for group in self._optimizer.param_groups:
                group["lr"] /= 10
        return plain(self, batch)

    model.TorchModel.train_step = dropping


def same_dropout_every_epoch():
    plain = model.TorchModel.train_epoch

    def seeded(self, batches, on_step):
        torch.manual_seed(7)
        return plain(self, batches, on_step)

    model.TorchModel.train_epoch = seeded


def certify(fault, job, folder):
    globals()[fault]()
    adapter.set_up(options_of(job))
    splits = data.load(folder, job["data"], job["graph"], job["recipe"])
    return list(verify.checks(job, splits, adapter, folder))


def main(requests):
    """Each fault in a process of its own, forked: importing PyTorch once is slow enough."""
    for request in json.loads(Path(requests).read_text()):
        child = os.fork()
        if not child:
            print(json.dumps([request[0], certify(*request)]), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
