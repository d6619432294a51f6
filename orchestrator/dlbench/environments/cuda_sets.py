"""CUDA library sets: which archives of NVIDIA's hold the libraries that old GPU packages need.

A set is one file, `images/cuda/<name>.toml`. Releases that name the same set share its libraries.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dlbench import paths
from dlbench.environments.locks import File
from dlbench.environments.releases import Release
from dlbench.errors import unknown
from dlbench.toml_file import Table

LAYOUTS = ("runfile", "tar", "deb", "conda")
_REQUIRED = {"addresses", "sha256", "layout", "take", "licence", "known_from"}
_TABLES = "generations"
"""The other file in that folder."""


@dataclass(frozen=True)
class Archive:
    """One file to download, and what is taken out of it."""

    addresses: tuple[str, ...]
    """Where it can be had, best first; all have the same file name."""
    sha256: str
    bytes: int | None
    """None: not known to the byte."""
    about_bytes: int
    layout: str
    take: tuple[str, ...]
    """Libraries by name: `cublas` takes `libcublas.so` with any version behind it. Headers, which
    what compiles as it runs needs, by file name: `cuda_fp16.h`."""
    licence: str
    known_from: str
    """Who says that this is its digest."""
    untried: bool
    """Nobody has yet downloaded it with dlbench and taken the libraries out."""

    @property
    def headers(self) -> tuple[str, ...]:
        return tuple(word for word in self.take if "." in word)

    @property
    def file(self) -> File:
        """As the cache of downloads keeps it."""
        return File(self.addresses[0].rpartition("/")[2], self.sha256, self.bytes)


@dataclass(frozen=True)
class CudaSet:
    name: str
    about: str
    sonames: tuple[str, ...]
    """What must be there in the end, as programs ask for it."""
    archives: tuple[Archive, ...]
    digest: str
    """Of all that decides what is taken out."""

    @property
    def licences(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(archive.licence for archive in self.archives))

    @property
    def untried(self) -> bool:
        return any(archive.untried for archive in self.archives)


def of_release(release: Release, device: str) -> CudaSet | None:
    """The set that this release needs on this device; None: it needs none."""
    if device != "gpu" or release.cuda is None or release.cuda.set is None:
        return None
    return find(release.cuda.set)


def find(name: str) -> CudaSet:
    known = all_sets()
    if name not in known:
        raise unknown("CUDA library set", name, known)
    return known[name]


def all_sets() -> dict[str, CudaSet]:
    return _read_all(paths.bundled("images") / "cuda")


@cache
def _read_all(folder: Path) -> dict[str, CudaSet]:
    files = sorted(path for path in folder.glob("*.toml") if path.stem != _TABLES)
    return {path.stem: load(path) for path in files}


def load(path: Path) -> CudaSet:
    text = Table.read(path)
    text.check_keys({"about", "sonames", "archive"})
    archives = tuple(_archive(table) for table in text.tables("archive"))
    sonames = text.strings("sonames")
    facts = [sonames, *((each.sha256, each.layout, each.take) for each in archives)]
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()
    return CudaSet(path.stem, text.get("about", str), sonames, archives, digest)


def _archive(table: Table) -> Archive:
    table.check_keys(_REQUIRED, {"bytes", "about_bytes", "untried"})
    size, about = table.maybe("bytes", int), table.maybe("about_bytes", int)
    if (size or about or 0) <= 0:
        raise table.error("bytes", "or `about_bytes` must say how large it is")
    addresses, take = table.strings("addresses"), table.strings("take")
    names = {address.rpartition("/")[2] for address in addresses}
    if len(names) != 1 or not all(re.fullmatch(r"https?://.+/[^/]+", a) for a in addresses):
        raise table.error("addresses", "must be links to one file of the same name")
    if not re.fullmatch(r"[0-9a-f]{64}", table.get("sha256", str)):
        raise table.error("sha256", "must be 64 hex digits")
    if table.get("layout", str) not in LAYOUTS:
        raise table.error("layout", f"must be one of {', '.join(LAYOUTS)}")
    return Archive(
        addresses=addresses,
        sha256=table.get("sha256", str),
        bytes=size,
        about_bytes=size or about or 0,
        layout=table.get("layout", str),
        take=take,
        licence=table.get("licence", str),
        known_from=table.get("known_from", str),
        untried=table.maybe("untried", bool) or False,
    )
