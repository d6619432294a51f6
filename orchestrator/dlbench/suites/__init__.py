"""Suites: named matrices of workloads x releases x devices x repeats, as TOML files.

They ship with dlbench, or come from the search path (`dlbench.extensions`), or are one file.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dlbench import extensions
from dlbench.errors import UserError, unknown
from dlbench.extensions import BUILT_IN
from dlbench.toml_file import read_toml

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Suite:
    """What to run. Names are checked when it is planned."""

    name: str
    about: str
    workloads: tuple[str, ...]
    """`all` alone means every workload that can be trained."""
    releases: tuple[str, ...]
    """`mxnet`, `mxnet@1.3.0`, or with a variant `tensorflow@2.21.0:fit`."""
    devices: tuple[str, ...] = ("cpu",)
    repeats: int | None = None
    """Trials of each contender; None: what the test needs (planning/repeats.py)."""
    seed: int = 1
    settings: tuple[str, ...] = ("matched",)
    epochs: int | None = None
    steps: int | None = None
    data: str = "real"
    time_limit: str = "24h"
    inference: bool = False
    """Whether predictions are measured, too."""
    origin: str = BUILT_IN
    """Where it comes from: dlbench, a folder of the search path, or a file of its own."""


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
    known = {field.name: field for field in fields(Suite) if field.name not in ("name", "origin")}
    for key in content:
        if key not in known:
            raise UserError(
                f"The suite file {path} has an unknown key.",
                unknown("key", key, known).remedy,
            )
    for key in ("workloads", "releases"):
        if not content.get(key):
            raise UserError(f"The suite file {path} names no {key}.", f'Add {key} = ["…"].')
    values: dict[str, Any] = {"about": ""}
    for key, value in content.items():
        values[key] = _checked(path, key, value)
    return Suite(name=path.stem, origin=origin, **values)


_LISTS = {"workloads", "releases", "devices", "settings"}
_NUMBERS = {"repeats", "epochs", "steps"}


def _checked(path: Path, key: str, value: object) -> object:
    if key in _LISTS:
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return tuple(value)
        wanted = "a list of strings"
    elif key in _NUMBERS or key == "seed":
        least = 0 if key == "seed" else 1
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        wanted = f"a whole number from {least}"
    elif key == "inference":
        if isinstance(value, bool):
            return value
        wanted = "true or false"
    else:
        if isinstance(value, str):
            return value
        wanted = "a string"
    raise UserError(f"In the suite file {path}, `{key}` must be {wanted}.", "Correct that line.")
