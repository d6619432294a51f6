"""Takes the libraries out of NVIDIA's archives without running an installer and without root.

Each layout becomes the same thing: a stream of regular files with their names. Of these, the wanted
shared libraries are kept under their own names, in one folder; links are made anew from what each
library says it is called, because some installers make them only when they run.
"""

from __future__ import annotations

import errno
import filecmp
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO

from dlbench.environments import elf
from dlbench.environments.cuda_sets import Archive
from dlbench.errors import UserError

INCLUDE = "include"
_HEADER_BYTES = 1 << 20
"""A makeself script is shorter than this."""
_LINES = re.compile(rb"""^skip="?(\d{1,6})"?\s*$|offset=\W*head -n (\d{1,6})\b""", re.MULTILINE)
"""Where such a script says how many lines it has, in newer and in older ones."""
_LEFT_OUT = re.compile(r"stubs|nsight.*|libnvvp|doc|samples|extras", re.IGNORECASE)
"""Folders with libraries that are not the ones to run with."""
_TOOLKIT = "cuda-linux"
"""Begins the name of the one runfile in an old runfile that has the libraries: the driver's
(`NVIDIA-Linux-x86_64-384.81.run`), another kind of script, and the examples lie beside it."""

_BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError, ValueError,
    RuntimeError,
)  # fmt: skip
"""What Python raises where an archive is not what its layout says."""

Member = tuple[str, IO[bytes]]


def take_out(archive: Archive, path: Path, target: Path) -> None:
    """Put the wanted libraries of this archive into `target`, each under its own name, and the
    wanted headers into its folder `include`."""
    names = "|".join(re.escape(word) for word in archive.take if word not in archive.headers)
    headers = "".join(f"|{re.escape(name)}" for name in archive.headers)
    wanted = re.compile(rf"lib(?:{names})\.so(?:\.[\w.]+)?{headers}")
    try:
        with path.open("rb") as file:
            members = _READERS[archive.layout](path, file)
            found = sum(_keep(name, content, wanted, path, target) for name, content in members)
    except _BROKEN as error:
        # What the disk does has a number of its own.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise broken_archive(path, str(error) or "it breaks off") from error
    if not found:
        raise broken_archive(path, f"it holds none of {', '.join(archive.take)}")


def link_sonames(folder: Path) -> set[str]:
    """Give each library of the folder the name that programs ask for; all such names.

    It gets its plain name, too, as installers give it: the compiler of CUDA 9 and 10 opens a plain
    `libnvrtc-builtins.so`."""
    sonames = set()
    for path in sorted(p for p in folder.iterdir() if p.name != INCLUDE and not p.is_symlink()):
        library = elf.read(path)
        if library is None:
            raise UserError(f"{path.name} is not a library for this kind of machine.")
        soname = library.soname or path.name
        # A hostile name could point out of the folder.
        if PurePosixPath(soname).name != soname or soname in (".", ".."):
            raise UserError(f"{path.name} calls itself {soname!r}, which is not a file name.")
        if soname != path.name:
            link = folder / soname
            if link.exists() and not link.is_symlink():
                raise UserError(f"{path.name} calls itself {soname}, which is another library.")
            link.unlink(missing_ok=True)
            link.symlink_to(path.name)
        plain = folder / f"{path.name.partition('.so')[0]}.so"
        if not plain.exists():
            plain.symlink_to(path.name)
        sonames.add(soname)
    return sonames


def _keep(name: str, content: IO[bytes], wanted: re.Pattern[str], path: Path, target: Path) -> bool:
    *folders, plain = PurePosixPath("/", name).parts
    if not wanted.fullmatch(plain) or any(map(_LEFT_OUT.fullmatch, folders)):
        return False
    place = target / plain if ".so" in plain else target / INCLUDE / plain
    place.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target, delete=False) as file:
        shutil.copyfileobj(content, file, 1 << 20)
    arrived = Path(file.name)
    if place.exists() and not filecmp.cmp(place, arrived, shallow=False):
        raise broken_archive(path, f"it holds two different files named {plain}")
    arrived.chmod(0o755)
    arrived.replace(place)
    return True


def _in_tar(_: Path, file: IO[bytes]) -> Iterator[Member]:
    """gzip, bzip2, xz or nothing around it: Python tells by itself."""
    with tarfile.open(fileobj=file, mode="r|*") as tar:
        for member in tar:
            # A sparse file may claim any size; no library is one.
            plain = member.isreg() and not member.issparse()
            if plain and (content := tar.extractfile(member)) is not None:
                yield member.name, content


def _in_runfile(path: Path, file: IO[bytes]) -> Iterator[Member]:
    """A makeself script: a tar behind a shell script that says how many lines it has itself."""
    begin = file.tell()
    head = file.read(_HEADER_BYTES)
    script = re.match(rb"#!\s*/\S+", head)
    # The first of them is its own: scripts that lie inside may follow.
    lines = re.search(_LINES, head)
    if not script or not lines:
        raise broken_archive(path, "it is not a runfile")
    end = -1
    for _ in range(int(lines[1] or lines[2])):
        end = head.find(b"\n", end + 1)
        if end < 0:
            raise broken_archive(path, "its script does not end where it says")
    file.seek(begin + end + 1)
    for name, content in _in_tar(path, file):
        if not name.endswith(".run"):
            yield name, content
        elif PurePosixPath(name).name.startswith(_TOOLKIT):
            # Beside the archive: /tmp may be in memory, and this is more than a gigabyte.
            with tempfile.TemporaryFile(dir=path.parent) as inner:
                shutil.copyfileobj(content, inner, 1 << 20)
                inner.seek(0)
                yield from _in_runfile(path, inner)


def _in_deb(path: Path, file: IO[bytes]) -> Iterator[Member]:
    """An `ar` archive that holds a compressed tar named data.tar.*"""
    if file.read(8) != b"!<arch>\n":
        raise broken_archive(path, "it is not a Debian package")
    while len(header := file.read(60)) == 60:
        name = header[:16].decode("ascii", "replace").strip().rstrip("/")
        size = int(header[48:58].strip()) if header[48:58].strip().isdigit() else -1
        if size < 0:
            break
        if name.startswith("data.tar"):
            yield from _in_compressed(path, name, file)
            return
        file.seek(size + size % 2, 1)
    raise broken_archive(path, "it has no data.tar")


def _in_conda(path: Path, file: IO[bytes]) -> Iterator[Member]:
    """The old format is a tar.bz2; the new one a zip that holds pkg-*.tar.zst."""
    if path.suffix != ".conda":
        yield from _in_tar(path, file)
        return
    with zipfile.ZipFile(file) as outer:
        names = [name for name in outer.namelist() if re.fullmatch(r"pkg-.*\.tar\.\w+", name)]
        if len(names) != 1:
            raise broken_archive(path, "it does not hold one package")
        with outer.open(names[0]) as inner:
            yield from _in_compressed(path, names[0], inner)


def _in_compressed(path: Path, name: str, content: IO[bytes]) -> Iterator[Member]:
    """A tar whose compression Python may not know: zstd is left to the program of that name."""
    if not name.endswith(".zst"):
        yield from _in_tar(path, content)
        return
    if shutil.which("zstd") is None:
        raise UserError(
            f"{path.name} is compressed with zstd, which is not installed.", "`apt install zstd`."
        )
    scratch = path.parent
    with (
        tempfile.TemporaryFile(dir=scratch) as packed,
        tempfile.TemporaryFile(dir=scratch) as plain,
    ):
        shutil.copyfileobj(content, packed, 1 << 20)
        packed.seek(0)
        command = ["zstd", "--decompress", "--stdout", "--quiet"]
        done = subprocess.run(command, stdin=packed, stdout=plain, stderr=subprocess.PIPE)
        # What stands behind data.tar.zst in a package is not zstd: only an empty result is wrong.
        plain.seek(0)
        if done.returncode and not plain.read(1):
            raise broken_archive(path, done.stderr.decode("utf-8", "replace").strip())
        plain.seek(0)
        yield from _in_tar(path, plain)


_READERS: dict[str, Callable[[Path, IO[bytes]], Iterator[Member]]] = {
    "runfile": _in_runfile,
    "tar": _in_tar,
    "deb": _in_deb,
    "conda": _in_conda,
}
"""Of the regular files inside, by layout."""


def broken_archive(path: Path, why: str) -> UserError:
    return UserError(
        f"The libraries can't be taken out of {path.name}: {why}.",
        "If it is a download of another file, remove it and get the right one.",
    )
