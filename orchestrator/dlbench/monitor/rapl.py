"""Energy of the processors, where the kernel offers its counters (RAPL, through powercap).

The counters are those of whole processor packages: what other programs used meanwhile is in them,
too. Many kernels let only root read them; then there is none, and the reason says so.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/sys/class/powercap")


class CpuEnergy:
    """The energy of all processor packages since it was made. `reason`: why there is none."""

    def __init__(self, root: Path | None = None) -> None:
        self.reason: str | None = None
        self.refused = False
        """They are there, and this user may not read them."""
        self._packages: list[_Package] = []
        places = sorted((root or ROOT).glob("intel-rapl:*"))
        if not places:
            self.reason = "The kernel offers no energy counters (powercap) here."
            return
        try:
            # Below a package lie its parts, whose energy is in the package's; beside it may lie
            # `psys`, the whole machine's, in which it is, too.
            packages = [place for place in places if _text(place / "name").startswith("package")]
            self._packages = [_Package(place) for place in packages]
        except PermissionError:
            self.refused = True
            self.reason = "Only root may read the kernel's energy counters here."
        except (OSError, ValueError) as error:
            self.reason = f"The kernel's energy counters can't be read ({error})."
        else:
            if not self._packages:
                self.reason = "The kernel has no energy counter of a processor package here."

    def joules(self) -> float | None:
        """So far; None where it is not known."""
        if not self._packages:
            return None
        try:
            return round(sum(package.joules() for package in self._packages), 3)
        except (OSError, ValueError) as error:
            self.reason = f"The kernel's energy counters can no longer be read ({error})."
            self._packages = []
            return None


class _Package:
    """One counter, which begins again at 0 when it is full."""

    def __init__(self, folder: Path) -> None:
        self._counter = folder / "energy_uj"
        self._range = int(_text(folder / "max_energy_range_uj"))
        self._before = int(_text(self._counter))
        self._total = 0

    def joules(self) -> float:
        now = int(_text(self._counter))
        step = now - self._before
        self._total += step if step >= 0 else step + self._range
        self._before = now
        return self._total / 1e6


def _text(path: Path) -> str:
    return path.read_text(encoding="ascii").strip()
