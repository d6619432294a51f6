"""What people bring: folders with workloads, data sets, suites, releases and adapters of their own.

A folder is searched when the user named it with `--path` or in the variable DLBENCH_PATH, or when
an installed package offers it as an entry point of the group `dlbench`. Nothing else is searched,
and never the current folder by itself: loading a Python file from such a folder runs it.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar

from dlbench import paths
from dlbench.errors import UserError

BUILT_IN = "built-in"
VARIABLE = "DLBENCH_PATH"
ENTRY_POINTS = "dlbench"
KINDS = ("workloads", "datasets", "suites", "releases", "adapters")


@dataclass(frozen=True)
class Extension:
    """One folder of the search path. Its name is what people see: of the folder or the package."""

    name: str
    folder: Path


class Definition(Protocol):
    """Anything that has a name and comes from somewhere: a workload, a data set, a release."""

    @property
    def name(self) -> str: ...
    @property
    def origin(self) -> str: ...


_Definition = TypeVar("_Definition", bound=Definition)
_Value = TypeVar("_Value")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]*")
"""Names become parts of commands, of folders and of images."""
_chosen: tuple[Path, ...] = ()
_loading: set[str] = set()


def use(folders: Iterable[Path]) -> None:
    """Search these folders, in place of those of an earlier call."""
    global _chosen
    _chosen = tuple(folder.expanduser().absolute() for folder in folders)


def search_path() -> tuple[Extension, ...]:
    """The folders to search: of `--path`, then of DLBENCH_PATH, then of installed packages."""
    return _search_path(_chosen, os.environ.get(VARIABLE, ""))


@cache
def _search_path(chosen: tuple[Path, ...], variable: str) -> tuple[Extension, ...]:
    # an empty part of the variable is nothing: elsewhere it would mean the current folder
    named = [Path(part).expanduser() for part in variable.split(os.pathsep) if part.strip()]
    extensions = [_opened(folder, "--path") for folder in chosen]
    extensions += [_opened(folder, VARIABLE) for folder in named]
    extensions += _installed()
    unique: dict[Path, Extension] = {}
    for extension in extensions:
        unique.setdefault(extension.folder, extension)
    return tuple(unique.values())


def _opened(folder: Path, named_by: str) -> Extension:
    real = folder.resolve()
    if not real.is_dir():
        raise UserError(f"{named_by} names {folder}, which is not a folder.", "Check its spelling.")
    if not any((real / kind).is_dir() for kind in KINDS):
        raise UserError(
            f"{named_by} names {folder}, which has nothing for dlbench in it.",
            f"Put your files into folders called {', '.join(KINDS[:-1])} or {KINDS[-1]} there.",
        )
    if real.name == BUILT_IN:
        raise UserError(
            f"{named_by} names {folder}: what is in it would seem to ship with dlbench.",
            "Give the folder another name.",
        )
    return Extension(real.name, real)


@cache
def _installed() -> tuple[Extension, ...]:
    """The folders that installed packages offer. The packages themselves are not imported."""
    from importlib.metadata import entry_points

    offered = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    return tuple(
        Extension(
            entry.dist.name if entry.dist else entry.module,
            _package_folder(entry.name, entry.module),
        )
        for entry in offered
    )


def _package_folder(name: str, module: str) -> Path:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise UserError(
            f"The entry point {name!r} of group {ENTRY_POINTS!r} names {module!r}, which is not a"
            " package.",
            "Repair or uninstall the Python package that declares it.",
        )
    return Path(folders[0]).resolve()


def files(kind: str, *endings: str) -> Iterator[tuple[Extension, Path]]:
    """The files of this kind on the search path; a name that begins with `_` is not one of them."""
    for extension in search_path():
        for path in sorted((extension.folder / kind).glob("*")):
            if path.suffix in endings and not path.name.startswith(("_", ".")) and path.is_file():
                yield extension, path


def built_in(package: str, folders: Iterable[str], variable: str) -> Iterator[tuple[Path, Any]]:
    """What the modules of a package of dlbench's define under this name, or several under its
    plural; a module that has neither only helps others."""
    for module in pkgutil.iter_modules(folders):
        if not module.name.startswith("_"):
            loaded = importlib.import_module(f"{package}.{module.name}")
            single = [getattr(loaded, variable)] if hasattr(loaded, variable) else []
            for value in getattr(loaded, f"{variable}S", single):
                yield Path(str(loaded.__file__)), value


def load_python(
    extension: Extension, path: Path, variable: str, kind: type[_Value]
) -> tuple[_Value, ...]:
    """What the file defines under this name, or several under its plural. This runs the file."""
    root = f"dlbench_extension_{hashlib.sha256(bytes(extension.folder)).hexdigest()[:12]}"
    if root not in sys.modules:  # a package, so that files can import from their neighbours
        package = ModuleType(root)
        package.__path__ = [str(extension.folder)]
        sys.modules[root] = package
    name = f"{root}.{path.parent.name}.{path.stem}"
    if "." in path.stem:
        raise UserError(f"{path} can't be loaded: Python wants a name without dots.", "Rename it.")
    if name in _loading:
        raise UserError(
            "It looks up other definitions before its own is complete",
            "Import what you need from its module, such as dlbench.workloads.digits_cnn.",
        )
    importlib.invalidate_caches()
    _loading.add(name)
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise broken(path, error) from error
    finally:
        _loading.discard(name)
    single = getattr(module, variable, None)
    values = getattr(module, f"{variable}S", (single,))
    if not (isinstance(values, list | tuple) and values
            and all(isinstance(value, kind) for value in values)):  # fmt: skip
        raise UserError(
            f"{path} does not define {variable}.",
            f"Write {variable} = {kind.__name__}(…) in it, or {variable}S = a tuple of several; a"
            " file that only helps others has a name that begins with _.",
        )
    return tuple(values)


def broken(path: Path, error: BaseException) -> UserError:
    """The error for a file that failed while it ran: which file, which line, why."""
    steps = traceback.extract_tb(error.__traceback__)
    line = next((step.lineno for step in reversed(steps) if step.filename == str(path)), None)
    why, remedy = f"{type(error).__name__}: {error}", "Correct the file."
    if isinstance(error, UserError):
        why, remedy = error.problem.rstrip("."), error.remedy
    elif isinstance(error, SyntaxError) and error.filename == str(path):
        line, why = error.lineno, error.msg
    position = f" (line {line})" if line else ""
    return UserError(f"{path} can't be used: {why}{position}.", remedy)


def by_name(kind: str, definitions: Iterable[tuple[Path, _Definition]]) -> dict[str, _Definition]:
    """The definitions by name. Two of one name are refused: a result must say what was run."""
    chosen: dict[str, tuple[Path, _Definition]] = {}
    for path, definition in definitions:
        if not _PLAIN_NAME.fullmatch(str(definition.name)):
            raise UserError(
                f"{path} can't be used: {definition.name!r} is not a plain name.",
                "Use letters, digits, `.`, `_` and `-` only.",
            )
        if definition.name in chosen:
            other, first = chosen[definition.name]
            raise UserError(
                f"There are two {kind}s called {definition.name!r}: {other} and {path}.",
                "Give yours another name: what ships with dlbench can't be replaced."
                if BUILT_IN in (first.origin, definition.origin)
                else "Rename one of them, or search only one of the folders.",
            )
        chosen[definition.name] = path, definition
    return {name: definition for name, (_, definition) in sorted(chosen.items())}


@dataclass(frozen=True)
class Adapter:
    """A module that trains in one framework; those of dlbench are in bench/adapters."""

    name: str
    file: Path
    extension: Extension | None = None
    """Where it comes from; None: it ships with dlbench."""

    @property
    def origin(self) -> str:
        return self.extension.name if self.extension else BUILT_IN


def adapters() -> dict[str, Adapter]:
    """All packages and modules of bench/adapters, and the modules of the search path, by name."""
    folder = paths.bundled("bench") / "adapters"
    everything = [Adapter(path.parent.name, path) for path in sorted(folder.glob("*/__init__.py"))]
    own = sorted(folder.glob("*.py"))
    everything += [Adapter(path.stem, path) for path in own if path.stem != "__init__"]
    everything += [Adapter(path.stem, path, who) for who, path in files("adapters", ".py")]
    return by_name("adapter", ((adapter.file, adapter) for adapter in everything))
