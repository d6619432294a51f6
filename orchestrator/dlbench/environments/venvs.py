"""Virtual environments: what the process engine runs a release in.

An environment is made in its own folder, named by its lock's digest, and is ready when its marker
is there: the marker is written last, so an interrupted preparation is simply done again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dlbench import paths
from dlbench.environments import (
    cuda_libraries,
    cuda_sets,
    installs,
    interpreters,
    locks,
    records,
    wheels,
)
from dlbench.environments.progress import Progress, Step, silent
from dlbench.environments.releases import Release
from dlbench.environments.targets import Target
from dlbench.errors import UserError

_MARKER = "ready.json"


@dataclass(frozen=True)
class Venv:
    """An environment that is ready."""

    python: Path
    """Its interpreter: what the process engine starts."""
    python_version: str
    digest: str
    """The digest of the lock it was made from."""
    bytes: int
    made_s: float
    """How long it took to make, when it was made."""

    def marker(self) -> dict[str, Any]:
        """What is remembered of it."""
        return {key: value for key, value in asdict(self).items() if key != "python"}


def folder(release: Release, device: str) -> Path:
    digest = release.lock_digest(device)
    name = f"{release.framework}-{release.version}-{device}-{digest[:12]}"
    return paths.cache() / "environments" / name


def ready(release: Release, device: str, *, with_set: bool = True) -> Venv | None:
    """The environment, if it is ready; not `with_set`: without its CUDA set. Starts no process."""
    place = folder(release, device)
    try:
        told = json.loads((place / _MARKER).read_text(encoding="utf-8"))
        found = Venv(place / "bin" / "python", **told)
    except (OSError, ValueError, TypeError):
        return None
    # A link to an interpreter that has gone (a Python was removed) does not exist either.
    if found.digest != release.lock_digest(device) or not found.python.exists():
        return None
    chosen = cuda_sets.of_release(release, device)
    if with_set and chosen is not None and not cuda_libraries.is_ready(chosen):
        return None
    return found


def library_folders(release: Release, device: str) -> tuple[Path, ...]:
    """Where the loader must look for CUDA's libraries: its packages' folders, its set's."""
    site = folder(release, device).glob("lib/python*/site-packages/nvidia/*/lib")
    chosen = cuda_sets.of_release(release, device)
    of_set = () if chosen is None else (cuda_libraries.folder(chosen),)
    return (*sorted(site), *of_set)


def prepare(
    release: Release,
    device: str,
    progress: Progress = silent,
    *,
    brought: Path | None = None,
    with_set: bool = True,
) -> Venv:
    """Make the environment of this release, unless it is ready already.

    `brought`: a folder with the archives of its CUDA set, if it has one. Not `with_set`: without
    that set, which is enough for some to compute on a CPU.
    """
    begun = time.monotonic()
    if with_set and (chosen := cuda_sets.of_release(release, device)):
        cuda_libraries.prepare(chosen, release.name, progress, brought)
    if found := ready(release, device, with_set=with_set):
        return found
    place = folder(release, device)
    lock = locks.read(release.lock(device))
    with wheels.exclusively(place.parent / f"{place.name}.lock", progress):
        if found := ready(release, device, with_set=with_set):
            return found
        interpreter = interpreters.find(release.python)
        fetched = wheels.fetch(release, device, interpreter.python, progress)
        for leftover in (place, *place.parent.glob(f"{place.name}-installing-*")):
            shutil.rmtree(leftover, ignore_errors=True)
        progress(Step("install", release.name, 0, len(fetched)))
        _install(release, interpreter, fetched, place)
        _check(release, lock, Target.here(interpreter.python), place)
        made = Venv(
            place / "bin" / "python",
            interpreter.version,
            lock.digest,
            size_of(place),
            time.monotonic() - begun,
        )
        written = place / f"{_MARKER}.new"
        written.write_text(json.dumps(made.marker()), encoding="utf-8")
        written.replace(place / _MARKER)
        progress(Step("install", release.name, len(fetched), len(fetched)))
    return made


def differences(release: Release, device: str) -> list[str]:
    """How the prepared environment differs from its lock, file by file; nothing: all is well."""
    prepared = ready(release, device)
    if prepared is None:
        return ["it is not prepared"]
    lock = locks.read(release.lock(device))
    target = Target.here(prepared.python_version.rpartition(".")[0])
    listed = subprocess.run(
        [prepared.python, "-I", "-S", "-c", records.LISTING],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
    )  # fmt: skip
    if listed.returncode != 0:
        return [f"its Python does not start: {listed.stderr.strip().rpartition(chr(10))[2]}"]
    return records.differences(lock, target, listed.stdout)


def size_of(place: Path) -> int:
    """Bytes on disk, each file once however many links it has within."""
    seen: set[int] = set()
    total = 0
    for parent, _, names in os.walk(place):
        for name in names:
            status = (Path(parent) / name).lstat()
            if status.st_ino not in seen:
                seen.add(status.st_ino)
                total += status.st_blocks * 512
    return total


def _install(
    release: Release,
    interpreter: interpreters.Interpreter,
    fetched: list[wheels.Wheel],
    place: Path,
) -> None:
    import uv

    program = uv.find_uv_bin()
    with tempfile.TemporaryDirectory(
        prefix=f"{place.name}-installing-", dir=place.parent
    ) as scratch:
        # uv's own cache lies on the same disk, so files are linked into place, then it goes.
        variables = {**os.environ, "UV_CACHE_DIR": f"{scratch}/cache", "UV_NO_CONFIG": "1"}
        variables.pop("VIRTUAL_ENV", None)
        _uv(release, [program, "venv", "--python", str(interpreter.path), str(place)], variables)
        for sdists in (False, True):
            if text := installs.listing(fetched, sdists=sdists):
                file = Path(scratch) / "requirements.txt"
                file.write_text(text, encoding="utf-8")
                command = [program, "pip", "install", "--python", str(place / "bin" / "python")]
                command += [*installs.OPTIONS, "--requirement", str(file)]
                if sdists:
                    command.append("--no-build-isolation")
                _uv(release, command, variables)
    subprocess.run(
        [place / "bin" / "python", *installs.COMPILE, place / "lib"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )


def _uv(release: Release, command: list[str], variables: dict[str, str]) -> None:
    done = subprocess.run(
        command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != 0:
        tail = "\n".join(done.stderr.strip().splitlines()[-20:])
        raise UserError(
            f"The environment of {release.name} could not be made:\n{tail}\n",
            "Check the space on the disk and start again; downloads are kept.",
        )


def _check(release: Release, lock: locks.Lock, target: Target, place: Path) -> None:
    site = place / "lib" / f"python{target.python}" / "site-packages"
    if wrong := installs.differences(lock, target, [path.name for path in site.iterdir()]):
        raise UserError(
            f"The environment of {release.name} is not what its lock says: {wrong[0]}.",
            "Make the lock again with scripts/lock.",
        )
