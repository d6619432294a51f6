"""Whether a release's environment can be made here, and what it would take. Asks no network."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dlbench.environments import (
    base_images,
    cuda_downloads,
    cuda_libraries,
    cuda_licence,
    cuda_sets,
    wheels,
)
from dlbench.environments.cuda_sets import Archive, CudaSet
from dlbench.environments.locks import File
from dlbench.environments.releases import Release
from dlbench.errors import UserError

if TYPE_CHECKING:
    import docker


@dataclass(frozen=True)
class Outlook:
    """What it would take to make one environment."""

    state: Literal["here", "download", "impossible"]
    text: str
    bytes: int = 0
    """To download, as far as it is known."""


def outlook(release: Release, device: str, client: docker.DockerClient | None) -> Outlook:
    """Whether this release can be made for this device: an image, where there is a `client`."""
    if device == "gpu" and release.no_gpu:
        return Outlook("impossible", f"not buildable: {release.no_gpu}")
    try:
        release.lock(device)
        base = "" if client is None else _base_to_get(release, client)
    except UserError as error:
        return Outlook("impossible", f"not buildable: {error}")
    files, archives, chosen = to_fetch(release, device)
    note = f"; its CUDA {chosen.name} archives are untried" if chosen and chosen.untried else ""
    size = sum(file.size or 0 for file in files) + sum(each.about_bytes for each in archives)
    # Files that were only looked up when the lock was made have no size in it.
    least = "at least " if any(file.size is None for file in files) else ""
    download = f"a download of {least}{_size(size)}" if files or archives else ""
    needed = f"needs {' and '.join(filter(None, (download, base)))}" if download or base else ""
    if waits_for_terms(chosen):
        then = f", then it {needed}" if needed else ""
        return Outlook(
            "impossible",
            "not buildable before you accept NVIDIA's terms with `dlbench images accept-cuda`"
            f"{then}{note}",
            size,
        )
    if needed:
        return Outlook("download", f"{needed}{note}", size)
    return Outlook("here", f"buildable here: all it needs has been downloaded{note}")


def to_fetch(release: Release, device: str) -> tuple[list[File], list[Archive], CudaSet | None]:
    """What must be downloaded: packages, archives; and the CUDA set whose libraries are lacking."""
    chosen = cuda_sets.of_release(release, device)
    if chosen and cuda_libraries.is_ready(chosen):
        chosen = None  # nothing is left to be done for it
    archives = cuda_downloads.missing(chosen) if chosen else []
    return wheels.missing(release, device, release.python[0]), archives, chosen


def waits_for_terms(chosen: CudaSet | None) -> bool:
    """Its archives may not be downloaded before their terms were accepted."""
    return chosen is not None and bool(cuda_licence.lacking(chosen))


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(count / 1e6, 1):.0f} MB"


def _base_to_get(release: Release, client: docker.DockerClient) -> str:
    """Where its base image comes from; nothing: it is there. Raises where it can't be had."""
    public = base_images.public_image(release)
    made = any(base_images.local(client, python, release.packages) for python in release.python)
    if made or (public and not release.packages and base_images.is_there(client, public)):
        return ""
    from_mirror = shutil.which("mmdebstrap") is not None
    if public is None and not from_mirror:
        raise UserError(
            f"no public base image is known for Python {release.python[0]}, and mmdebstrap, which"
            " could make one, is not installed.",
            "`apt install mmdebstrap`.",
        )
    places = ["a registry"] * (public is not None) + ["a Debian mirror"] * from_mirror
    return f"a base image from {' or '.join(places)}"
