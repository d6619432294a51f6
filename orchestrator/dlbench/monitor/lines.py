"""A file that grows by whole lines and whose troubles never become the trial's."""

from __future__ import annotations

import errno
import os
from pathlib import Path


class Lines:
    """A file that lines are appended to; the first failure is kept and ends the writing."""

    def __init__(self, path: Path) -> None:
        self.error: str | None = None
        self._fd = -1
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            self.error = f"Samples could not be written: {error.strerror}."

    def write(self, line: bytes) -> None:
        """Append at once: a killed orchestrator leaves whole lines but for the last."""
        if self._fd < 0 or self.error is not None or not line:
            return
        try:
            if os.write(self._fd, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self.error = f"Samples could not be written: {error.strerror}."

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
