"""A Python of this machine, packed so that it runs from /usr/local of an image.

CPython finds its library from where its program lies, so a prefix can be copied. What is left out:
other people's packages, tests, static libraries, Tk. Headers stay: Theano and torch.compile compile
against them.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from dlbench.environments.interpreters import Interpreter

_SKIPPED = {"test", "tests", "idle_test", "idlelib", "tkinter", "turtledemo"}
_SKIPPED_ENDS = (".a", ".o", ".opt-1.pyc", ".opt-2.pyc")


def is_packaged(interpreter: Interpreter) -> bool:
    """It is Debian's own: it comes as a package and is not copied."""
    return interpreter.prefix == Path("/usr")


def digest(interpreter: Interpreter) -> str:
    """Changes when the Python changes."""
    status = interpreter.path.stat()
    told = f"{interpreter.version} {interpreter.path} {status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(told.encode()).hexdigest()


def pack(interpreter: Interpreter, archive: Path) -> None:
    """Write a tar that unpacks at / and leaves this Python in /usr/local."""
    name = f"python{interpreter.python}"
    with tarfile.open(archive, "w") as tar:
        if is_packaged(interpreter):
            link = tarfile.TarInfo(f"usr/local/bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, f"/usr/bin/{name}"
            tar.addfile(link)
            return
        tar.add(interpreter.path.resolve(), f"usr/local/bin/{name}", filter=_rootly)
        for library in sorted((interpreter.prefix / "lib").glob("libpython3*.so*")):
            tar.add(library, f"usr/local/lib/{library.name}", filter=_rootly)
        tar.add(interpreter.prefix / "lib" / name, f"usr/local/lib/{name}", filter=_kept)
        for headers in sorted((interpreter.prefix / "include").glob(f"{name}*")):
            tar.add(headers, f"usr/local/include/{headers.name}", filter=_rootly)
        site = tarfile.TarInfo(f"usr/local/lib/{name}/site-packages")
        site.type, site.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(site)


def debian_packages(interpreter: Interpreter) -> list[str]:
    """The Debian packages whose shared libraries this Python is linked with."""
    if is_packaged(interpreter):
        return [f"python{interpreter.python}", f"libpython{interpreter.python}-dev"]
    if shutil.which("dpkg-query") is None:
        return []
    return sorted({owner for path in _libraries(interpreter) if (owner := _owner(path))})


def _libraries(interpreter: Interpreter) -> set[str]:
    modules = interpreter.prefix / "lib" / f"python{interpreter.python}" / "lib-dynload"
    programs = [interpreter.path, *(p for p in modules.glob("*.so") if "_tkinter" not in p.name)]
    told = subprocess.run(
        ["ldd", *map(str, programs)],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    paths = set(re.findall(r"=> (/\S+)", told.stdout))
    return {path for path in paths if not path.startswith(str(interpreter.prefix))}


@functools.cache
def _owner(library: str) -> str | None:
    # /lib is a link to /usr/lib today; the package's file list may have either name.
    plain = library.removeprefix("/usr")
    for path in (library, plain, f"/usr{plain}", str(Path(library).resolve())):
        told = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True)
        if told.returncode == 0:
            return told.stdout.split(":")[0]
    return None


def _rootly(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def _kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    parts = Path(member.name).parts
    below = parts[4:]
    skipped = (
        (below and below[0] in ("site-packages", "ensurepip", "lib2to3"))
        or any(part in _SKIPPED or part.startswith("config-") for part in below)
        or member.name.endswith(_SKIPPED_ENDS)
        or (below and below[-1].startswith("_tkinter"))
    )
    return None if skipped else _rootly(member)
