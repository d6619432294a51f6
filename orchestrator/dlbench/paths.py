"""Where dlbench keeps things, and where its own files are, in a checkout as in a wheel."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent


def bundled(name: str) -> Path:
    """A tree that ships with dlbench: `bench` or `images`."""
    inside_wheel = _PACKAGE / "_bundle" / name
    return inside_wheel if inside_wheel.is_dir() else _CHECKOUT / name


def cache() -> Path:
    """Everything that can be made again: wheels, environments, data. `DLBENCH_CACHE` moves it."""
    if chosen := os.environ.get("DLBENCH_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "dlbench"


def free_bytes() -> int:
    """What the disk of the cache has left."""
    here = cache()
    return shutil.disk_usage(next(path for path in (here, *here.parents) if path.exists())).free
