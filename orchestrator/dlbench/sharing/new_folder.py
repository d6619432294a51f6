"""A folder that appears whole or not at all, whatever goes wrong while it is filled."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dlbench.errors import UserError


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """An empty folder to fill; it becomes `out` when the block ends without an error."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is not empty.", "Choose another path with -o.")
    making = out.with_name(f".{out.name}.new")
    shutil.rmtree(making, ignore_errors=True)
    try:
        making.mkdir(parents=True)
        yield making
        if out.exists():
            out.rmdir()
        making.replace(out)
    except OSError as error:
        raise UserError(
            f"{out} can't be written ({error.strerror or error}).", "Choose another path with -o."
        ) from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
