"""The certificate: the recorded proof that a release's model equals the reference, and its reader.

`running.certificates` makes certificates; `certificates/KEY.json` of a campaign holds them.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from dlbench.campaigns.plain_files import check_folder, read_record
from dlbench.errors import damaged
from dlbench.formats import check_version
from dlbench.shapes import OutOfRange, identity, instance_of, label, list_of, number, optional

VERSION = 1
_MOST = 10_000
"""Certificates in a campaign."""


@dataclass(frozen=True)
class Check:
    """One comparison with the reference."""

    name: str
    passed: bool
    error: float | None = None
    tolerance: float | None = None
    node: str | None = None
    detail: str = ""


@dataclass(frozen=True)
class Certificate:
    key: str
    release: str
    workload: str
    variant: str
    device: str
    engine: str
    passed: bool
    checks: tuple[Check, ...]
    reason: str = ""
    setting: str = "matched"
    """`native`: no proof, but what the framework's own defaults change."""
    confounds: tuple[str, ...] = ()
    """What was altered on purpose: the proof is that it is altered just so, and in nothing else."""

    @property
    def faults(self) -> list[str]:
        """Each check that failed, in one sentence: what, where, both values."""
        return [
            f"{check.name} differs{f' at node {check.node}' if check.node else ''}: {check.detail}"
            for check in self.checks
            if not check.passed
        ]

    @property
    def first_fault(self) -> str:
        """What failed first, in one sentence."""
        return next(iter(self.faults), self.reason)

    def to_json(self) -> dict[str, Any]:
        return {"v": VERSION, **asdict(self)}


def _error(value: Any) -> Any:
    """What was far beyond every tolerance may not be a number at all."""
    try:
        return _ANY_ERROR(value)
    except OutOfRange:
        return None


_ANY_ERROR = optional(number())
_CHECKS = list_of(instance_of(Check, name=label, error=_error, tolerance=_error), 1000)
_CERTIFICATE = instance_of(
    Certificate, key=identity, release=label, workload=label, variant=label, device=label,
    engine=label, setting=label, checks=_CHECKS, confounds=list_of(label, 100),
)  # fmt: skip


def read_certificate(path: Path) -> Certificate | None:
    """The certificate in a file; None if there is no such file."""

    def checked(content: Any) -> Any:
        check_version(content, VERSION, path)
        return _CERTIFICATE(content)

    found: Certificate | None = read_record(path, checked)
    return found


def certificate_names(folder: Path) -> list[str]:
    """The file names of the certificates in a campaign's folder, in order."""
    certificates = folder / "certificates"
    check_folder(certificates)
    try:
        with os.scandir(certificates) as entries:
            found = [entry.name for entry in islice(entries, _MOST + 1)]
    except OSError:  # there are none
        return []
    if len(found) > _MOST:
        raise damaged(certificates, f"it holds more than {_MOST:,} files")
    return sorted(name for name in found if name.endswith(".json") and not name.startswith("."))


def read_certificates(folder: Path) -> list[Certificate]:
    paths = (folder / "certificates" / name for name in certificate_names(folder))
    return [one for path in paths if (one := read_certificate(path)) is not None]
