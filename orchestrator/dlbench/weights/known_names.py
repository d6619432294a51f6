"""Names that public files give to the layers of known models, and the order in which they compute.

ResNets as torchvision and timm name them, and as Hugging Face does; DenseNets as torchvision and
timm do. What a file has in front of all of them (`backbone.body.`) does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_FIRST_BLOCK = re.compile(r"(|.+\.)layer1\.0\.conv1")
_FIRST_STAGE = re.compile(r"(|.+\.)encoder\.stages\.0\.layers\.0\.layer\.0\.convolution")
_HUGGING_FACE: tuple[tuple[str, str], ...] = (
    (r"embedder\.embedder\.convolution", "conv1"),
    (r"embedder\.embedder\.normalization", "bn1"),
    (r"encoder\.stages\.(\d+)\.layers\.(\d+)\.layer\.(\d+)\.convolution", "layer{}.{}.conv{}"),
    (r"encoder\.stages\.(\d+)\.layers\.(\d+)\.layer\.(\d+)\.normalization", "layer{}.{}.bn{}"),
    (r"encoder\.stages\.(\d+)\.layers\.(\d+)\.shortcut\.convolution", "layer{}.{}.downsample.0"),
    (r"encoder\.stages\.(\d+)\.layers\.(\d+)\.shortcut\.normalization", "layer{}.{}.downsample.1"),
)
"""Hugging Face's name, and torchvision's, which counts stages and convolutions from 1."""
_DENSE = re.compile(
    r"(?:|.+\.)features\.(?:(conv|norm)(\d+)|denseblock(\d+)\.denselayer(\d+)\.(norm|conv)\.?(\d+)"
    r"|transition(\d+)\.(norm|conv))"
)


def resnet_names(modules: Iterable[str]) -> dict[str, str]:
    """{torchvision's name: the file's} of a ResNet; empty if it is none."""
    modules = list(modules)
    for first, names in ((_FIRST_BLOCK, _torchvision), (_FIRST_STAGE, _hugging_face)):
        starts = [found[1] for found in map(first.fullmatch, modules) if found]
        if len(starts) == 1:
            found = dict(names(modules, starts[0]))
            if {"conv1", "bn1", "layer1.0.conv1", "layer4.0.bn1"} <= set(found):
                return found
    return {}


def _torchvision(modules: Sequence[str], prefix: str) -> Iterator[tuple[str, str]]:
    return ((name[len(prefix) :], name) for name in modules if name.startswith(prefix))


def _hugging_face(modules: Sequence[str], prefix: str) -> Iterator[tuple[str, str]]:
    for name in modules:
        for pattern, other in _HUGGING_FACE:
            if found := re.fullmatch(re.escape(prefix) + pattern, name):
                numbers = [int(number) for number in found.groups()]
                if numbers:  # blocks count from 0 in both
                    numbers = [numbers[0] + 1, numbers[1], *(number + 1 for number in numbers[2:])]
                yield other.format(*numbers), name
    if "classifier.1" in modules:
        yield "fc", "classifier.1"


def in_order(modules: Sequence[str], *, as_saved: bool) -> list[str] | None:
    """Layers of one kind and shape in the order in which they compute; None: nothing says it.

    `as_saved`: the file has its layers in the order in which the model has them."""
    places = [_place_in_densenet(name) for name in modules]
    if all(places):
        return [name for _, name in sorted(zip(places, modules, strict=True))]
    if as_saved or len(modules) < 2:
        return list(modules)
    if len({re.sub(r"\d+", "#", name) for name in modules}) > 1:
        return None
    return sorted(modules, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])


def _place_in_densenet(name: str) -> tuple[int, ...]:
    found = _DENSE.fullmatch(name)
    if not found:
        return ()
    kind, number, block, layer, _, part, transition, _ = found.groups()
    if kind:  # the first convolution and its norm, numbered 0; the last norm
        return (2 * int(number), 0, 0)
    if block:  # each block is followed by a transition
        return (2 * int(block) - 1, int(layer), int(part))
    return (2 * int(transition), 0, 0)
