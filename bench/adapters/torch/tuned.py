"""The variant `tuned`: PyTorch's faster ways on a CPU (docs/speed.md).

Not among them: images kept as NHWC (channels_last). It takes a quarter off a ResNet's step, but the
process of 2.13 dies of damaged memory on the small one that is certified.
"""


def fused(recipe, options):
    """Whether the optimiser updates each parameter in one pass; SGD gains nothing by that."""
    of_adam = recipe["optimizer"]["name"] == "adam"
    return options.variant == "tuned" and options.device == "cpu" and of_adam


def tricks(recipe, options):
    """What of this is used, in words."""
    return ["fused Adam"] * fused(recipe, options)
