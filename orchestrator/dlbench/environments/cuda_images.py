"""The image layer that holds the libraries of a CUDA set, and bases that stand on it.

The layer lies lowest, so that every release with this set shares it, whatever its Python: the small
base is copied onto the large libraries, not the other way round. It must not be published.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench import paths
from dlbench.environments import context, cuda_libraries, cuda_sets, labels
from dlbench.environments.base_images import SPACE, Base, built, imported
from dlbench.environments.cuda_sets import CudaSet
from dlbench.environments.progress import Progress, Step
from dlbench.environments.releases import Release
from dlbench.environments.wheels import exclusively

if TYPE_CHECKING:
    import docker

_REPOSITORY = "dlbench-cuda"
_INSIDE = "opt/cuda/lib64"
"""Where the Dockerfile looks for them."""


def marks(chosen: CudaSet | None) -> dict[str, str]:
    """What the labels of an image say of the set in it."""
    return {} if chosen is None else {labels.CUDA: chosen.digest}


def is_current(told: Mapping[str, str]) -> bool:
    """The image with these labels holds a set that there still is."""
    known = {each.digest for each in cuda_sets.all_sets().values()}
    return told.get(labels.CUDA) in known


def under(
    client: docker.DockerClient,
    base: Base,
    chosen: CudaSet,
    release: Release,
    progress: Progress,
    brought: Path | None = None,
) -> Base:
    """This base with the set's libraries under it."""
    layer = _layer(client, chosen, release, progress, brought)
    text = f"FROM {base.id} AS base\nFROM {layer}\nCOPY --from=base / /\nENV LANG=C.UTF-8\n"
    recipe = hashlib.sha256(text.encode()).hexdigest()
    tag = f"{_REPOSITORY}:{chosen.name}-py{base.python}-{recipe[:8]}"
    told = {labels.KIND: "cuda", labels.RECIPE: recipe, **marks(chosen)}
    image = labels.tagged(client, told, tag)
    if image is None:
        progress(Step("base", f"putting {base.reference} on CUDA {chosen.name}"))
        image = built(
            client, text, tag, {**told, labels.PYTHON: base.python},
            f"The base with CUDA {chosen.name} could not be built", SPACE,
        )  # fmt: skip
    return Base(image, tag, base.python)


def _layer(
    client: docker.DockerClient,
    chosen: CudaSet,
    release: Release,
    progress: Progress,
    brought: Path | None,
) -> str:
    """The id of the image that is this set's libraries and nothing else, made if need be."""
    tag = chosen.name
    told = {labels.KIND: "cuda", **marks(chosen)}
    with exclusively(paths.cache() / "cuda" / f"layer-{tag}.lock", progress):
        if image := labels.tagged(client, told, f"{_REPOSITORY}:{tag}"):
            return image
        folder = cuda_libraries.prepare(chosen, release.name, progress, brought)
        progress(Step("base", f"importing the libraries of CUDA {chosen.name}"))

        def fill(tar: tarfile.TarFile) -> None:
            for path in sorted(folder.iterdir()):
                tar.add(path, f"{_INSIDE}/{path.name}", filter=_plain)

        changes = [f'LABEL {key}="{value}"' for key, value in told.items()]
        with context.piped(fill) as stream:
            return imported(client, stream, _REPOSITORY, tag, changes)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same in every cache: nobody's user name and no time of day is in the layer."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
