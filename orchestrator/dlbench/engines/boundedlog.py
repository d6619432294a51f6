"""A log that can't fill the disk: the beginning is kept, and the end.

Both ends matter: what a trial printed first tells what it was, what it printed last why it ended.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

HEAD_BYTES = 15 << 20
TAIL_BYTES = 1 << 20


class BoundedLog:
    """Takes any number of bytes, keeps the first `head` and the last `tail`, says what it cut."""

    def __init__(self, file: Path, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(file, flags, 0o644)
        self._room = head
        self._tail_bytes = tail
        self._tail = bytearray()
        self._dropped = 0
        self._open = True

    def write(self, data: bytes) -> None:
        """Never fails: a trial whose output is not read would wait for ever."""
        if not self._open:
            return
        if self._room:
            now, data = data[: self._room], data[self._room :]
            try:
                _write_all(self._file, now)
                self._room -= len(now)
            except OSError:  # the disk is full; there may be room for the end of the log later
                self._room = 0
                self._dropped += len(now)
        if data:
            self._tail += data
            if len(self._tail) > 2 * self._tail_bytes:
                self._cut()

    def _cut(self) -> None:
        excess = max(0, len(self._tail) - self._tail_bytes)
        del self._tail[:excess]
        self._dropped += excess

    def close(self) -> None:
        if not self._open:
            return
        self._cut()
        self._open = False
        with suppress(OSError):
            if self._dropped:
                note = f"\n[dlbench: the log was cut; {self._dropped} bytes are left out here]\n"
                _write_all(self._file, note.encode())
            _write_all(self._file, bytes(self._tail))
        os.close(self._file)

    def __enter__(self) -> BoundedLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
