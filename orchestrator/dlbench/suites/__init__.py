"""Suites: named matrices of workloads x releases x devices x repeats, as TOML files.

A suite may sweep fields of recipes, change recipes of single workloads, and have named scales.
They ship with dlbench, or come from the search path (`dlbench.extensions`), or are one file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from dlbench import extensions
from dlbench.errors import UserError, unknown
from dlbench.extensions import BUILT_IN
from dlbench.suites.extent import BadExtent, Extent, SuiteScale, checked
from dlbench.toml_file import read_toml

_FOLDER = Path(__file__).parent
FULL = "full"


@dataclass(frozen=True, kw_only=True)
class Suite(Extent):
    """What to run. Names are checked when it is planned."""

    name: str
    about: str = ""
    paper: str = ""
    """The study that it repeats; empty: it repeats none."""
    notes: tuple[str, ...] = ()
    """What has to be known of it: where a study's text and code differ, what stands in for what."""
    workloads: tuple[str, ...]
    """`all` alone means every workload that can be trained."""
    releases: tuple[str, ...]
    """`mxnet`, `mxnet@1.3.0`, or with a variant `tensorflow@2.21.0:fit`."""
    devices: tuple[str, ...] = ("cpu",)
    repeats: int | None = None
    """Trials of each contender; None: what the test needs (planning/repeats.py)."""
    seed: int = 1
    seeds: tuple[int, ...] | str = "each"
    """`each` repeat another one, from `seed` on; the `same`; or a list, in turn, which also says
    how many repeats there are (planning/seeds.py)."""
    settings: tuple[str, ...] = ("matched",)
    data: str = "real"
    time_limit: str = "24h"
    inference: bool = False
    """Whether predictions are measured, too."""
    save: bool = False
    """Whether the trained weights are kept, and the size of the saved model is measured."""
    workload: Mapping[str, Extent] = field(default_factory=dict)
    """What is said of single workloads, by name."""
    scales: Mapping[str, SuiteScale] = field(default_factory=dict)
    scale: str = ""
    """The chosen one; empty: the suite as it is."""
    origin: str = BUILT_IN
    """Where it comes from: dlbench, a folder of the search path, or a file of its own."""

    def at(self, scale: str) -> Suite:
        """The suite at one of its scales; `full` is the suite as it is, unless it says more."""
        if scale not in self.scales:
            if scale == FULL:
                return replace(self, scale=scale)
            raise unknown(f"scale of suite {self.name}", scale, (*self.scales, FULL))
        small = self.scales[scale]
        changes = {
            name: value
            for name in ("workloads", "releases", "devices", "repeats", "time_limit")
            if (value := getattr(small, name))
        }
        return replace(self, scale=scale, **changes)

    def extent(self, workload: str) -> Extent:
        """All that is said of a workload: by the suite, then by the scale."""
        whole = Extent().below(self).below(self.workload.get(workload, Extent()))
        small = self.scales.get(self.scale, SuiteScale())
        return whole.below(small).below(small.workload.get(workload, Extent()))


@dataclass(frozen=True)
class SuiteFile:
    """Where a suite is described; it is read when it is wanted."""

    name: str
    path: Path
    origin: str


def suites() -> dict[str, Suite]:
    """The suites that ship with dlbench, and those of the search path."""
    return {name: load(file.path, file.origin) for name, file in _files().items()}


def names() -> list[str]:
    """Of all suites; their files are not read."""
    return list(_files())


def find(name: str) -> Suite:
    """A suite by its name, or from a user's own file."""
    if name.endswith(".toml") or "/" in name:
        return load(Path(name), origin=Path(name).name)
    known = _files()
    if name not in known:
        raise unknown("suite", name, known, "dlbench list suites")
    return load(known[name].path, known[name].origin)


def _files() -> dict[str, SuiteFile]:
    every = [SuiteFile(path.stem, path, BUILT_IN) for path in sorted(_FOLDER.glob("*.toml"))]
    every += [
        SuiteFile(path.stem, path, who.name) for who, path in extensions.files("suites", ".toml")
    ]
    return extensions.by_name("suite", ((file.path, file) for file in every))


def load(path: Path, origin: str) -> Suite:
    """Read a suite file, strictly."""
    try:
        content = read_toml(path)
    except OSError as error:
        raise UserError(
            f"The suite file {path} can't be read ({error.strerror}).",
            "`dlbench list suites` shows those that ship with dlbench.",
        ) from error
    except ValueError as error:
        raise UserError(
            f"The suite file {path} is not TOML: {error}.", "Correct that line."
        ) from error
    known = [field.name for field in fields(Suite) if field.name not in ("name", "scale", "origin")]
    for key in content:
        if key not in known:
            raise UserError(
                f"The suite file {path} has an unknown key.",
                unknown("key", key, known).remedy,
            )
    for key in ("workloads", "releases"):
        if not content.get(key):
            raise UserError(f"The suite file {path} names no {key}.", f'Add {key} = ["…"].')
    try:
        values = {key: checked(key, value) for key, value in content.items()}
    except BadExtent as error:
        raise UserError(f"In the suite file {path}, {error}.", "Correct that line.") from error
    return Suite(name=path.stem, origin=origin, **values)
