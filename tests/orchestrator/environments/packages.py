"""Writes real little packages, so that tests need no index but a folder."""

from __future__ import annotations

import base64
import hashlib
import io
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from dlbench.environments.releases import Release

HOST_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

MakeRelease = Callable[..., Release]


def write_wheel(
    folder: Path,
    name: str,
    version: str,
    body: str = "",
    tag: str = "py3-none-any",
    more: Mapping[str, bytes] = {},
) -> Path:
    """A real wheel of one module, `name`, and of `more` files."""
    info = f"{name}-{version}.dist-info"
    texts = {
        f"{name}.py": f"VERSION = {version!r}\n{body}",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    files = {**{path: text.encode() for path, text in texts.items()}, **more}
    rows = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
        rows.append(f"{path},sha256={digest.decode()},{len(content)}")
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    wheel = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return wheel


def write_sdist(folder: Path, name: str, version: str, setup: str) -> Path:
    """An sdist of the old kind: a setup.py and a PKG-INFO, no pyproject.toml."""
    files = {
        "setup.py": setup,
        f"{name}.py": f"VERSION = {version!r}\n",
        "PKG-INFO": f"Metadata-Version: 1.0\nName: {name}\nVersion: {version}\n",
    }
    sdist = folder / f"{name}-{version}.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"{name}-{version}/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return sdist
