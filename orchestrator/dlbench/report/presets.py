"""Choices that readers of a report want most: the contenders and cases of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dlbench.report.material import Material
from dlbench.versions import release_order


def presets(material: Material) -> list[dict[str, Any]]:
    """For the page: of each its name, and the positions of its contenders and cases.

    Everything first; what would choose everything, too, or nothing, is left out."""
    names = list(material.contenders)
    everyone, every = list(range(len(names))), list(range(len(material.cases)))
    found = [{"name": "Everything", "contenders": everyone, "cases": every}]
    for name, contenders, cases in _narrower(material):
        chosen = [names.index(one) for one in contenders]
        if chosen and cases and (chosen, cases) != (everyone, every):
            found.append({"name": name, "contenders": chosen, "cases": cases})
    return found


def _narrower(material: Material) -> Iterator[tuple[str, list[str], list[int]]]:
    every = list(range(len(material.cases)))
    releases = {group.name: group.release for group in material.groups}
    newest: dict[str, str] = {}
    for name, framework in material.contenders.items():
        known = newest.get(framework)
        if known is None or release_order(releases[name]) > release_order(known):
            newest[framework] = releases[name]
    if len(newest) > 1:
        of_newest = [n for n, f in material.contenders.items() if releases[n] == newest[f]]
        yield "Newest of each", of_newest, every
    several = Counter(f for f in material.contenders.values())
    for framework in sorted(f for f, n in several.items() if n > 1):
        own = [n for n, f in material.contenders.items() if f == framework]
        yield f"Releases of {framework}", own, every
    devices = [str(case.groups[0].rows[0]["device"]) for case in material.cases]
    for device in sorted(set(devices)):
        on_device = [i for i, own in enumerate(devices) if own == device]
        run = {group.name for i in on_device for group in material.cases[i].groups}
        there = [name for name in material.contenders if name in run]
        yield f"{device.upper()} only", there, on_device
