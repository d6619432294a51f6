"""The colours of frameworks differ for every kind of eye, on either background."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import pytest

from dlbench.report.asset_files import asset
from dlbench.report.colours import BACKGROUNDS, FRAMEWORKS, OTHERS, channels, contender_colours

Vector = npt.NDArray[np.float64]

_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip
_EYES = {
    "usual": np.eye(3),
    # Machado, Oliveira, Fernandes 2009, severity 1
    "protanope": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranope": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanope": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip
_LEAST = {"usual": 17.0, "protanope": 10.0, "deuteranope": 10.0, "tritanope": 10.0}
"""Of CIEDE2000; below 2 or so two colours look alike, the former blues were 11 apart."""


def _linear(colour: str) -> Vector:
    value = np.array(channels(colour)) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def _lab(colour: str, eye: str) -> Vector:
    seen = np.clip(_EYES[eye] @ _linear(colour), 0, 1)
    x = (_TO_XYZ @ seen) / (_TO_XYZ @ np.ones(3))
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: str, other: str, eye: str = "usual") -> float:
    """CIEDE2000."""
    (l1, a1, b1), (l2, a2, b2) = _lab(one, eye), _lab(other, eye)
    chroma = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 1.5 - 0.5 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    a1, a2 = a1 * g, a2 * g
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn) / 2)
    lm, cm = (l1 + l2) / 2, (c1 + c2) / 2
    hm = ((h1 + h2 + (360 if abs(h1 - h2) > 180 else 0)) / 2) % 360
    t = 1.0
    for share, times, shift in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63)):
        t += share * np.cos(np.radians(times * hm + shift))
    sl = 1 + 0.015 * (lm - 50) ** 2 / np.sqrt(20 + (lm - 50) ** 2)
    sc, sh = 1 + 0.045 * cm, 1 + 0.015 * cm * t
    r = -2 * np.sqrt(cm**7 / (cm**7 + 25.0**7))
    r *= np.sin(np.radians(60 * np.exp(-(((hm - 275) / 25) ** 2))))
    dl, dc, dh = (l2 - l1) / sl, (c2 - c1) / sc, dh / sh
    return float(np.sqrt(dl**2 + dc**2 + dh**2 + r * dc * dh))


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((float(_TO_XYZ[1] @ _linear(c)) for c in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_distance_is_that_of_the_published_pairs() -> None:
    """White and black are 100 apart; a grey is nothing apart from itself."""
    assert distance("#ffffff", "#000000") == pytest.approx(100, abs=0.01)
    assert distance("#808080", "#808080") == 0
    assert distance("#0068ab", "#3a93bd") < 20, "the two blues of before"


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("eye", list(_EYES))
def test_no_two_frameworks_look_alike(eye: str, theme: int) -> None:
    every = {**FRAMEWORKS, **{f"other {i}": colour for i, colour in enumerate(OTHERS)}}
    colours = {name: (colour.light, colour.dark)[theme] for name, colour in every.items()}
    apart = {
        pair: distance(colours[pair[0]], colours[pair[1]], eye) for pair in combinations(colours, 2)
    }
    nearest = min(apart, key=lambda pair: apart[pair])
    assert apart[nearest] >= _LEAST[eye], nearest


@pytest.mark.parametrize("theme", [0, 1])
def test_every_framework_can_be_seen_on_its_background(theme: int) -> None:
    back = BACKGROUNDS[theme]
    assert f"--back: {back};" in asset("report.css.j2")
    for name, colour in FRAMEWORKS.items():
        assert _contrast((colour.light, colour.dark)[theme], back) >= 3, name


@pytest.mark.parametrize("releases", [2, 4, 7])
def test_releases_of_a_framework_get_shades_that_end_in_its_own_colour(releases: int) -> None:
    for framework, own in FRAMEWORKS.items():
        names = [f"{framework}@{i}" for i in range(releases)]
        found = contender_colours(dict.fromkeys(names, framework))
        assert list(found) == names
        assert found[names[-1]] == own
        for theme, back in enumerate(BACKGROUNDS):
            shades = [(found[name].light, found[name].dark)[theme] for name in names]
            seen = [_contrast(shade, back) for shade in shades]
            assert seen == sorted(seen) and seen[0] > 1.3, "the older, the fainter"
            assert all(distance(a, b) >= 2 for a, b in pairwise(shades))


def test_frameworks_from_elsewhere_share_no_colour_while_there_are_any() -> None:
    names = {f"own{i}@1": f"own{i}" for i in range(len(OTHERS))}
    assert len({colour.light for colour in contender_colours(names).values()}) == len(OTHERS)
