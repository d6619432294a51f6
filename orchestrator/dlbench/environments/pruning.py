"""Removing what dlbench made and no longer needs: labelled images, its cache's venvs."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dlbench import paths
from dlbench.environments import images, venvs
from dlbench.environments.releases import Release
from dlbench.environments.wheels import exclusively

if TYPE_CHECKING:
    import docker


@dataclass(frozen=True)
class Pruned:
    """What prune removed, and what it could not."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    """What had to stay, with the reason."""
    bytes: int


def prune_images(
    client: docker.DockerClient,
    releases: Iterable[Release],
    *,
    everything: bool = False,
    only: Collection[str] = (),
) -> Pruned:
    """Remove stale images and leftovers of builds; with `everything`, all that dlbench made.

    `only` narrows it to the images of releases with these names.
    """
    import docker.errors

    before = _layer_bytes(client)
    building = _is_building()
    removed, kept = [], []
    for image in images.list_images(client, releases):
        if (only and image.name not in only) or not (everything or image.stale):
            continue
        label = f"{image.name} {image.device}".strip()
        if image.kind == "stage" and building:
            kept.append(f"{label}: a build is under way")
            continue
        try:
            client.images.remove(image.id, force=True)
            removed.append(f"{label} ({image.id.removeprefix('sha256:')[:12]})")
        except docker.errors.ImageNotFound:
            continue  # It went together with another one.
        except docker.errors.APIError as error:
            kept.append(f"{label}: {error.explanation or error}")
    return Pruned(tuple(removed), tuple(kept), max(0, before - _layer_bytes(client)))


def _is_building() -> bool:
    """Some dlbench of this user is building: what looks left behind may be in use."""
    for path in images.guards().glob("*.lock"):
        with path.open() as guard:
            try:
                fcntl.flock(guard, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return False


def _layer_bytes(client: docker.DockerClient) -> int:
    return int(client.df().get("LayersSize") or 0)


def prune_environments(releases: Iterable[Release], *, everything: bool = False) -> Pruned:
    """Remove virtual environments of locks that are no longer; with `everything`, all of them."""
    current = {venvs.folder(release, device) for release in releases for device in release.devices}
    removed, total = [], 0
    root = paths.cache() / "environments"
    for folder in sorted(path for path in root.glob("*") if path.is_dir()):
        if "-installing-" in folder.name or (folder in current and not everything):
            continue
        with exclusively(root / f"{folder.name}.lock"):
            total += venvs.size_of(folder)
            for place in (folder, *root.glob(f"{folder.name}-installing-*")):
                shutil.rmtree(place, ignore_errors=True)
        removed.append(folder.name)
    return Pruned(tuple(removed), (), total)
