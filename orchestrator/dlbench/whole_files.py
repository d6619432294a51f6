"""Files and folders that are there whole or not at all, whatever goes wrong while they are made."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dlbench.errors import UserError


@contextmanager
def writing(path: Path, remedy: str) -> Iterator[None]:
    """What can't be written in the block is an error that names `path` and says what to do."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise UserError(f"{path} can't be written ({why}).", remedy) from error


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to be written; it becomes `path` when the block ends without an error.

    It is a new file, put in the place of what was there: nothing is written through a link."""
    making = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.new")
    try:
        with making.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # also after a power cut
        making.replace(path)
    finally:
        making.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    content = text.encode("utf-8")
    with whole_file(path) as file:
        file.write(content)


def write_json(path: Path, content: object) -> None:
    write_whole(path, json.dumps(content, indent=1))


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """An empty folder to fill; it becomes `out` when the block ends without an error."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is not empty.", "Choose another path with -o.")
    making = out.with_name(f".{out.name}.new")
    shutil.rmtree(making, ignore_errors=True)
    try:
        with writing(out, "Choose another path with -o."):
            making.mkdir(parents=True)
            yield making
            if out.exists():
                out.rmdir()
            making.replace(out)
    finally:
        shutil.rmtree(making, ignore_errors=True)
