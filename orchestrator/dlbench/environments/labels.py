"""The labels that everything dlbench makes on a daemon carries: only what has them is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import docker

KIND = "org.dlbench.kind"
"""`release`, `base`, `cuda` (CUDA's libraries), or `stage` (what a build leaves behind)."""
RELEASE = "org.dlbench.release"
DEVICE = "org.dlbench.device"
LOCK = "org.dlbench.lock"
DOCKERFILE = "org.dlbench.dockerfile"
BASE = "org.dlbench.base"
"""The id of the base image that a release's image stands on."""
PYTHON = "org.dlbench.python"
PACKAGES = "org.dlbench.packages"
RECIPE = "org.dlbench.recipe"
"""The digest of what went into a base image."""
CUDA = "org.dlbench.cuda"
"""The digest of the CUDA library set that an image holds."""
STAGE = "org.dlbench.stage"


def matching(labels: dict[str, str]) -> dict[str, list[str]]:
    """The daemon's filter for things with all of these labels."""
    return {"label": [f"{key}={value}" for key, value in labels.items()]}


def tagged(client: docker.DockerClient, labels: dict[str, str], tag: str) -> str | None:
    """The id of the image with all of these labels and this tag, if the daemon has it."""
    found = client.images.list(filters=matching(labels))
    return next((str(image.id) for image in found if tag in image.tags), None)
