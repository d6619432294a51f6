"""Reads a TOML file that somebody wrote: of bounded size and depth, never waiting on a pipe."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from dlbench.plain_json import printable

_MOST_BYTES = 4 << 20


def read_toml(path: Path) -> dict[str, Any]:
    """Its content. OSError: it can't be read; ValueError says what is wrong in it."""
    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it is longer than {_MOST_BYTES:,} bytes")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(printable(str(error), 200)) from error
