"""The wheel cache: every file an environment needs, once, under the digest of its content.

Both engines install from it. A file enters only after its digest was checked, by a rename: there is
never half a file, and two dlbench processes never fetch the same one twice.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dlbench import paths
from dlbench.environments import downloads, locks
from dlbench.environments.locks import Entry, File
from dlbench.environments.progress import Progress, Step, silent
from dlbench.environments.releases import Release
from dlbench.environments.targets import Target
from dlbench.errors import UserError

_LARGE = 20_000_000


@dataclass(frozen=True)
class Wheel:
    """One file of the cache and what it is for."""

    entry: Entry
    file: File
    path: Path


def root() -> Path:
    return paths.cache() / "wheels"


def location(file: File) -> Path:
    """Where the cache keeps this file."""
    return root() / "sha256" / file.sha256 / file.name


def missing(release: Release, device: str, python: str) -> list[File]:
    """What `fetch` would download. Asks nobody and reads no file's content."""
    chosen = locks.read(release.lock(device)).files_for(Target.here(python))
    return [file for _, file in chosen if not location(file).is_file()]


def fetch(release: Release, device: str, python: str, progress: Progress = silent) -> list[Wheel]:
    """Everything the lock names for this Python, downloaded where missing, each digest checked."""
    target = Target.here(python)
    chosen = locks.read(release.lock(device)).files_for(target)
    with exclusively(root() / "lock", progress):
        wanted = [(entry, file) for entry, file in chosen if not is_whole(file)]
        for leftover in root().glob("arriving-*"):  # of downloads that were killed
            shutil.rmtree(leftover, ignore_errors=True)
        if wanted:
            with tempfile.TemporaryDirectory(prefix="arriving-", dir=root()) as folder:
                _download(wanted, release, target, Path(folder), progress)
    return [Wheel(entry, file, location(file)) for entry, file in chosen]


@contextmanager
def exclusively(path: Path, progress: Progress = silent) -> Iterator[None]:
    """Hold this lock file; the kernel lets go of it when the process ends, however it ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = path.open("w")
    except OSError as error:
        raise UserError(
            f"dlbench cannot write to its cache {path.parent}: {error.strerror}.",
            "Set DLBENCH_CACHE to a folder that you may write to.",
        ) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(Step("wait", "another dlbench, which fills the same cache"))
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _download(
    wanted: Sequence[tuple[Entry, File]],
    release: Release,
    target: Target,
    folder: Path,
    progress: Progress,
) -> None:
    total = sum(file.size or 0 for _, file in wanted)
    count = "1 file" if len(wanted) == 1 else f"{len(wanted)} files"
    progress(Step("download", count, 0, total))

    def arrived(step: Step) -> None:
        before = sum(file.size or 0 for _, file in wanted if location(file).is_file())
        progress(Step(step.stage, step.detail, min(before + step.done, total), total))

    for batch in _batches(wanted, release.index):
        _ask(batch, target, folder, release.index.get(batch[0][0].name), arrived)
    progress(Step("download", count, total, total))


def _batches(
    pairs: Sequence[tuple[Entry, File]], elsewhere: Collection[str]
) -> list[list[tuple[Entry, File]]]:
    """Small files together, large ones each alone: what is interrupted costs one batch. Packages
    that are elsewhere come last, each alone, too."""
    ordinary = [pair for pair in pairs if pair[0].name not in elsewhere]
    small = [pair for pair in ordinary if (pair[1].size or _LARGE) < _LARGE]
    alone = [pair for pair in ordinary if pair not in small]
    alone += [pair for pair in pairs if pair not in ordinary]
    return [batch for batch in (small, *([pair] for pair in alone)) if batch]


def _ask(
    pairs: Sequence[tuple[Entry, File]],
    target: Target,
    folder: Path,
    index: str | None,
    progress: Progress,
) -> None:
    lines = [f"{entry.pin} --hash=sha256:{file.sha256}" for entry, file in pairs]
    downloads.download(lines, target, folder, index=index, progress=progress)
    for entry, file in pairs:
        arrived = folder / file.name
        if not arrived.is_file() or sha256(arrived) != file.sha256:
            raise UserError(
                f"pip brought another file for {entry.pin} than {file.name}, which is locked.",
                "Check your package index and mirrors.",
            )
        admit(arrived, file)


def admit(arrived: Path, file: File) -> None:
    """Let a file whose digest was checked into the cache."""
    place = location(file)
    place.parent.mkdir(parents=True, exist_ok=True)
    arrived.replace(place)


def is_whole(file: File) -> bool:
    """The cache has this file, unchanged; a damaged one is removed."""
    place = location(file)
    if not place.is_file():
        return False
    if sha256(place) == file.sha256:
        return True
    shutil.rmtree(place.parent)
    return False


def sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
