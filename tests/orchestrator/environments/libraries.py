"""Makes real little shared libraries, and archives of them in each layout that NVIDIA uses."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from dlbench.environments import stub_driver

SCRIPT = """#!/bin/sh
# This script was generated using Makeself 2.4.5
skip="{lines}"
filesizes="{size}"
exit 1
"""


OLD_SCRIPT = """#!/bin/sh
# This script was generated using Makeself 2.1.4
filesizes="{size}"
MS_Check()
{{
    first=`echo "$1" | head -n 1`
    offset=`head -n {lines} "$1" | wc -c | tr -d " "`
}}
exit 1
"""
"""How long the script is stands only in its commands."""


def library(soname: str) -> bytes:
    """A shared library of that name; written without a compiler."""
    return stub_driver.library(soname, ["call"])


def tar_of(files: Mapping[str, bytes], mode: str = "w:gz", links: Mapping[str, str] = {}) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for name, target in links.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return buffer.getvalue()


def runfile_of(
    files: Mapping[str, bytes], *, compressed: bool = True, script: str = OLD_SCRIPT
) -> bytes:
    payload = tar_of(files, "w")
    payload = gzip.compress(payload) if compressed else payload
    return script.format(lines=script.count("\n"), size=len(payload)).encode() + payload


def deb_of(files: Mapping[str, bytes], compression: str = "xz") -> bytes:
    zst = compression == "zst"
    data = zstd(tar_of(files, "w")) if zst else tar_of(files, f"w:{compression}")
    content = b"!<arch>\n"
    for name, part in (
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", tar_of({"control": b"Package: x\n"})),
        (f"data.tar.{compression}", data),
    ):
        content += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(part):<10}`\n".encode()
        content += part + b"\n" * (len(part) % 2)
    return content


def conda_of(files: Mapping[str, bytes]) -> bytes:
    """The newer of conda's two formats; the older is a plain tar.bz2."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as outer:
        outer.writestr("metadata.json", "{}")
        outer.writestr(
            "info-cudatoolkit-9.0-0.tar.zst", zstd(tar_of({"info/index.json": b"{}"}, "w"))
        )
        outer.writestr("pkg-cudatoolkit-9.0-0.tar.zst", zstd(tar_of(files, "w")))
    return buffer.getvalue()


def zstd(content: bytes) -> bytes:
    done = subprocess.run(["zstd", "-q", "-c"], input=content, capture_output=True, check=True)
    return done.stdout


def compiled(
    folder: Path, name: str, *options: str, source: str = "int call(void){return 1;}"
) -> Path:
    """A library made by the real compiler and linker."""
    folder.mkdir(parents=True, exist_ok=True)
    code, target = folder / f"{name}.c", folder / name
    code.write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", target, code, *options], check=True)
    code.unlink()
    return target
