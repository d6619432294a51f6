"""Images on the real daemon: built from the lock, found only while they are its image, pruned."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dlbench.environments import (
    base_images,
    cuda_licence,
    cuda_sets,
    images,
    interpreters,
    labels,
    locking,
    pruning,
    releases,
    stub_driver,
)
from dlbench.environments.cuda_sets import Archive, CudaSet
from dlbench.environments.progress import Step
from dlbench.environments.releases import Release
from dlbench.errors import UserError
from tests.orchestrator.environments.libraries import library, tar_of
from tests.orchestrator.environments.packages import MakeRelease, write_sdist, write_wheel

if TYPE_CHECKING:
    import docker

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("cache", "shop")]

PYTHONS = ("3.11", "3.12", "3.13")


@pytest.fixture(autouse=True)
def _clear(docker_client: docker.DockerClient) -> Iterator[None]:
    yield
    ours = docker_client.images.list(filters={"label": [f"{labels.RELEASE}=tinyframe@1.2"]})
    for image in sorted(ours, key=lambda image: str(image.attrs["Created"]), reverse=True):
        docker_client.images.remove(str(image.id), force=True)


def run(client: docker.DockerClient, image: images.Image, code: str) -> str:
    answer = client.containers.run(
        image.id, ["python", "-c", code], network_mode="none", read_only=True, remove=True
    )
    return bytes(answer).decode().strip()


def stages(client: docker.DockerClient) -> set[str]:
    found = client.images.list(all=True, filters={"label": [labels.STAGE]})
    return {str(image.id) for image in found}


def test_an_image_is_built_once_and_holds_what_the_lock_says(
    docker_client: docker.DockerClient, make_release: MakeRelease
) -> None:
    release = make_release(python=PYTHONS)
    before = stages(docker_client)
    built = images.build(docker_client, release, "cpu")
    assert run(docker_client, built, "import tinyframe; print(tinyframe.VERSION)") == "1.2"
    assert run(docker_client, built, "import os; print(os.getuid())") == "65534"
    # The wheels went into an earlier stage, which is gone.
    assert run(docker_client, built, "import os; print(os.path.exists('/context'))") == "False"
    assert stages(docker_client) <= before
    assert images.verify(docker_client, release, "cpu") == []
    marks = docker_client.images.get(built.id).labels
    assert marks[labels.LOCK] == release.lock_digest("cpu")
    assert marks[labels.BASE].startswith("sha256:")

    steps: list[Step] = []
    again = images.build(docker_client, release, "cpu", steps.append)
    assert (again, steps) == (built, [])


def test_cuda_s_libraries_are_found_in_a_finished_image_and_no_driver_is(
    docker_client: docker.DockerClient,
    make_release: MakeRelease,
    shop: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those that come as packages, and those of a CUDA set; the driver is the machine's."""
    inside = {"nvidia/tiny/lib/libtiny.so.1": library("libtiny.so.1")}
    write_wheel(shop, "nvidia_tiny", "9.0", more=inside)
    content = tar_of(
        {"cuda/lib64/libcudnn.so.7.6.5": library("libcudnn.so.7"), "cuda/include/cudnn.h": b"\n"}
    )
    digest = hashlib.sha256(content).hexdigest()
    (tmp_path / "cudnn.tgz").write_bytes(content)
    archive = Archive(
        ("https://example.invalid/cudnn.tgz",), digest, len(content), len(content), "tar",
        ("cudnn", "cudnn.h"), "terms of a test", "a test", True,
    )  # fmt: skip
    chosen = CudaSet("0.0-image", "a set", ("libcudnn.so.7",), (archive,), digest)
    monkeypatch.setattr(cuda_sets, "find", {chosen.name: chosen}.__getitem__)
    cuda_licence.accept([archive.licence])
    gpu = '[gpu]\nrequires = ["tinyframe==1.2", "nvidia-tiny==9.0"]\ncuda = "9.0"\n'
    release = make_release(python=PYTHONS, after=f'{gpu}set = "{chosen.name}"')
    locking.make(release, "gpu")
    built = images.build(docker_client, release, "gpu", brought=tmp_path)
    try:
        code = "import ctypes, sys; [ctypes.CDLL(name) for name in sys.argv[1:]]; print('found')"

        def opened(*names: str) -> str:
            told = docker_client.containers.run(
                built.id, ["python", "-c", code, *names], network_mode="none", remove=True,
                volumes={str(stub_driver.folder()): {"bind": "/driver", "mode": "ro"}},
                environment={"LD_LIBRARY_PATH": "/driver"} if "libcuda.so.1" in names else {},
            )  # fmt: skip
            return bytes(told).decode().strip()

        assert opened("libtiny.so.1", "libcudnn.so.7", "libcudnn.so") == "found"
        assert opened("libtiny.so.1", "libcudnn.so.7", "libcuda.so.1") == "found"
        header = "import os; print(os.path.isfile('/opt/cuda/lib64/include/cudnn.h'))"
        assert run(docker_client, built, header) == "True"
        everywhere = "import glob; print(glob.glob('/[ou]*/**/libcuda.so*', recursive=True))"
        assert run(docker_client, built, everywhere) == "[]"
        assert images.verify(docker_client, release, "gpu") == []
    finally:
        docker_client.images.remove(built.id, force=True)
        for image in docker_client.images.list(filters={"label": [f"{labels.CUDA}={digest}"]}):
            docker_client.images.remove(str(image.id), force=True)


def test_a_stale_image_is_never_found_and_prune_removes_it_alone(
    docker_client: docker.DockerClient, make_release: MakeRelease, shop: Path
) -> None:
    release = make_release(python=PYTHONS)
    stale = images.build(docker_client, release, "cpu")
    write_wheel(shop, "tinydep", "0.6")
    release = make_release("tinyframe==1.2", "tinydep==0.6", python=PYTHONS)
    assert images.find_image(docker_client, release, "cpu") is None
    assert images.verify(docker_client, release, "cpu") == ["there is no image of this lock"]

    fresh = images.build(docker_client, release, "cpu")
    assert run(docker_client, fresh, "import tinydep; print(tinydep.VERSION)") == "0.6"
    known = [*releases.load_releases(), release]
    ours = [i for i in images.list_images(docker_client, known) if i.name == release.name]
    assert [(image.id, image.stale) for image in ours] == [(fresh.id, False), (stale.id, True)]

    foreign = docker_client.images.get(fresh.id)
    foreign.tag("somebody-elses", "thing")
    try:
        others = {str(i.id) for i in docker_client.images.list()} - {stale.id}
        pruned = pruning.prune_images(docker_client, known, only=[release.name])
        assert [name.partition(" (")[0] for name in pruned.removed] == ["tinyframe@1.2 cpu"]
        assert pruned.bytes > 0
        assert others <= {str(i.id) for i in docker_client.images.list()}
        assert images.find_image(docker_client, release, "cpu") == fresh
    finally:
        docker_client.images.remove("somebody-elses:thing")


def test_verify_names_what_was_smuggled_into_an_image(
    docker_client: docker.DockerClient, make_release: MakeRelease
) -> None:
    release = make_release(python=PYTHONS)
    built = images.build(docker_client, release, "cpu")
    code = "import os, tinyframe as t; os.mkdir(os.path.dirname(t.__file__) + '/{}');"
    smuggle = code.format("spy-6.6.dist-info") + "open(t.__file__, 'a').write('pass')"
    container = docker_client.containers.create(
        built.id, ["python", "-c", smuggle], user="0", network_mode="none"
    )
    try:
        container.start()
        assert container.wait()["StatusCode"] == 0
        forged = container.commit()
    finally:
        container.remove(force=True)
    found = images.find_image(docker_client, release, "cpu")
    assert found is not None
    assert found.id == forged.id  # It has all the labels, and is the newest.
    assert images.verify(docker_client, release, "cpu") == [
        "spy 6.6 is not in the lock",
        "tinyframe.py is changed",
    ]


def test_a_failed_build_shows_the_end_of_its_log_and_leaves_nothing(
    docker_client: docker.DockerClient,
    make_release: MakeRelease,
    shop: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")  # setuptools comes from the real one
    release = _with_broken_sdist(make_release, shop)
    before = stages(docker_client)
    with pytest.raises(images.BuildFailed) as caught:
        images.build(docker_client, release, "cpu")
    assert "this package cannot be built" in caught.value.problem
    assert stages(docker_client) <= before
    assert images.find_image(docker_client, release, "cpu") is None


def test_a_base_that_nobody_has_is_an_error_with_the_ways_out(
    docker_client: docker.DockerClient, make_release: MakeRelease, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = f"x.invalid/y@sha256:{'0' * 64}"
    extra = f'packages = ["hello"]\nbase = {{image = "{image}"}}'
    release = make_release(python=PYTHONS, extra=extra)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match=r"x.invalid/y@sha256:0+ can't be pulled.*mmdebstrap"):
        base_images.resolve(docker_client, release)


def test_a_base_is_made_once_and_its_python_works(docker_client: docker.DockerClient) -> None:
    if shutil.which("mmdebstrap") is None:
        message = "mmdebstrap is not installed"
        if "docker" in os.environ.get("DLBENCH_TEST_REQUIRE", ""):
            pytest.fail(message)
        pytest.skip(message)
    interpreter = interpreters.find(PYTHONS)
    made = base_images.make(docker_client, interpreter)
    steps: list[Step] = []
    assert base_images.make(docker_client, interpreter, (), steps.append) == made
    assert steps == []
    assert base_images.local(docker_client, interpreter.python, ()) == made
    code = "import ssl, sqlite3, sys, os; print(sys.prefix, os.listdir(sys.path[-1]))"
    answer = docker_client.containers.run(
        made.id, [f"python{interpreter.python}", "-c", code], network_mode="none", remove=True
    )
    prefix, _, packages = bytes(answer).decode().strip().partition(" ")
    assert (prefix, packages) == ("/usr/local", "[]")


def _with_broken_sdist(make_release: MakeRelease, shop: Path) -> Release:
    """Its metadata can be asked for, but building it fails: the lock can be made, the image not."""
    setup = (
        "import sys\nfrom setuptools import setup\n"
        "if any('wheel' in word for word in sys.argv):\n"
        "    raise SystemExit('this package cannot be built')\n"
        "setup(name='stubborn', version='0.1', py_modules=['stubborn'])\n"
    )
    write_sdist(shop, "stubborn", "0.1", setup)
    return make_release(
        "tinyframe==1.2", "stubborn==0.1", "setuptools==59.6.0", "wheel==0.37.1", python=("3.11",)
    )
