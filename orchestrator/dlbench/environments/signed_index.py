"""Looks up digests that only a signed package index has (`scripts/lock --packages`).

NVIDIA's Debian repositories list every package with its SHA-256 in `Packages`, whose digest is in
`Release`, which is signed. The signature is checked against a key whose fingerprint the caller
knows; then each package becomes an `[[archive]]` of a CUDA library set.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dlbench.errors import UserError

_SECONDS = 60
_FIELDS = ("Package", "Version", "Filename", "SHA256", "Size")


@dataclass(frozen=True)
class Package:
    """One package as the index describes it."""

    name: str
    version: str
    file: str
    sha256: str
    bytes: int


def look_up(repository: str, key: str, fingerprint: str, wanted: Sequence[str]) -> list[Package]:
    """The packages `name=version` of this repository, the signature of its index checked.

    `key`: the address or path of the public key; `fingerprint`: what it must be."""
    place = repository.rstrip("/")
    release = _get(f"{place}/Release")
    check_signature(release, _get(f"{place}/Release.gpg"), _get(key), fingerprint)
    name, digest = _listed(release)
    content = _get(f"{place}/{name}")
    if hashlib.sha256(content).hexdigest() != digest:
        raise UserError(f"{name} of {place} is not the one that its signed Release names.")
    text = (gzip.decompress(content) if name.endswith(".gz") else content).decode()
    found = {f"{each.name}={each.version}": each for each in _packages(text)}
    if missing := [each for each in wanted if each not in found]:
        raise UserError(f"{place} has no {missing[0]}.", "Give packages as name=version.")
    return [found[each] for each in wanted]


def check_signature(content: bytes, signature: bytes, key: bytes, fingerprint: str) -> None:
    """Refuse what was not signed with the key of this fingerprint."""
    with tempfile.TemporaryDirectory(prefix="dlbench-") as scratch:
        folder = Path(scratch)
        for name, data in (("content", content), ("sig", _plain(signature)), ("key", _plain(key))):
            (folder / name).write_bytes(data)
        command = ["gpgv", "--status-fd", "1", "--keyring", str(folder / "key")]
        try:
            done = subprocess.run(
                [*command, str(folder / "sig"), str(folder / "content")],
                capture_output=True,
                text=True,
            )
        except FileNotFoundError:
            raise UserError("Signatures are checked with gpgv.", "`apt install gpgv`.") from None
    signers = set(re.findall(r"^\[GNUPG:\] VALIDSIG .*?([0-9A-F]{40})$", done.stdout, re.MULTILINE))
    if done.returncode or re.sub(r"\s", "", fingerprint).upper() not in signers:
        raise UserError(
            "The index is not signed with the key that was named.", "Do not use its digests."
        )


def as_archives(repository: str, fingerprint: str, packages: Iterable[Package]) -> str:
    """The packages as they stand in a CUDA library set; what is taken out is left to a person."""
    day = datetime.now(UTC).date().isoformat()
    parts = []
    for each in packages:
        address = f"{repository.rstrip('/')}/{each.file.removeprefix('./')}"
        parts.append(
            f'[[archive]]\naddresses = ["{address}"]\nsha256 = "{each.sha256}"\n'
            f'bytes = {each.bytes}\nlayout = "deb"\ntake = []\nlicence = "{_licence(each.name)}"\n'
            f'known_from = "the repository\'s index of {day}, signed with {fingerprint}"\n'
            "untried = true\n"
        )
    return "\n".join(parts)


def _licence(name: str) -> str:
    """cuDNN has terms of its own, and NCCL is free software."""
    if name.startswith("libcudnn"):
        address = "https://docs.nvidia.com/deeplearning/cudnn/latest/reference/eula.html"
        return f"cuDNN Software License Agreement, {address}"
    if name.startswith("libnccl"):
        return "NCCL's licence, https://github.com/NVIDIA/nccl/blob/master/LICENSE.txt"
    return "CUDA Toolkit End User License Agreement, https://docs.nvidia.com/cuda/eula/"


def _listed(release: bytes) -> tuple[str, str]:
    """The name and digest of the list of packages, as the signed file has it."""
    section = release.decode("utf-8", "replace").partition("\nSHA256:")[2]
    entries = re.findall(r"^ ([0-9a-f]{64}) +\d+ (Packages(?:\.gz)?)$", section, re.MULTILINE)
    if not entries:
        raise UserError("The signed Release names no SHA256 of Packages.")
    digest, name = min(entries, key=lambda entry: len(entry[1]))
    return name, digest


def _packages(text: str) -> Iterable[Package]:
    for stanza in re.split(r"\n\s*\n", text):
        fields = dict(re.findall(r"^([A-Za-z0-9-]+): *(.*)$", stanza, re.MULTILINE))
        if fields.keys() >= set(_FIELDS):
            name, version, file, sha256, size = (fields[key] for key in _FIELDS)
            yield Package(name, version, file, sha256, int(size))


def _plain(armoured: bytes) -> bytes:
    """A key or signature without its armour, as gpgv wants it."""
    match = re.search(
        rb"-----BEGIN PGP [A-Z ]+-----\r?\n(?:.+: .*\r?\n)*\r?\n(.*?)\r?\n(?:=.{4}\r?\n)?-----END",
        armoured,
        re.DOTALL,
    )
    try:
        return base64.b64decode(match[1]) if match else armoured
    except ValueError:
        return armoured  # gpgv refuses it


def _get(address: str) -> bytes:
    try:
        if "://" not in address:
            return Path(address).read_bytes()
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
            return bytes(answer.read())
    except OSError as error:
        remedy = "Check the address, and the network."
        raise UserError(f"{address} can't be read ({error}).", remedy) from error
