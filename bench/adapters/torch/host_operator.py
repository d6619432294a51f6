"""A host node as PyTorch calls it: between layers, or as an operator that the compiler knows."""

import functools
import json
from typing import List

import numpy as np
import torch

from bench import host

_operators = []
"""The operator; it is made when a model with a host node is first compiled."""


def host_call(node, compiled):
    """A function of (tensors, whether in training) that gives what the node makes of them."""
    if not compiled:
        return functools.partial(_on_host, node)
    if not _operators:
        _operators.append(_operator())
    operator, text = _operators[0], json.dumps(node)
    return lambda inputs, training: operator(inputs, text, training)


def _on_host(node, inputs, training):
    """On the tensors' own device; images are NHWC."""
    made = host.call(node, [x.cpu().numpy() for x in inputs], training)
    tensors = [torch.from_numpy(value).to(inputs[0].device) for value in made]
    return [t if t.is_floating_point() else t.long() for t in tensors]


def _operator():
    @torch.library.custom_op("dlbench::host", mutates_args=())
    def call(inputs: List[torch.Tensor], node: str, training: bool) -> List[torch.Tensor]:
        return _on_host(json.loads(node), inputs, training)

    @call.register_fake
    def shapes(inputs, node, training):
        rows, columns = inputs[0].shape[1:3]
        made = host.shapes_of(json.loads(node), rows, columns, training)
        kinds = (torch.float32 if kind is np.float32 else torch.int64 for _, kind in made)
        return [inputs[0].new_empty(shape, dtype=k) for (shape, _), k in zip(made, kinds)]

    return call
