"""What a file must be made for to be installed: a Python version, a machine and a C library.

Both engines install for the same target, so that a venv and an image hold the same files.
"""

from __future__ import annotations

import functools
import platform
from dataclasses import dataclass

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

_GLIBC = 31
"""The minor version of the oldest C library that is supported (2.31: Debian 11, Ubuntu 20.04)."""


@dataclass(frozen=True)
class Target:
    """A CPython on Linux."""

    python: str
    """`3.11`"""
    machine: str = "x86_64"

    @classmethod
    def here(cls, python: str) -> Target:
        return cls(python, platform.machine())

    @property
    def version(self) -> tuple[int, int]:
        major, minor = self.python.split(".")
        return int(major), int(minor)

    @property
    def abi(self) -> str:
        major, minor = self.version
        return f"cp{major}{minor}" + ("m" if (major, minor) < (3, 8) else "")

    @property
    def platforms(self) -> tuple[str, ...]:
        """Platform tags, best first."""
        legacy = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
        tags = []
        for minor in range(_GLIBC, 4, -1):
            tags.append(f"manylinux_2_{minor}_{self.machine}")
            if minor in legacy:
                tags.append(f"{legacy[minor]}_{self.machine}")
        return (*tags, f"linux_{self.machine}")

    def rank(self, wheel: str) -> int | None:
        """How well this wheel fits (least is best), or None where it does not."""
        try:
            tags = parse_wheel_filename(wheel)[3]
        except InvalidWheelFilename:
            return None
        ranks = _ranks(self)
        return min((ranks[tag] for tag in tags if tag in ranks), default=None)

    def pip_options(self) -> list[str]:
        """Make pip choose for this target, whatever Python pip itself runs on."""
        options = ["--python-version", self.python, "--implementation", "cp"]
        for abi in (self.abi, "abi3", "none"):
            options += ["--abi", abi]
        for tag in self.platforms:
            options += ["--platform", tag]
        return options


@functools.cache
def _ranks(target: Target) -> dict[Tag, int]:
    version, platforms = target.version, list(target.platforms)
    tags = [
        *cpython_tags(version, [target.abi], platforms),
        *compatible_tags(version, f"cp{version[0]}{version[1]}", platforms),
    ]
    return {tag: rank for rank, tag in reversed(list(enumerate(tags)))}
