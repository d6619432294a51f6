"""The libraries of a CUDA set in a folder of the cache: what both engines use.

A folder is named by the digest of its set and is ready when it is there under that name.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from dlbench import paths
from dlbench.environments import cuda_archives, cuda_downloads, cuda_licence, wheels
from dlbench.environments.cuda_sets import CudaSet
from dlbench.environments.progress import Progress, Step, silent
from dlbench.errors import UserError


def folder(chosen: CudaSet) -> Path:
    return paths.cache() / "cuda" / f"{chosen.name}-{chosen.digest[:12]}"


def is_ready(chosen: CudaSet) -> bool:
    return folder(chosen).is_dir()


def prepare(
    chosen: CudaSet, who: str, progress: Progress = silent, brought: Path | None = None
) -> Path:
    """The folder with the set's libraries, made if need be; `brought`: a folder of archives."""
    place = folder(chosen)
    if is_ready(chosen):
        return place
    cuda_licence.check(chosen, who)
    with wheels.exclusively(place.parent / f"{place.name}.lock", progress):
        if is_ready(chosen):
            return place
        archives = cuda_downloads.bring(chosen, progress, brought)
        with tempfile.TemporaryDirectory(prefix="taking-out-", dir=place.parent) as scratch:
            making = Path(scratch) / "libraries"
            making.mkdir()
            for number, (archive, path) in enumerate(archives):
                progress(
                    Step("cuda", f"taking libraries out of {path.name}", number, len(archives))
                )
                cuda_archives.take_out(archive, path, making)
            wanted = {*chosen.sonames, *(name for each in chosen.archives for name in each.headers)}
            headers = {path.name for path in (making / cuda_archives.INCLUDE).glob("*")}
            if lacking := sorted(wanted - cuda_archives.link_sonames(making) - headers):
                raise UserError(
                    f"The archives of CUDA set {chosen.name} do not hold {', '.join(lacking)}.",
                    f"images/cuda/{chosen.name}.toml names other archives than it should: correct"
                    " it.",
                )
            making.chmod(0o755)
            shutil.move(making, place)
    return place
