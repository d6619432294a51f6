"""Compares the files of an environment with the hashes that its packages record of them.

A wheel lists its files with their hashes, and the lock has the hash of the wheel. Old wheels have
files that their own list lacks: these are held against the wheel itself. What was built
from source, or whose wheel has left the cache, is held against the list that was made when it was
installed. Compiled bytecode, which is made anew even where a wheel brings some, and programs in
`bin` are not compared.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass

from dlbench.environments import installs
from dlbench.environments.locks import Entry, File, Lock
from dlbench.environments.targets import Target
from dlbench.environments.wheels import location

LISTING = """
import base64, hashlib, os, sys
place = os.path.dirname(os.path.dirname(sys.executable))
site = os.path.join(place, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
for name in os.listdir(site):
    print("name", name, sep="\\t")
for folder, inner, names in os.walk(site):
    for name in inner + names:
        path = os.path.join(folder, name)
        hashed = ""
        if os.path.isfile(path):
            hasher = hashlib.sha256()
            with open(path, "rb") as file:
                for piece in iter(lambda: file.read(1 << 20), b""):
                    hasher.update(piece)
            hashed = "sha256=" + base64.urlsafe_b64encode(hasher.digest()).decode().rstrip("=")
            if name == "RECORD":
                with open(path, encoding="utf-8", errors="replace") as file:
                    for line in file:
                        print("record", os.path.basename(folder), line.rstrip(), sep="\\t")
        if hashed or os.path.islink(path):
            print("file", hashed or "a link", os.path.relpath(path, site), sep="\\t")
"""
"""For an environment's own Python, 3.6 or newer, as in `python -I -S -c`."""

_COMPILED = re.compile(r"(.*/)?__pycache__/[^/]+\.pyc")
_MADE_LATER = re.compile(
    rf"{_COMPILED.pattern}"
    r"|[^/]+\.dist-info/(INSTALLER|REQUESTED|RECORD|direct_url\.json|uv_\w+\.json)"
    r"|_virtualenv\.(py|pth)"
)
"""Compiled; written by the installer; uv's own, in every virtual environment."""
_MOVED = re.compile(r"[^/]+\.data/(?:purelib|platlib)/(.+)")
_MOST_SHOWN = 3


@dataclass(frozen=True)
class SitePackages:
    """What `LISTING` printed."""

    names: frozenset[str]
    """What is in site-packages itself."""
    hashes: Mapping[str, str]
    """By path below site-packages."""
    records: Mapping[str, tuple[str, ...]]
    """The lines of each RECORD, by the name of its folder."""

    @classmethod
    def parse(cls, printed: str) -> SitePackages:
        names: set[str] = set()
        hashes: dict[str, str] = {}
        records: dict[str, list[str]] = {}
        for line in printed.split("\n"):
            kind, _, rest = line.partition("\t")
            first, _, second = rest.partition("\t")
            if kind == "name":
                names.add(first)
            elif kind == "file":
                hashes[second] = first
            elif kind == "record":
                records.setdefault(first, []).append(second)
        kept = {name: tuple(lines) for name, lines in records.items()}
        return cls(frozenset(names), hashes, kept)


def differences(lock: Lock, target: Target, printed: str) -> list[str]:
    """How an environment whose Python has printed this differs from its lock, file by file."""
    found = SitePackages.parse(printed)
    return [*installs.differences(lock, target, found.names), *_changes(lock, target, found)]


def _changes(lock: Lock, target: Target, installed: SitePackages) -> list[str]:
    """Which files are not those of the packages, in words: nothing, if all are."""
    expected: dict[str, set[str]] = {}
    for entry, file in lock.files_for(target):
        for path, hashed in _recorded(entry, file, installed).items():
            if _COMPILED.fullmatch(path):
                continue
            expected.setdefault(path, set()).add(hashed)  # packages may share a file
    found = installed.hashes
    changed = [
        path
        for path, hashes in expected.items()
        if path in found and "" not in hashes and found[path] not in hashes
    ]
    missing = [path for path in expected if path not in found]
    added = [path for path in found if path not in expected and not _MADE_LATER.fullmatch(path)]
    return [
        *_told(changed, "is changed", "are changed"),
        *_told(missing, "is missing", "are missing"),
        *_told(added, "is of no package", "are of no package"),
    ]


def _recorded(entry: Entry, file: File, installed: SitePackages) -> dict[str, str]:
    """The hash of each file of a package below site-packages; empty where it has none."""
    listed = _listed(file)
    if listed is None:
        packages = {name: installs.package_of(name) or ("", "") for name in installed.records}
        own = (name for name, package in packages.items() if package[0] == entry.name)
        listed = list(csv.reader(installed.records.get(next(own, ""), ())))
    rows = [row for row in listed if len(row) > 1]
    moved = [(_MOVED.fullmatch(path), path, hashed) for path, hashed, *_ in rows]
    return {
        match[1] if match else path: hashed if hashed.startswith("sha256=") else ""
        for match, path, hashed in moved
        if match or not (path.startswith(("../", "/")) or re.match(r"[^/]+\.data/", path))
    }


def _listed(file: File) -> list[list[str]] | None:
    """The rows of a wheel's own RECORD; None: it is no wheel, or not in the cache."""
    if file.is_sdist:
        return None
    try:
        with zipfile.ZipFile(location(file)) as wheel:
            (record,) = (n for n in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/RECORD", n))
            rows = list(csv.reader(wheel.read(record).decode().splitlines()))
            known = {row[0] for row in rows if row}
            unlisted = (n for n in wheel.namelist() if n not in known and not n.endswith("/"))
            return [*rows, *([name, _hash(wheel.read(name))] for name in unlisted)]
    except (OSError, ValueError, zipfile.BadZipFile):
        return None


def _hash(content: bytes) -> str:
    """As a RECORD writes it."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return "sha256=" + digest.decode().rstrip("=")


def _told(paths: list[str], one: str, many: str) -> list[str]:
    """One sentence for all: an old environment may have thousands."""
    if not paths:
        return []
    shown = ", ".join(sorted(paths)[:_MOST_SHOWN])
    if len(paths) > _MOST_SHOWN:
        shown = f"{shown} and {len(paths) - _MOST_SHOWN:,} other files"
    return [f"{shown} {one if len(paths) == 1 else many}"]
