"""Brings the archives of a CUDA set into the cache of downloads: by network, or by hand.

A download goes on where it broke off. Nothing reads a file before its digest was checked.
"""

from __future__ import annotations

import errno
import http.client
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from dlbench.environments import wheels
from dlbench.environments.cuda_sets import Archive, CudaSet
from dlbench.environments.progress import Progress, Step, silent
from dlbench.errors import UserError

MIRROR = "DLBENCH_CUDA_MIRROR"
"""An address that has the archives under their own names; it is asked first."""
_SECONDS = 60
_PIECE = 1 << 20


def missing(chosen: CudaSet) -> list[Archive]:
    """What would have to be downloaded. Reads no file's content."""
    return [each for each in chosen.archives if not wheels.location(each.file).is_file()]


def bring(
    chosen: CudaSet, progress: Progress = silent, brought: Path | None = None
) -> list[tuple[Archive, Path]]:
    """The set's archives, in the cache, digests checked; `brought`: a folder that has them."""
    with wheels.exclusively(wheels.root() / "lock", progress):
        wanted = [archive for archive in chosen.archives if not wheels.is_whole(archive.file)]
        if brought is not None:
            _from_folder(wanted, brought)
        else:
            for archive in wanted:
                _download(archive, progress)
    return [(archive, wheels.location(archive.file)) for archive in chosen.archives]


def _from_folder(wanted: Sequence[Archive], folder: Path) -> None:
    absent = [archive for archive in wanted if not (folder / archive.file.name).is_file()]
    if absent:
        raise UserError(
            f"{folder} has no file {' and no file '.join(each.file.name for each in absent)}.",
            # No full stop behind an address: people copy it.
            f"{' and '.join(each.addresses[0] for each in absent)}"
            f" {'has it' if len(absent) == 1 else 'have them'}.",
        )
    for archive in wanted:
        path = folder / archive.file.name
        if wheels.sha256(path) != archive.sha256:
            raise UserError(
                f"{path} is not the file that dlbench knows: its sha256 differs.",
                f"{archive.addresses[0]} has it.",
            )
        place = wheels.location(archive.file)
        place.parent.mkdir(parents=True, exist_ok=True)
        arriving = place.with_name(f"{place.name}.new")
        arriving.unlink(missing_ok=True)
        try:
            os.link(path, arriving)
        except OSError:
            shutil.copyfile(path, arriving)
        arriving.replace(place)


def _download(archive: Archive, progress: Progress) -> None:
    addresses = list(archive.addresses)
    if mirror := os.environ.get(MIRROR):
        addresses.insert(0, f"{mirror.rstrip('/')}/{archive.file.name}")
    partial = wheels.root() / "partial" / archive.sha256
    partial.parent.mkdir(parents=True, exist_ok=True)
    problems = []
    while addresses:
        address, resumed = addresses.pop(0), partial.is_file()
        try:
            _fetch(address, partial, archive, progress)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise  # no other address helps
            told = str(error).removeprefix("<urlopen error ").removesuffix(">") or repr(error)
            problems.append(f"{address}: {told.splitlines()[0]}")
            continue
        if wheels.sha256(partial) == archive.sha256:
            wheels.admit(partial, archive.file)
            return
        partial.unlink()
        if resumed:  # what was there before may be the wrong part: all of it, from here alone
            addresses.insert(0, address)
        else:
            problems.append(f"{address}: another file, its sha256 differs; it was thrown away")
    raise UserError(
        f"{archive.file.name} can't be downloaded ({'; '.join(problems)}).",
        "Start again: what has arrived is kept. Or get the file elsewhere and name its folder with"
        f" `dlbench images build --from DIR`, or an address that has it in {MIRROR}.",
    )


def _fetch(address: str, partial: Path, archive: Archive, progress: Progress) -> None:
    """The rest of the file, from this address; all of it, where the server can't go on."""
    have = partial.stat().st_size if partial.is_file() else 0
    if archive.bytes is not None and have == archive.bytes:
        return
    request = urllib.request.Request(address)
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        answer = urllib.request.urlopen(request, timeout=_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        # It is whole already, or longer than the file: the digest will tell.
        return
    with answer, partial.open("ab" if answer.status == 206 else "wb") as file:
        done = have if answer.status == 206 else 0
        announced = answer.headers.get("Content-Length")
        whole = done + int(announced) if announced else None
        while piece := answer.read(_PIECE):
            file.write(piece)
            done += len(piece)
            if done > (archive.bytes or 4 * archive.about_bytes):
                raise ValueError("it is larger than the file that dlbench knows")
            progress(Step("download", archive.file.name, done, whole or archive.about_bytes))
    if whole is not None and done < whole:
        raise ValueError("the connection broke off")
