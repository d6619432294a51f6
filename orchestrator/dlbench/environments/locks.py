"""A lock: every package of an environment, with the digest of each file that may be installed.

A lock is an ordinary hashed requirements file (pip and uv read it) without any index address. Above
each requirement stand its files, one comment a file, in the order of the hashes:

    # numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl 16912345
    numpy==2.4.6 \\
        --hash=sha256:…

Knowing the names, dlbench can tell without asking anybody which files a Python needs, which are
missing and how many bytes that is. The size may be left out (files that were only looked up).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from dlbench.environments.targets import Target
from dlbench.errors import UserError

_FILE = re.compile(r"# (?P<name>\S+\.(?:whl|tar\.gz|zip|tar\.bz2))(?: (?P<size>\d+))?")
_PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.!+_-]+)")
_HASH = re.compile(r"--hash=sha256:(?P<digest>[0-9a-f]{64})")


@dataclass(frozen=True)
class File:
    """One downloadable file of a package."""

    name: str
    sha256: str
    size: int | None

    @property
    def is_sdist(self) -> bool:
        return not self.name.endswith(".whl")


@dataclass(frozen=True)
class Entry:
    """One package at one version, and the files that may serve for it."""

    name: str
    version: str
    files: tuple[File, ...]

    @property
    def pin(self) -> str:
        return f"{self.name}=={self.version}"

    def file_for(self, target: Target) -> File | None:
        """The best wheel for this target; else the sdist, if the lock has one."""
        wheels = [file for file in self.files if not file.is_sdist]
        ranked = [(rank, file) for file in wheels if (rank := target.rank(file.name)) is not None]
        if ranked:
            return min(ranked, key=lambda pair: pair[0])[1]
        return next((file for file in self.files if file.is_sdist), None)


@dataclass(frozen=True)
class Lock:
    """A lock that was read and found whole."""

    path: Path
    digest: str
    entries: tuple[Entry, ...]

    def files_for(self, target: Target) -> list[tuple[Entry, File]]:
        """What is installed on this target, in the lock's order."""
        chosen = []
        for entry in self.entries:
            file = entry.file_for(target)
            if file is None:
                framework, version = self.path.parts[-3:-1]
                raise UserError(
                    f"{self.path.name} of {framework}@{version} has no file of {entry.pin} for "
                    f"Python {target.python} on {target.machine}.",
                    "Use a Python and machine that the release was locked for.",
                )
            chosen.append((entry, file))
        return chosen


def digest(path: Path) -> str:
    """The lock's identity: of its whole content, so that no change goes unnoticed."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"The lock {path} cannot be read: {error.strerror}.") from error


def read(path: Path) -> Lock:
    """Parse a lock, strictly: a line that is not understood is an error that names it."""
    identity = digest(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _broken(path, 1, "it is not a text file") from error
    entries: list[Entry] = []
    announced: list[tuple[str, int | None]] = []
    for number, line in _logical_lines(path, text):
        if match := _FILE.fullmatch(line):
            announced.append((match["name"], int(match["size"]) if match["size"] else None))
        elif line and not line.startswith("#"):
            entries.append(_entry(path, number, line, announced))
            announced = []
    if announced:
        raise _broken(
            path, text.count("\n") + 1, f"the requirement for {announced[0][0]} is missing"
        )
    if not entries:
        raise _broken(path, 1, "it names no package")
    _check_whole(path, entries)
    return Lock(path, identity, tuple(entries))


def write(path: Path, entries: Iterable[Entry], heading: str) -> None:
    """Write a lock that `read` reads back as the same entries."""
    lines = [f"# {line}" for line in heading.splitlines()]
    for entry in sorted(entries, key=lambda entry: entry.name):
        for file in entry.files:
            lines.append(f"# {file.name}" + ("" if file.size is None else f" {file.size}"))
        hashes = " \\\n".join(f"    --hash=sha256:{file.sha256}" for file in entry.files)
        lines.append(f"{entry.pin} \\\n{hashes}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _logical_lines(path: Path, text: str) -> Iterable[tuple[int, str]]:
    """Lines with their continuations joined, each with the number of its first physical line."""
    start, held = 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        start = start or number
        if line.endswith("\\") and not line.startswith("#"):
            held += line[:-1].rstrip() + " "
            continue
        yield start, held + line
        start, held = 0, ""
    if held:
        raise _broken(path, start, "its last requirement breaks off")


def _entry(path: Path, number: int, line: str, announced: list[tuple[str, int | None]]) -> Entry:
    pin, *options = line.split()
    match = _PIN.fullmatch(pin)
    if match is None:
        raise _broken(path, number, f"{pin!r} is not of the form name==version")
    digests = []
    for option in options:
        hashed = _HASH.fullmatch(option)
        if hashed is None:
            raise _broken(path, number, f"{option!r} is not --hash=sha256: with 64 hex digits")
        digests.append(hashed["digest"])
    if not digests:
        raise _broken(path, number, f"{pin} has no hash")
    if len(digests) != len(announced):
        problem = f"{pin} has {len(digests)} hashes but {len(announced)} files are named above it"
        raise _broken(path, number, problem)
    files = tuple(
        File(name, sha256, size) for (name, size), sha256 in zip(announced, digests, strict=True)
    )
    return Entry(canonicalize_name(match["name"]), match["version"], files)


def _check_whole(path: Path, entries: list[Entry]) -> None:
    names = [entry.name for entry in entries]
    if twice := {name for name in names if names.count(name) > 1}:
        raise _broken(path, 1, f"it names {min(twice)} twice")
    built = [entry.name for entry in entries if any(file.is_sdist for file in entry.files)]
    if built and "setuptools" not in names:
        raise _broken(path, 1, f"{built[0]} is built from source, so setuptools must be locked too")


def _broken(path: Path, number: int, why: str) -> UserError:
    return UserError(
        f"The lock {path}, line {number}, is broken: {why}.",
        "Restore the file from git, or make it again with scripts/lock.",
    )
