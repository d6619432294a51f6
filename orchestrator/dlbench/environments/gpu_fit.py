"""Whether a release's GPU packages can work with a driver on a GPU, told before anything is run.

What CUDA and cuDNN support is in one table, `images/cuda/generations.toml`, with its sources; which
GPU code a release's own packages hold is in its release.toml, read from its wheels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from dlbench import paths
from dlbench.environments.releases import Cuda, Release
from dlbench.toml_file import Table

COMPILE_S = 5400.0
"""How much longer the first step may take where the driver must compile all GPU code first: on
Ampere half an hour to an hour and a half was reported for builds of CUDA 10."""

COMPILED = (
    "The driver must compile all GPU code when it first runs, which can take an hour, and it may"
    " fail."
)


@dataclass(frozen=True)
class Generations:
    """What one version of CUDA or cuDNN works with."""

    library: str
    """`CUDA` or `cuDNN`."""
    version: str
    oldest_sm: int
    newest_sm: int
    source: str
    least_driver: str | None = None


@dataclass(frozen=True)
class Fit:
    """How a release and a GPU go together."""

    state: Literal["native", "compiled", "hopeless"]
    """`compiled`: only what the driver compiles when it first runs; slow to start, and may fail."""
    text: str = ""
    """Why, in a sentence; nothing where all is well."""


def fit(release: Release, driver: str, sm: int) -> Fit:
    """How this release goes with this driver and a GPU of this generation (sm_75: 75)."""
    if "gpu" not in release.devices or release.cuda is None:
        why = f" ({release.no_gpu})" if release.no_gpu else ""
        return Fit("hopeless", f"{release.name} has no GPU packages{why}.")
    cuda, known = release.cuda, _of(release.cuda)
    least = cuda.least_driver or next((row.least_driver for row in known if row.least_driver), None)
    if least is not None and numbers(driver) < numbers(least):
        return Fit(
            "hopeless",
            f"{release.name} runs with CUDA {cuda.version}, which needs driver {least} or newer;"
            f" this machine has {driver}.",
        )
    if cuda.newest_sm is not None and sm > cuda.newest_sm:
        return Fit(
            "hopeless",
            f"{release.name} works on GPUs up to sm_{cuda.newest_sm}; this one is sm_{sm}.",
        )
    strictest = max(known, key=lambda row: row.oldest_sm, default=None)
    if strictest is not None and sm < strictest.oldest_sm:
        return Fit(
            "hopeless",
            f"{release.name} runs with {strictest.library} {strictest.version}, which no longer"
            f" knows GPUs older than sm_{strictest.oldest_sm}; this one is sm_{sm}.",
        )
    return _by_code(release, cuda, known, sm)


def _by_code(release: Release, cuda: Cuda, known: Iterable[Generations], sm: int) -> Fit:
    """Whether there is machine code for this generation: in the packages and in the libraries."""
    machine, for_driver = (
        [int(word.partition("_")[2]) for word in cuda.code if word.startswith(kind)]
        for kind in ("sm_", "compute_")
    )
    # Within a major generation, machine code for an older one runs on a newer one.
    own = not cuda.code or any(code // 10 == sm // 10 and code <= sm for code in machine)
    if not own and not any(code <= sm for code in for_driver):
        held = ", ".join(cuda.code)
        return Fit(
            "hopeless", f"{release.name} has no code for sm_{sm}: its packages hold {held} only."
        )
    libraries = all(sm // 10 <= row.newest_sm // 10 for row in known)
    if own and libraries:
        return Fit("native")
    newest = max(machine, default=0) if not own else min(row.newest_sm for row in known)
    who = "has" if not own else "runs with CUDA libraries that have"
    return Fit(
        "compiled",
        f"{release.name} {who} machine code for GPUs up to sm_{newest} only; this one is sm_{sm}."
        f" {COMPILED}",
    )


def nearest(release: Release, others: Iterable[Release], driver: str, sm: int) -> Release | None:
    """The release of the same framework that works here and is next to this one in age."""
    family = [other for other in others if other.framework == release.framework]
    names = [other.name for other in family]
    if release.name not in names:
        return None
    place = names.index(release.name)
    for state in ("native", "compiled"):
        fitting = [
            (abs(number - place), -number, other)
            for number, other in enumerate(family)
            if other.name != release.name and fit(other, driver, sm).state == state
        ]
        if fitting:
            return min(fitting, key=lambda each: each[:2])[2]
    return None


def numbers(version: str) -> tuple[int, ...]:
    """A driver's version, to be compared."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _of(cuda: Cuda) -> list[Generations]:
    """The rows of the table that hold for this release: of its CUDA, and of its cuDNN."""
    table = generations()
    rows = [row for row in table["cuda"] if row.version == cuda.version]
    own = f"{cuda.cudnn}."  # 7.6.5 is one of 7.6, and of 7
    return rows + [row for row in table["cudnn"] if own.startswith(f"{row.version}.")]


def generations() -> dict[str, list[Generations]]:
    """The table: rows of `cuda` and of `cudnn`."""
    return _read(paths.bundled("images") / "cuda" / "generations.toml")


@cache
def _read(path: Path) -> dict[str, list[Generations]]:
    text = Table.read(path)
    text.check_keys({"cuda", "cudnn"})
    return {
        name.lower(): [_row(name, row) for row in text.tables(name.lower())]
        for name in ("CUDA", "cuDNN")
    }


def _row(library: str, table: Table) -> Generations:
    table.check_keys({"version", "oldest_sm", "newest_sm", "source"}, {"least_driver"})
    return Generations(
        library=library,
        version=table.get("version", str),
        oldest_sm=table.get("oldest_sm", int),
        newest_sm=table.get("newest_sm", int),
        source=table.get("source", str),
        least_driver=table.maybe("least_driver", str),
    )
