"""What is installed, and how: the same for a virtual environment and for an image.

uv installs offline from the wheel cache and checks every digest again. Sdists come second: they are
built inside the environment, with its locked setuptools, without network. Then all bytecode is
compiled, so that no trial's import time depends on which trial came first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from packaging.utils import canonicalize_name

from dlbench.environments.locks import Lock
from dlbench.environments.targets import Target
from dlbench.environments.wheels import Wheel

OPTIONS = ("--no-deps", "--require-hashes", "--no-index", "--offline")
COMPILE = ("-m", "compileall", "-qq", "-j", "0")
"""By the environment's own Python: uv's way needs 3.7. Packages may hold files it can't compile."""


def listing(wheels: Iterable[Wheel], *, sdists: bool, folder: Path | None = None) -> str:
    """A requirements file of the wheels, or of the sdists; `folder`: where they will be."""
    lines = []
    for wheel in wheels:
        if wheel.file.is_sdist == sdists:
            path = folder / wheel.file.name if folder else wheel.path
            # as_uri would quote a version's "+", which uv takes literally in file names.
            lines.append(f"{wheel.entry.name} @ file://{path} --hash=sha256:{wheel.file.sha256}")
    return "".join(line + "\n" for line in lines)


def differences(lock: Lock, target: Target, names: Iterable[str]) -> list[str]:
    """How what is installed differs from the lock; `names`: those in its site-packages folder."""
    wanted = {entry.name: _plain(entry.version) for entry, _ in lock.files_for(target)}
    found = dict(pair for name in names if (pair := package_of(name)) is not None)
    told = [f"{name} {version} is missing" for name, version in wanted.items() if name not in found]
    for name, version in found.items():
        if name not in wanted:
            told.append(f"{name} {version} is not in the lock")
        elif version != wanted[name]:
            told.append(f"{name} is {version} instead of {wanted[name]}")
    return sorted(told)


def package_of(name: str) -> tuple[str, str] | None:
    """The package that a folder such as `numpy-2.4.6.dist-info` records."""
    match = re.fullmatch(r"(.+?)-([^-]+?)(?:-py\d\.\d+)?\.(?:dist-info|egg-info)", name)
    return (canonicalize_name(match[1]), _plain(match[2])) if match else None


def _plain(version: str) -> str:
    """A version as far as its spelling in file names tells (`-` and `+` may become `_`)."""
    return re.sub(r"[-_+]", "_", version).lower()
