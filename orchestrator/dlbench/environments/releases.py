"""The releases dlbench knows: one folder each, `images/<framework>/<version>/`.

A folder holds `release.toml` (what a person decided) and a lock per device (what follows from it).
People's own releases come from the search path, `releases/<framework>/<version>/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from packaging.version import InvalidVersion

from dlbench import errors, extensions, paths
from dlbench.environments import locks
from dlbench.extensions import BUILT_IN, Extension
from dlbench.toml_file import read_toml
from dlbench.versions import version_order

DEVICES = ("cpu", "gpu")

_REQUIRED = {"framework", "version", "published", "adapter", "python", "variants", "verified"}
_OPTIONAL = {"packages", "variables", "cache", "index", "base", "cpu", "gpu"}
_LOCKED = {"requires", "overrides"}
_GPU = _LOCKED | {"cuda", "cudnn", "least_driver", "oldest_sm", "newest_sm", "base"}
_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]*")
"""What can be part of an image's tag."""
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Cuda:
    """What the GPU packages of a release need of the machine."""

    version: str
    cudnn: str | None = None
    least_driver: str | None = None
    oldest_sm: int | None = None
    newest_sm: int | None = None
    """The newest GPU generation the toolkit has code for, as in sm_70; None: not known to end."""
    base: str | None = None
    """The base image that brings CUDA's libraries; None: they come as packages."""


@dataclass(frozen=True)
class Release:
    """One pinned version of a framework."""

    folder: Path
    framework: str
    version: str
    published: str
    adapter: str
    python: tuple[str, ...]
    """Accepted Python versions, the preferred one first."""
    variants: tuple[str, ...]
    """The ordinary ways to train; the first is the default."""
    verified: tuple[str, ...]
    """Devices on which it was seen to run."""
    packages: tuple[str, ...] = ()
    """Debian packages that it needs at run time, such as a compiler."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that make it this release, such as the backend it runs on."""
    cache: bool = False
    """It compiles as it runs: its trials share a folder for what they have compiled."""
    index: Mapping[str, str] = field(default_factory=dict)
    """Packages that the ordinary index does not have, with the index that does."""
    base: str | None = None
    """The public base image; None: the usual one of its Python."""
    requires: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What was asked for, by device: the lock is what that resolved to."""
    overrides: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Versions taken whatever a package declares, by device: old declarations can be too narrow."""
    cuda: Cuda | None = None
    origin: str = BUILT_IN
    """Where it comes from; set when it is found on the search path."""
    adapter_from: Extension | None = None
    """Who brings its adapter; None: it ships with dlbench."""

    @property
    def name(self) -> str:
        return f"{self.framework}@{self.version}"

    @property
    def devices(self) -> tuple[str, ...]:
        return tuple(device for device in DEVICES if self._lock_path(device).is_file())

    def lock(self, device: str) -> Path:
        """The lock of this device; an error where the release has none."""
        path = self._lock_path(device)
        if not path.is_file():
            served = ", ".join(self.devices) or "no device at all"
            raise errors.UserError(
                f"{self.name} has no packages for device {device!r}; it has {served}.",
                "Choose another --device or release.",
            )
        return path

    def lock_digest(self, device: str) -> str:
        return locks.digest(self.lock(device))

    def cache_folder(self, device: str, engine: str) -> Path | None:
        """The folder its trials share, made now; None where it needs none.

        Each engine has its own: what one compiled, the other's libraries may not load.
        """
        if not self.cache:
            return None
        digest = self.lock_digest(device)[:12]
        name = f"{self.framework}-{self.version}-{device}-{digest}-{engine}"
        folder = paths.cache() / "compiled" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _lock_path(self, device: str) -> Path:
        return self.folder / f"{device}.lock"


def load_releases(folder: Path | None = None) -> list[Release]:
    """All releases, oldest version first: those that ship with dlbench and of the search path.

    With a `folder`: those in it and no others.
    """
    return list(_catalog(folder).releases)


def find(name: str, folder: Path | None = None) -> Release:
    """The release of this name; a framework alone means its newest release."""
    catalog = _catalog(folder)
    if release := catalog.by_name.get(name):
        return release
    framework, at, version = name.partition("@")
    own = [r for r in catalog.releases if r.framework == framework]
    if at and own:
        line = [r.name for r in own if re.match(rf"{re.escape(version)}[.-]", r.version)]
        near = f"Did you mean {line[-1]!r}?" if line and version else ""
        has = f"{framework} is here as {', '.join(r.version for r in own)}."
        raise errors.UserError(f"There is no release {name!r}.", near or has)
    known = {r.framework for r in catalog.releases}
    raise errors.unknown("framework", framework, known, listing="dlbench list releases")


@dataclass(frozen=True)
class _Catalog:
    """Releases in order; and by name, where a framework's name is that of its newest."""

    releases: tuple[Release, ...]
    by_name: Mapping[str, Release]


def _catalog(folder: Path | None) -> _Catalog:
    if folder:
        return _read_all(folder, ())
    return _read_all(paths.bundled("images"), extensions.search_path())


@cache
def _read_all(root: Path, search_path: tuple[Extension, ...]) -> _Catalog:
    """Every release file, read once: trials are planned by the thousand."""
    every = [(path, load(path)) for path in sorted(root.glob("*/*/release.toml"))]
    for extension in search_path:
        for path in sorted((extension.folder / "releases").glob("*/*/release.toml")):
            every.append((path, _brought(path, extension)))
    named = extensions.by_name("release", every)
    ordered = sorted(named.values(), key=lambda r: (r.framework, version_order(r.version)))
    newest = {release.framework: release for release in ordered}
    return _Catalog(tuple(ordered), {**newest, **named})


def _brought(path: Path, extension: Extension) -> Release:
    """A release of the search path, with its adapter found."""
    release, adapters = load(path), extensions.adapters()
    if release.adapter not in adapters:
        near = errors.unknown("adapter", release.adapter, adapters)
        raise _broken(path, f"there is no adapter {release.adapter!r}", near.remedy)
    return replace(release, origin=extension.name, adapter_from=adapters[release.adapter].extension)


def load(path: Path) -> Release:
    """Read one release.toml, strictly."""
    try:
        text = read_toml(path)
    except (ValueError, OSError) as error:
        raise _broken(path, str(error)) from error
    _check_keys(path, text, _REQUIRED, _OPTIONAL, "")
    framework, version = _get(path, text, "framework", str), _get(path, text, "version", str)
    folder = path.parent
    if (folder.parent.name, folder.name) != (framework, version):
        raise _broken(path, f"it describes {framework}@{version}, which is not its folder's name")
    if not _PLAIN.fullmatch(framework) or not _PLAIN.fullmatch(version):
        raise _broken(path, "framework and version may hold a-z, 0-9, `.`, `_` and `-` only")
    try:
        version_order(version)
    except InvalidVersion as error:
        raise _broken(path, f"{version!r} is not a version") from error
    if not re.fullmatch(r"\d{4}-\d{2}", _get(path, text, "published", str)):
        raise _broken(path, "`published` must be a month such as 2018-09")
    python, variants = _strings(path, text, "python"), _strings(path, text, "variants")
    if not python or not all(re.fullmatch(r"3\.\d+", each) for each in python):
        raise _broken(path, '`python` must list versions such as "3.11"')
    if not variants:
        raise _broken(path, "`variants` must name at least one")
    cpu, gpu = _table(path, text, "cpu"), _table(path, text, "gpu")
    base = _table(path, text, "base")
    _check_keys(path, cpu, set(), _LOCKED, "[cpu] ")
    _check_keys(path, base, set(), {"image"}, "[base] ")
    index, variables = _table(path, text, "index"), _table(path, text, "variables")
    return Release(
        folder=folder,
        framework=framework,
        version=version,
        published=_get(path, text, "published", str),
        adapter=_get(path, text, "adapter", str),
        python=python,
        variants=variants,
        verified=_strings(path, text, "verified"),
        packages=_strings(path, text, "packages"),
        variables={name: _get(path, variables, name, str) for name in variables},
        cache=_maybe(path, text, "cache", bool) or False,
        index={locks.normalised(name): _get(path, index, name, str) for name in index},
        base=_maybe(path, base, "image", str),
        requires={"cpu": _strings(path, cpu, "requires"), "gpu": _strings(path, gpu, "requires")},
        overrides={
            "cpu": _strings(path, cpu, "overrides"),
            "gpu": _strings(path, gpu, "overrides"),
        },
        cuda=_cuda(path, gpu),
    )


def _cuda(path: Path, table: Mapping[str, object]) -> Cuda | None:
    _check_keys(path, table, set(), _GPU, "[gpu] ")
    if not table:
        return None
    return Cuda(
        version=_get(path, table, "cuda", str),
        cudnn=_maybe(path, table, "cudnn", str),
        least_driver=_maybe(path, table, "least_driver", str),
        oldest_sm=_maybe(path, table, "oldest_sm", int),
        newest_sm=_maybe(path, table, "newest_sm", int),
        base=_maybe(path, table, "base", str),
    )


def _check_keys(
    path: Path, table: Mapping[str, object], required: set[str], optional: set[str], where: str
) -> None:
    if lacking := sorted(required - table.keys()):
        raise _broken(path, f"{where}`{lacking[0]}` is missing")
    if extra := sorted(table.keys() - required - optional):
        near = errors.unknown("key", extra[0], required | optional)
        raise _broken(path, f"{where}{extra[0]!r} is not a known key", near.remedy)


def _get(path: Path, table: Mapping[str, object], key: str, kind: type[_Value]) -> _Value:
    value = table.get(key)
    if not isinstance(value, kind):
        raise _broken(path, f"`{key}` must be given as {_WORDS[kind]}")
    return value


def _maybe(path: Path, table: Mapping[str, object], key: str, kind: type[_Value]) -> _Value | None:
    return _get(path, table, key, kind) if key in table else None


def _strings(path: Path, table: Mapping[str, object], key: str) -> tuple[str, ...]:
    values = table.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _broken(path, f"`{key}` must be a list of strings")
    return tuple(values)


def _table(path: Path, table: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise _broken(path, f"[{key}] must be a table")
    return value


_WORDS: dict[type, str] = {str: "a string", int: "a whole number", bool: "true or false"}


def _broken(path: Path, why: str, remedy: str = "") -> errors.UserError:
    return errors.UserError(f"{path} is broken: {why}.", remedy or "Correct or restore the file.")
