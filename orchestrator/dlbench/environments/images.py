"""Images: what the Docker engine runs a release in, one a release and device.

An image carries the digests of all it was made from as labels. One whose labels are not those of
today's lock and Dockerfile is stale: it is never found here, so it is never run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlbench import paths
from dlbench.environments import (
    base_images,
    context,
    cuda_images,
    cuda_sets,
    labels,
    locks,
    records,
    wheels,
)
from dlbench.environments.progress import Progress, Step, silent
from dlbench.environments.releases import Release
from dlbench.environments.targets import Target
from dlbench.errors import UserError

if TYPE_CHECKING:
    import docker
    from docker.models.images import Image as DockerImage


class BuildFailed(UserError):
    """The daemon could not build the image."""


@dataclass(frozen=True)
class Image:
    """One image that dlbench made."""

    id: str
    kind: str
    """`release`, `base`, `cuda` or `stage`."""
    name: str
    """The release's name; of others the tag or a short id."""
    device: str
    lock: str
    bytes: int
    """Its whole size; layers shared with other images are counted in each."""
    stale: bool


def dockerfile() -> Path:
    return paths.bundled("images") / "Dockerfile"


def find_image(client: docker.DockerClient, release: Release, device: str) -> Image | None:
    """The image of just this lock and Dockerfile, if the daemon has it."""
    found = client.images.list(filters=labels.matching(_identity(release, device)))
    if not found:
        return None
    newest = max(found, key=lambda image: str(image.attrs.get("Created", "")))
    return _described(newest, {release.name: release})


def build(
    client: docker.DockerClient,
    release: Release,
    device: str,
    progress: Progress = silent,
    brought: Path | None = None,
) -> Image:
    """Build the image of this release, unless the daemon has it already.

    `brought`: a folder with the archives of its CUDA set, if it has one.
    """
    if found := find_image(client, release, device):
        return found
    locks.read(release.lock(device))
    tag = f"dlbench/{release.framework}:{release.version}-{device}"
    guard = guards() / f"{release.framework}-{release.version}-{device}.lock"
    with wheels.exclusively(guard, progress):
        if found := find_image(client, release, device):
            return found
        ground = base_images.resolve(client, release, progress)
        if chosen := cuda_sets.of_release(release, device):
            ground = cuda_images.under(client, ground, chosen, release, progress, brought)
        fetched = wheels.fetch(release, device, ground.python, progress)
        instructions = dockerfile().read_bytes()
        marks = {
            **_identity(release, device),
            labels.DOCKERFILE: hashlib.sha256(instructions).hexdigest(),
            labels.PYTHON: ground.python,
            labels.BASE: ground.id,
        }
        stage = hashlib.sha256(repr(sorted(marks.items())).encode()).hexdigest()
        arguments = {"BASE": ground.id, "PYTHON": f"python{ground.python}", "STAGE": stage}
        try:
            with context.streamed(instructions, fetched) as stream:
                _build(client, release, stream, tag, arguments, marks, progress)
        finally:
            _clear_stage(client, stage)
    built = find_image(client, release, device)
    if built is None:
        raise BuildFailed(
            f"{tag} was built, but its lock or Dockerfile has changed meanwhile.", "Build it again."
        )
    if wrong := verify(client, release, device):
        client.images.remove(built.id, force=True)
        raise BuildFailed(f"The image of {release.name} is not what its lock says: {wrong[0]}.")
    return built


def verify(client: docker.DockerClient, release: Release, device: str) -> list[str]:
    """How the image differs from the lock, file by file: nothing, if all is well."""
    import docker.errors

    image = find_image(client, release, device)
    if image is None:
        return ["there is no image of this lock"]
    lock = locks.read(release.lock(device))
    details = client.images.get(image.id)
    target = Target.here(details.labels[labels.PYTHON])
    try:
        answer = client.containers.run(
            image.id,
            ["python", "-I", "-S", "-c", records.LISTING],
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            labels={labels.KIND: "verify", labels.RELEASE: release.name},
            remove=True,
        )
    except docker.errors.DockerException as error:
        return [f"its Python does not start: {str(error).splitlines()[0]}"]
    return records.differences(lock, target, bytes(answer).decode("utf-8", "replace"))


def list_images(client: docker.DockerClient, releases: Iterable[Release]) -> list[Image]:
    """Everything of dlbench's on the daemon, release images first."""
    known = {release.name: release for release in releases}
    found = client.images.list(filters={"label": [labels.KIND]})
    order = ("release", "base", "cuda", "stage")
    described = [_described(image, known) for image in found if image.labels[labels.KIND] in order]
    return sorted(described, key=lambda image: (order.index(image.kind), image.name, image.stale))


def guards() -> Path:
    """The lock files that running builds hold."""
    return paths.cache() / "images"


def _identity(release: Release, device: str) -> dict[str, str]:
    """What an image must have been made from to be this release's."""
    return {
        labels.KIND: "release",
        labels.RELEASE: release.name,
        labels.DEVICE: device,
        labels.LOCK: release.lock_digest(device),
        labels.DOCKERFILE: hashlib.sha256(dockerfile().read_bytes()).hexdigest(),
        labels.PACKAGES: " ".join(sorted(release.packages)),
        **cuda_images.marks(cuda_sets.of_release(release, device)),
    }


def _described(image: DockerImage, known: dict[str, Release]) -> Image:
    told = image.labels
    kind = told.get(labels.KIND, "stage")
    identifier = str(image.id)
    name = told.get(labels.RELEASE) or (image.tags[0] if image.tags else image.short_id)
    device = told.get(labels.DEVICE, "")
    if kind == "release":
        release = known.get(name)
        stale = (
            release is None
            or device not in release.devices
            or not _identity(release, device).items() <= told.items()
        )
    else:
        current = kind == "base" or (kind == "cuda" and cuda_images.is_current(told))
        stale = not (current and image.tags)
    size = int(image.attrs.get("Size", 0))
    return Image(identifier, kind, name, device, told.get(labels.LOCK, ""), size, stale)


def _build(
    client: docker.DockerClient,
    release: Release,
    stream: Any,
    tag: str,
    arguments: dict[str, str],
    marks: dict[str, str],
    progress: Progress,
) -> None:
    import docker.errors

    log: list[str] = []
    try:
        for message in client.api.build(
            fileobj=stream,
            custom_context=True,
            tag=tag,
            rm=True,
            forcerm=True,
            network_mode="none",
            buildargs=arguments,
            labels=marks,
            decode=True,
            use_config_proxy=False,
            timeout=3600,
        ):
            text = str(message.get("stream") or message.get("error") or "")
            log += [line for line in text.splitlines() if line.strip()]
            if "error" in message:
                raise _failed(release, log)
            if step := re.match(r"Step (\d+)/(\d+) : (\w+)", text):
                progress(Step("build", f"{release.name}: {step[3]}", int(step[1]), int(step[2])))
    except (docker.errors.DockerException, OSError) as error:
        raise _failed(release, [*log, str(error)]) from error


def _failed(release: Release, log: list[str]) -> BuildFailed:
    tail = "\n".join(log[-20:])
    problem = f"The image of {release.name} could not be built:\n{tail}\n"
    return BuildFailed(problem, base_images.SPACE)


def _clear_stage(client: docker.DockerClient, stage: str) -> None:
    """Remove the earlier stages of a build, which classic builders keep: they hold the wheels."""
    import docker.errors

    for _ in range(3):
        left = client.images.list(filters=labels.matching({labels.STAGE: stage}))
        for image in left:
            try:
                client.images.remove(str(image.id), force=True)
            except docker.errors.APIError:
                continue  # Another one stands on it, and goes first.
        if not left:
            return
