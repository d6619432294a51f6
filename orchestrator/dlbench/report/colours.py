"""A colour for every contender: one for its framework, a shade of that for each of its releases.

The frameworks' colours differ from each other for every kind of eye, on either background
(tests/orchestrator/report/test_colours.py). The newest release has its framework's own colour, the
older ones come nearer to the background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BACKGROUNDS = ("#ffffff", "#14171b")
"""Of the light and of the dark page; `--back` in report.css.j2."""
_FAINTEST = 0.5
"""How far the oldest release may come to the background."""
_STEP = 0.2
"""How far from one release to the next, while there is room."""


@dataclass(frozen=True)
class Colour:
    light: str
    dark: str


FRAMEWORKS = {
    "pytorch": Colour("#d11c00", "#ff4f21"),
    "tensorflow": Colour("#2f76fc", "#7fb4e5"),
    "keras": Colour("#cb3172", "#ff8a93"),
    "mxnet": Colour("#0a9ea5", "#09e5bb"),
    "theano": Colour("#2f7b3d", "#5a9d51"),
    "chainer": Colour("#a3931a", "#e3db00"),
    "jax": Colour("#6a02e5", "#a07fff"),
    "numpy": Colour("#67797f", "#c2c3d5"),
    "paddlepaddle": Colour("#063b77", "#4369d7"),
}
OTHERS = (
    Colour("#761017", "#fcbf82"),
    Colour("#d1817c", "#bd5d96"),
    Colour("#554748", "#94756e"),
)
"""For frameworks that did not ship with dlbench, in turn."""


def framework_colours(frameworks: Sequence[str]) -> dict[str, Colour]:
    strangers = [name for name in frameworks if name not in FRAMEWORKS]
    return {
        name: FRAMEWORKS.get(name) or OTHERS[strangers.index(name) % len(OTHERS)]
        for name in frameworks
    }


def contender_colours(contenders: Mapping[str, str]) -> dict[str, Colour]:
    """`contenders`: the framework of each, the oldest release of a framework first."""
    own = framework_colours(list(dict.fromkeys(contenders.values())))
    found = dict.fromkeys(contenders, Colour("", ""))
    for framework, colour in own.items():
        names = [name for name, of in contenders.items() if of == framework]
        step = min(_STEP, _FAINTEST / max(1, len(names) - 1))
        for age, name in enumerate(reversed(names)):
            found[name] = Colour(
                *(
                    _mixed(one, back, age * step)
                    for one, back in zip((colour.light, colour.dark), BACKGROUNDS, strict=True)
                )
            )
    return found


def channels(colour: str) -> tuple[int, int, int]:
    """Red, green, blue from 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _mixed(colour: str, other: str, share: float) -> str:
    pairs = zip(channels(colour), channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)
