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

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from dlbench import errors, extensions, paths
from dlbench.environments import locks
from dlbench.extensions import BUILT_IN, Extension
from dlbench.toml_file import Table
from dlbench.versions import version_order

DEVICES = ("cpu", "gpu")

_REQUIRED = {"framework", "version", "published", "adapter", "python", "variants", "verified"}
_OPTIONAL = {"packages", "variables", "cache", "index", "base", "cpu", "gpu", "no_gpu"}
_LOCKED = {"requires", "overrides"}
_GPU = _LOCKED | {"cuda", "cudnn", "set", "needs", "unused", "code", "least_driver", "newest_sm"}
VERIFIED = ("cpu", "gpu-build", "gpu")
"""What can have been seen to run: on a CPU; its GPU packages, on a CPU; on a GPU."""
_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]*")
"""What can be part of an image's tag."""
_CODE = re.compile(r"(?:sm|compute)_(\d{2,3})")


@dataclass(frozen=True)
class Cuda:
    """What the GPU packages of a release are made for."""

    version: str
    """Of the libraries that it runs with, as `images/cuda/generations.toml` lists it."""
    cudnn: str | None = None
    set: str | None = None
    """The CUDA library set that it needs, `images/cuda/<set>.toml`; None: packages bring all."""
    needs: tuple[str, ...] = ()
    """The libraries that it opens by name as it runs, which can't be read from its wheels."""
    unused: tuple[str, ...] = ()
    """What parts of it are linked to that are never loaded when it trains."""
    code: tuple[str, ...] = ()
    """The GPU code in its packages: `sm_70` is machine code, `compute_70` the driver compiles."""
    least_driver: str | None = None
    """Where it needs a newer driver than its version of CUDA does."""
    newest_sm: int | None = None
    """The newest GPU generation on which it can work at all; None: not known to end."""


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
    """What was seen to run, a word of `VERIFIED` each; after a colon may stand on what."""
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
    no_gpu: str | None = None
    """Why it has no GPU packages, where somebody looked for them."""
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
            why = f" ({self.no_gpu})" if device == "gpu" and self.no_gpu else ""
            raise errors.UserError(
                f"{self.name} has no packages for device {device!r}{why}; it has {served}.",
                "Choose another --device or release.",
            )
        return path

    def lock_digest(self, device: str) -> str:
        return locks.digest(self.lock(device))

    def cache_folder(self, device: str, engine: str) -> Path | None:
        """The folder its trials share, made now; None where it needs none.

        On a GPU each does: the driver, CuPy and others keep there what they have compiled. Each
        engine has its own: what one compiled, the other's libraries may not load.
        """
        if not self.cache and device != "gpu":
            return None
        digest = self.lock_digest(device)[:12]
        name = f"{self.framework}-{self.version}-{device}-{digest}-{engine}"
        folder = paths.cache() / "compiled" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _lock_path(self, device: str) -> Path:
        return self.folder / f"{device}.lock"


def shipped() -> Path:
    """The folder of the releases that come with dlbench."""
    return paths.bundled("images")


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
    return _read_all(shipped(), extensions.search_path())


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
        why = f"names {release.adapter!r}, and there is no such adapter"
        raise Table(path, "", {}).error("adapter", why, near.remedy)
    return replace(release, origin=extension.name, adapter_from=adapters[release.adapter].extension)


def load(path: Path) -> Release:
    """Read one release.toml, strictly."""
    text = Table.read(path)
    text.check_keys(_REQUIRED, _OPTIONAL)
    framework, version = text.get("framework", str), text.get("version", str)
    folder = path.parent
    if (folder.parent.name, folder.name) != (framework, version):
        name = f"{framework}@{version}"
        raise text.error("framework", f"and `version` say {name}, which is not its folder's name")
    if not _PLAIN.fullmatch(framework) or not _PLAIN.fullmatch(version):
        raise text.error("framework", "and `version` may hold a-z, 0-9, `.`, `_` and `-` only")
    try:
        version_order(version)
    except InvalidVersion as error:
        raise text.error("version", f"is {version!r}, which is not a version") from error
    if not re.fullmatch(r"\d{4}-\d{2}", text.get("published", str)):
        raise text.error("published", "must be a month such as 2018-09")
    python, variants = text.strings("python"), text.strings("variants")
    if not all(re.fullmatch(r"3\.\d+", each) for each in python):
        raise text.error("python", 'must list versions such as "3.11"')
    verified = text.strings("verified", ())
    for word in verified:
        if word.partition(":")[0] not in VERIFIED:
            raise text.error("verified", f"may hold {', '.join(VERIFIED)}, not {word!r}")
    cpu, gpu, base, index, variables = (
        text.table(key, {}) for key in ("cpu", "gpu", "base", "index", "variables")
    )
    cpu.refuse_others(_LOCKED)
    base.refuse_others({"image"})
    return Release(
        folder=folder,
        framework=framework,
        version=version,
        published=text.get("published", str),
        adapter=text.get("adapter", str),
        python=python,
        variants=variants,
        verified=verified,
        packages=text.strings("packages", ()),
        variables={name: variables.get(name, str) for name in variables.values},
        cache=text.maybe("cache", bool) or False,
        index={canonicalize_name(name): index.get(name, str) for name in index.values},
        base=base.maybe("image", str),
        requires={"cpu": cpu.strings("requires", ()), "gpu": gpu.strings("requires", ())},
        overrides={"cpu": cpu.strings("overrides", ()), "gpu": gpu.strings("overrides", ())},
        cuda=_cuda(gpu),
        no_gpu=text.maybe("no_gpu", str),
    )


def _cuda(table: Table) -> Cuda | None:
    table.refuse_others(_GPU)
    if not table.values:
        return None
    code = table.strings("code", ())
    for word in code:
        if not _CODE.fullmatch(word):
            raise table.error("code", f"may hold words such as sm_70, not {word!r}")
    return Cuda(
        version=table.get("cuda", str),
        cudnn=table.maybe("cudnn", str),
        set=table.maybe("set", str),
        needs=table.strings("needs", ()),
        unused=table.strings("unused", ()),
        code=code,
        least_driver=table.maybe("least_driver", str),
        newest_sm=table.maybe("newest_sm", int),
    )
