"""What the variants `tuned` on TensorFlow share: which models its compiler, XLA, is given.

Its loops and small products take about half the time of TensorFlow's own kernels; its convolutions
and poolings on a CPU take more than oneDNN's, so models with these are trained as by the first
variant (docs/speed.md).
"""

from bench.ops import host_nodes

_CONVOLVES = ("conv2d", "maxpool", "avgpool")


def compiles(graph, options):
    """Whether XLA is given the model: no windows over images, nothing that NumPy computes."""
    slow = any(node["op"] in _CONVOLVES for node in graph["nodes"])
    on_cpu = options.device == "cpu"
    return options.variant == "tuned" and on_cpu and not slow and not host_nodes(graph)


def tricks(compiled):
    """For the trial's `path`."""
    return ["the step compiled by XLA, once for each size of batch"] if compiled else []
