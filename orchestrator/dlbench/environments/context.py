"""A build's context, streamed to the daemon straight from the wheel cache: no second copy."""

from __future__ import annotations

import io
import os
import tarfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO

from dlbench.environments import installs
from dlbench.environments.wheels import Wheel

_INSIDE = Path("/context/wheels")
"""Where the Dockerfile puts the wheels."""


def streamed(dockerfile: bytes, wheels: Sequence[Wheel]) -> AbstractContextManager[IO[bytes]]:
    """The context as a readable tar."""
    return piped(lambda tar: _fill(tar, dockerfile, wheels))


@contextmanager
def piped(fill: Callable[[tarfile.TarFile], None]) -> Iterator[IO[bytes]]:
    """A readable tar, written by a thread while it is read."""
    receiving, sending = os.pipe()

    def send() -> None:
        try:
            with os.fdopen(sending, "wb") as pipe, tarfile.open(fileobj=pipe, mode="w|") as tar:
                fill(tar)
        except BrokenPipeError:
            return  # The daemon stopped reading: its own error says why.

    sender = threading.Thread(target=send, name="build-context", daemon=True)
    with os.fdopen(receiving, "rb") as stream:
        sender.start()
        yield stream
    sender.join()


def _fill(tar: tarfile.TarFile, dockerfile: bytes, wheels: Sequence[Wheel]) -> None:
    import uv

    _text(tar, "Dockerfile", dockerfile)
    _text(tar, "wheels.txt", installs.listing(wheels, sdists=False, folder=_INSIDE).encode())
    _text(tar, "sdists.txt", installs.listing(wheels, sdists=True, folder=_INSIDE).encode())
    _file(tar, "uv", Path(uv.find_uv_bin()), mode=0o755)
    for wheel in wheels:
        _file(tar, f"wheels/{wheel.file.name}", wheel.path, mode=0o644)


def _text(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    tar.addfile(_member(name, len(content), 0o644), io.BytesIO(content))


def _file(tar: tarfile.TarFile, name: str, path: Path, mode: int) -> None:
    with path.open("rb") as content:
        tar.addfile(_member(name, path.stat().st_size, mode), content)


def _member(name: str, size: int, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, mode
    return member
