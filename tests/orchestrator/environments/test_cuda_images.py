"""The layer with CUDA's libraries: made once, without network, and shared by different bases."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dlbench.environments import cuda_images, cuda_licence, images, labels, releases
from dlbench.environments.base_images import Base, imported
from dlbench.environments.cuda_sets import Archive, CudaSet
from dlbench.environments.progress import Step
from dlbench.errors import UserError
from tests.orchestrator.environments.libraries import library, tar_of

if TYPE_CHECKING:
    import docker

pytestmark = pytest.mark.docker
CONTENT = tar_of({"cuda/lib64/libcudnn.so.7.6.5": library("libcudnn.so.7")})


@pytest.fixture
def chosen(cache: Path, tmp_path: Path) -> CudaSet:
    """A set whose archive lies in a folder, with its terms accepted."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    archive = Archive(
        ("https://example.invalid/cudnn.tgz",), digest, len(CONTENT), len(CONTENT), "tar",
        ("cudnn",), "terms of a test", "a test", True,
    )  # fmt: skip
    cuda_licence.accept([archive.licence])
    (tmp_path / "brought").mkdir()
    (tmp_path / "brought" / "cudnn.tgz").write_bytes(CONTENT)
    return CudaSet("0.0-test", "a set", ("libcudnn.so.7",), (archive,), digest)


@pytest.fixture
def bases(docker_client: docker.DockerClient) -> Iterator[list[Base]]:
    """Two small images that differ."""
    made = []
    for python in ("3.6", "3.7"):
        told = docker_client.api.import_image_from_data(
            tar_of({"etc/python": python.encode()}, "w")
        )
        identity = told.split('"status":"')[1].split('"')[0]
        made.append(Base(identity, f"base {python}", python))
    yield made
    own = [
        image
        for image in docker_client.images.list(filters={"label": [f"{labels.KIND}=cuda"]})
        if any(tag.startswith("dlbench-cuda:0.0-test") for tag in image.tags)
    ]
    # what was made of another image goes first: the daemon lists those of one second in any order
    for image in sorted(own, key=lambda image: not image.attrs["Parent"]):
        docker_client.images.remove(str(image.id), force=True)
    for base in made:
        docker_client.images.remove(base.id, force=True)


def files_in(client: docker.DockerClient, image: str, folder: str) -> dict[str, str]:
    """Names in a folder of an image, with where links lead; nothing is started."""
    container = client.api.create_container(image, ["none"])["Id"]
    try:
        stream, _ = client.api.get_archive(container, folder)
        with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as tar:
            return {Path(member.name).name: member.linkname for member in tar.getmembers()[1:]}
    finally:
        client.api.remove_container(container)


def test_bases_share_the_layer_with_the_libraries(
    docker_client: docker.DockerClient, chosen: CudaSet, bases: list[Base], tmp_path: Path
) -> None:
    release, steps = releases.find("tensorflow@1.15.5"), list[Step]()
    made = [
        cuda_images.under(docker_client, base, chosen, release, steps.append, tmp_path / "brought")
        for base in bases
    ]
    assert [base.python for base in made] == ["3.6", "3.7"]
    layers = [docker_client.images.get(base.id).attrs["RootFS"]["Layers"] for base in made]
    assert layers[0][0] == layers[1][0] and layers[0][1] != layers[1][1]
    for base in made:
        found = files_in(docker_client, base.id, "/opt/cuda/lib64")
        link = "libcudnn.so.7.6.5"
        assert found == {"libcudnn.so": link, "libcudnn.so.7": link, link: ""}
        assert "python" in files_in(docker_client, base.id, "/etc")
    assert sum("importing the libraries" in step.detail for step in steps) == 1
    again = cuda_images.under(docker_client, bases[0], chosen, release, steps.append)
    assert again.id == made[0].id


def test_they_are_listed_and_known_to_be_of_an_old_set(
    docker_client: docker.DockerClient, chosen: CudaSet, bases: list[Base], tmp_path: Path
) -> None:
    release = releases.find("tensorflow@1.15.5")
    cuda_images.under(
        docker_client, bases[0], chosen, release, lambda _: None, tmp_path / "brought"
    )
    listed = [each for each in images.list_images(docker_client, []) if "0.0-test" in each.name]
    assert len(listed) == 2
    assert {each.kind for each in listed} == {"cuda"}
    assert all(each.stale for each in listed)  # no set of today has this digest


def test_what_the_daemon_can_t_import_is_an_error_in_a_sentence(
    docker_client: docker.DockerClient, tmp_path: Path
) -> None:
    file, usual = tmp_path / "broken.tar", docker_client.api.timeout
    file.write_bytes(tar_of({"x": b"x" * 9999}, "w")[:5000])
    with pytest.raises(UserError, match=r"dlbench-cuda:broken could not be imported.*disk"):
        imported(docker_client, str(file), "dlbench-cuda", "broken", [])
    assert docker_client.api.timeout == usual


def test_an_image_without_its_set_is_not_the_release_s() -> None:
    with_set = images._identity(releases.find("tensorflow@1.15.5"), "gpu")
    assert labels.CUDA in with_set
    assert labels.CUDA not in images._identity(releases.find("tensorflow@1.15.5"), "cpu")
    assert labels.CUDA not in images._identity(releases.find("mxnet@1.9.1"), "gpu")
