"""The code that runs inside a trial: package `bench`, with people's own adapters where needed.

A release whose adapter ships with dlbench runs the plain package. For any other, a copy of the
package with that folder's adapters is made once, under its digest, and never changed: an adapter
that somebody edits while a campaign runs does not change the trials of that campaign.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from functools import cache
from pathlib import Path

from dlbench import paths
from dlbench.errors import UserError
from dlbench.extensions import Extension


@cache
def bench_digest(adapters: Extension | None = None) -> str:
    """The digest of the code that runs inside; `adapters`: who brings the release's adapter."""
    return _digest(_sources(adapters))


def bench_folder(adapters: Extension | None = None) -> Path:
    """The folder of package `bench`, as engines want it."""
    return _combined(adapters, bench_digest(adapters)) if adapters else paths.bundled("bench")


@cache
def _combined(adapters: Extension, digest: str) -> Path:
    folder = paths.cache() / "bench" / digest[:24]
    if folder.is_dir() and _digest(_python_files(folder)) == digest:
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=".bench-", dir=folder.parent))
    try:
        for name, source in _sources(adapters).items():
            target = making / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        for path in (making, *making.rglob("*")):  # a container's user is another one
            path.chmod(0o755 if path.is_dir() else 0o644)
        if _digest(_python_files(making)) != digest:
            raise UserError(
                f"The adapters of {adapters.folder} were changed while they were read.",
                "Start the command again.",
            )
        if folder.is_dir() and _digest(_python_files(folder)) != digest:
            shutil.rmtree(folder)  # damaged
        try:
            making.rename(folder)
        except OSError:  # another dlbench was faster: what it made is the same
            if not folder.is_dir():
                raise
        return folder
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _sources(adapters: Extension | None) -> dict[str, Path]:
    """Every file of the package by its name in it."""
    sources = _python_files(paths.bundled("bench"))
    if adapters:
        brought = sorted((adapters.folder / "adapters").glob("*.py"))
        sources |= {f"adapters/{p.name}": p for p in brought if p.name != "__init__.py"}
    return sources


def _python_files(root: Path) -> dict[str, Path]:
    return {str(path.relative_to(root)): path for path in root.rglob("*.py")}


def _digest(files: dict[str, Path]) -> str:
    total = hashlib.sha256()
    for path in sorted(map(Path, files)):
        total.update(f"{path}\n".encode())
        total.update(files[str(path)].read_bytes())
    return total.hexdigest()
