"""The variant `tuned`: which of PyTorch's faster ways a model can take on a CPU (docs/speed.md)."""

from bench.ops import shapes_of


def channels_last(graph, options):
    """Whether images are kept as NHWC: oneDNN's convolutions and the norms then move none of them.

    Not where an image has one channel: its strides fit both orders, and 2.13 mixes them up.
    """
    images = [shape for shape in shapes_of(graph).values() if len(shape) == 3]
    convolves = any(node["op"] == "conv2d" for node in graph["nodes"])
    return _is_tuned(options) and convolves and all(shape[-1] > 1 for shape in images)


def fused(recipe, options):
    """Whether the optimiser updates each parameter in one pass; SGD gains nothing by that."""
    return _is_tuned(options) and recipe["optimizer"]["name"] == "adam"


def tricks(graph, recipe, options):
    """What of this is used, in words."""
    used = ["images in memory as NHWC (channels_last)"] * channels_last(graph, options)
    return used + ["fused Adam"] * fused(recipe, options)


def _is_tuned(options):
    return options.variant == "tuned" and options.device == "cpu"
