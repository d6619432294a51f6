"""Opens an archive: a campaign in one file, a zip with a checksum for every member.

Nothing in an archive is trusted: names, kinds, sizes and checksums are checked before a member is
used, and it is unpacked into a folder that is removed with the process. `sharing.archive` writes
archives.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from dlbench.campaigns.plain_files import RESULT
from dlbench.campaigns.temporary_folder import new_folder, remove
from dlbench.errors import UserError
from dlbench.plain_json import printable

SUFFIX = ".dlbench"
SUMS = "SHA256SUMS"
_MOST_MEMBERS = 1_000_000
_MOST_BYTES = 64 << 30
_MOST_RATIO = 200
"""A campaign's text shrinks to a tenth; what shrinks to less than this was made to fill a disk."""
_CHUNK = 1 << 20


def campaign_folder(path: Path, *, only_results: bool = False) -> Path:
    """The campaign's folder: the path itself, or what an archive holds, unpacked.

    `only_results`: of each trial no more than how it ended. Making files is what takes long."""
    if not path.is_file():
        return path
    if not zipfile.is_zipfile(path):
        raise UserError(
            f"{path} is neither a campaign's folder nor an archive of one.",
            f"Give the folder that `dlbench run` named, or a {SUFFIX} file.",
        )
    return _unpacked_once(path.resolve(), path.stat().st_mtime_ns, only_results)


@cache
def _unpacked_once(path: Path, _changed: int, only_results: bool) -> Path:
    """An archive is unpacked once a process, into a folder that goes with it."""
    folder = new_folder()
    try:
        unpack(path, folder, only_results=only_results)
    except BaseException:
        remove(folder)
        raise
    return folder


def unpack(path: Path, folder: Path, *, only_results: bool = False) -> None:
    """Unpack an archive into an empty folder, or refuse it whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            sums = _sums(archive, path)
            for info in _checked(archive, path, sums):
                name = info.filename
                if only_results and name.startswith("trials/") and not name.endswith(f"/{RESULT}"):
                    continue
                target = folder / info.filename
                target.parent.mkdir(parents=True, exist_ok=True)
                if _copied(archive, info, target) != sums[info.filename]:
                    raise _refused(path, f"{info.filename} does not match its checksum")
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
            ValueError) as error:  # fmt: skip
        raise _refused(path, str(error)) from error


def _sums(archive: zipfile.ZipFile, path: Path) -> dict[str, str]:
    """The checksums that the archive says its members have."""
    try:
        info = archive.getinfo(SUMS)
    except KeyError:
        raise _refused(path, f"it has no {SUMS}") from None
    if info.file_size > 256 << 20:
        raise _refused(path, f"its {SUMS} is too large")
    sums = {}
    for line in archive.read(info).decode("utf-8").splitlines():
        digest, _, name = line.partition("  ")
        sums[name] = digest
    return sums


def _checked(
    archive: zipfile.ZipFile, path: Path, sums: dict[str, str]
) -> Iterator[zipfile.ZipInfo]:
    """The members, once all of them have been found to be harmless."""
    members = [info for info in archive.infolist() if info.filename != SUMS]
    names = [info.filename for info in members]
    if len(members) > _MOST_MEMBERS:
        raise _refused(path, f"it has more than {_MOST_MEMBERS:,} members")
    if len({name.casefold() for name in names}) != len(names):
        raise _refused(path, "two members have one name")
    if set(names) != set(sums):
        odd = sorted(set(names) ^ set(sums))[0]
        raise _refused(path, f"its members and its {SUMS} differ ({odd!r})")
    total = sum(info.file_size for info in members)
    packed = path.stat().st_size
    if total > _MOST_BYTES or total > _MOST_RATIO * packed + (64 << 20):
        raise _refused(path, f"it would fill {total / 2**30:.1f} GiB")
    if total > shutil.disk_usage(tempfile.gettempdir()).free:
        raise _refused(path, f"{total / 2**30:.1f} GiB of disk are not free")
    for info in members:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or info.is_dir():
            raise _refused(path, f"{info.filename!r} is not a plain file")
        if not _harmless(info.filename):
            raise _refused(path, f"{info.filename!r} lies outside the archive")
        if info.flag_bits & 1 or info.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise _refused(path, f"{info.filename!r} is packed in an unknown way")
    yield from members


def _harmless(name: str) -> bool:
    parts = PurePosixPath(name).parts
    plain = name.isprintable() and "\\" not in name and ":" not in name
    return plain and bool(parts) and name == "/".join(parts) and ".." not in parts


def _copied(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> str:
    """Write a member; returns its checksum."""
    digest = hashlib.sha256()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with archive.open(info) as source, os.fdopen(os.open(target, flags, 0o600), "wb") as file:
        left = info.file_size
        while chunk := source.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise ValueError(f"{info.filename} is larger than it says")
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _refused(path: Path, why: str) -> UserError:
    return UserError(f"{path} is not a valid archive: {printable(why, 300)}.", "Ask for it again.")
