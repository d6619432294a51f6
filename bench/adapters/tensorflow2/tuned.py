"""The variant `tuned`: TensorFlow's compiler, XLA, for models without convolutions.

Its loops and small products take about half the time of TensorFlow's own kernels; its convolutions
and poolings on a CPU take more than oneDNN's, so models with these are trained as by `function`
(docs/speed.md).
"""

import tensorflow as tf

from bench.adapters.tensorflow2.model import FunctionModel
from bench.ops import host_nodes

_CONVOLVES = ("conv2d", "maxpool", "avgpool")


class TunedModel(FunctionModel):
    def __init__(self, graph, recipe, options):
        super().__init__(graph, recipe, options)
        self._compiles = compiles(graph, options.device)
        tricks = ["the step compiled by XLA, once for each size of batch"]
        self.path["tuned"] = tricks if self._compiles else []

    def _step_function(self, batch):
        if not self._compiles:
            return super()._step_function(batch)
        signature = {name: self._open_spec(name, value) for name, value in batch.items()}
        return tf.function(
            self._take_step, input_signature=[signature], autograph=False, jit_compile=True
        )


def compiles(graph, device):
    """Whether XLA is given the model: no windows over images, nothing that NumPy computes."""
    slow = any(node["op"] in _CONVOLVES for node in graph["nodes"])
    return device == "cpu" and not slow and not host_nodes(graph)
