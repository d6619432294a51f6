"""Each release says what it would take to make it, in the words that a user reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest

from dlbench.environments import base_images, buildable, cuda_licence, cuda_sets, releases, wheels
from dlbench.environments.releases import Release
from tests.orchestrator.environments.packages import MakeRelease


def daemon(*there: str, made: str = "") -> Any:
    """A daemon that has these public images, and a base that dlbench made for this Python."""

    def get(reference: str) -> Any:
        if reference in there:
            return SimpleNamespace(id="sha256:1")
        raise docker.errors.ImageNotFound("no such image")

    def bases(filters: dict[str, Any]) -> list[Any]:
        ours = made and f"org.dlbench.python={made}" in filters["label"]
        base = SimpleNamespace(labels={}, tags=[f"dlbench-base:x-py{made}"], id="sha256:2")
        return [base] if ours else []

    return SimpleNamespace(images=SimpleNamespace(get=get, list=bases))


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "empty"))
    return tmp_path


def test_a_release_that_has_everything_is_buildable_here(
    cache: Path, shop: Path, make_release: MakeRelease
) -> None:
    release = make_release()
    found = buildable.outlook(release, "cpu", None)
    assert (found.state, found.bytes) == ("here", 0)
    assert found.text == "buildable here: all it needs has been downloaded"


def test_an_image_also_needs_a_base(
    cache: Path, shop: Path, make_release: MakeRelease, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = make_release()
    (python, *_), whole = release.python, "buildable here: all it needs has been downloaded"
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/mmdebstrap")
    found = buildable.outlook(release, "cpu", daemon())
    assert found.state == "download"
    assert found.text == "needs a base image from a registry or a Debian mirror"
    assert buildable.outlook(release, "cpu", daemon(made=python)).text == whole
    public = base_images.public_image(release) or ""
    assert buildable.outlook(release, "cpu", daemon(public)).text == whole
    # Its Debian packages would have to be put on it.
    compiler = replace(release, packages=("g++",))
    assert buildable.outlook(compiler, "cpu", daemon(public)).state == "download"
    monkeypatch.setattr(base_images, "PUBLIC", {})
    found = buildable.outlook(release, "cpu", daemon())
    assert found.text == "needs a base image from a Debian mirror"


def test_what_must_be_downloaded_is_said_in_gigabytes(empty: Path) -> None:
    release = releases.find("mxnet@1.9.1")
    found = buildable.outlook(release, "gpu", None)
    assert found.state == "download"
    assert found.bytes == sum(file.size or 0 for file in wheels.missing(release, "gpu", "3.8"))
    assert found.text == "needs a download of 2.2 GB"


def test_archives_wait_for_the_terms_and_are_said_to_be_untried(empty: Path) -> None:
    release = releases.find("tensorflow@1.15.5")
    found = buildable.outlook(release, "gpu", None)
    assert found.state == "impossible"
    assert "before you accept NVIDIA's terms with `dlbench images accept-cuda`" in found.text
    assert "then it needs a download of" in found.text
    assert "its CUDA 10.0 archives are untried" in found.text
    cuda_licence.accept(cuda_sets.find("10.0").licences)
    found = buildable.outlook(release, "gpu", None)
    assert found.state == "download"
    assert found.bytes > 2.1e9
    assert found.text.endswith("GB; its CUDA 10.0 archives are untried")
    assert "untried" not in buildable.outlook(release, "cpu", None).text


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("theano@1.0.5", "pygpu and libgpuarray, is not on the package index"),
        ("keras@2.3.1-theano", "pygpu and libgpuarray, is not on the package index"),
        ("paddlepaddle@3.3.1", "paddlepaddle-gpu on the package index ends at 2.6.2"),
        ("numpy@2.4.6", "CPUs only"),
    ],
)
def test_what_cannot_be_says_why(name: str, why: str, empty: Path) -> None:
    found = buildable.outlook(releases.find(name), "gpu", daemon())
    assert found.state == "impossible"
    assert found.text.startswith("not buildable: ") and why in found.text


def test_an_image_needs_a_base_that_can_be_trusted(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    found = buildable.outlook(releases.find("tensorflow@1.11.0"), "cpu", daemon())
    assert found.state == "impossible"
    assert "no public base image is known for Python 3.6, and mmdebstrap" in found.text
    found = buildable.outlook(releases.find("mxnet"), "cpu", daemon())
    assert found.text == "needs a download of 67 MB and a base image from a registry"


def test_a_base_that_is_a_tag_alone_is_refused(empty: Path) -> None:
    release: Release = replace(releases.find("mxnet"), base="python:3.8-slim")
    found = buildable.outlook(release, "cpu", daemon())
    assert found.state == "impossible"
    assert "python:3.8-slim of mxnet@1.9.1 is not pinned by a digest" in found.text
