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

    adapter.value_in = reshaped


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
    F.cross_entropy = lambda x, *given, **named: plain(F.softmax(x, -1), *given, **named)


def broadcast():
    F.l1_loss = lambda output, target: (output - target[:, 0]).abs().mean()


def batchnorm_complement():
    class Complement(nn.BatchNorm2d):
        def __init__(self, features, eps, momentum):
            super().__init__(features, eps=eps, momentum=1 - momentum)

    nn.BatchNorm2d = Complement


def doubled_decay():
    plain = torch.optim.SGD

    def doubled(groups, **named):
        return plain([dict(g, weight_decay=2 * g["weight_decay"]) for g in groups], **named)

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
    plain = adapter.Net.__init__

    def forgetful(self, graph, layout, native):
        nodes = [dict(n, lengths=None) if n["op"] == "lstm" else n for n in graph["nodes"]]
        plain(self, dict(graph, nodes=nodes), layout, native)

    adapter.Net.__init__ = forgetful


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
