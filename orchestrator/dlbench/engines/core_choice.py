"""Which cores a trial is pinned to: always the same ones, and one of each pair of hyper-threads.

Two hyper-threads share one core's units: a trial with as many cores as another one must not get
half of them, so a second thread of a core is taken only when there is no core left without one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

_TOPOLOGY = Path("/sys/devices/system/cpu")

Place = tuple[int, ...]
"""Where a logical core is: its package, and the logical cores that share its units."""


def choose_cores(
    usable: Collection[int], number: int, place_of: Callable[[int], Place] | None = None
) -> tuple[int, ...]:
    """So many of the usable ones, or all of them; `place_of` says which share a core."""
    place_of = place_of or read_place
    seen: dict[Place, int] = {}
    ranked = []
    for core in sorted(usable):
        place = place_of(core)
        turn = seen[place] = seen.get(place, -1) + 1
        package = place[0] if place else 0
        ranked.append((turn, package, core))
    return tuple(sorted(core for _, _, core in sorted(ranked)[: max(1, number)]))


def read_place(core: int, folder: Path = _TOPOLOGY) -> Place:
    """The package of a logical core and its siblings; one of its own where the kernel is silent."""
    topology = folder / f"cpu{core}" / "topology"
    siblings = _listed(_text(topology / "thread_siblings_list"))
    package = _text(topology / "physical_package_id")
    return (int(package) if package.isdigit() else 0, *(siblings or [core]))


def _listed(text: str) -> list[int]:
    """The numbers of `0-3,8`."""
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            return []
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
