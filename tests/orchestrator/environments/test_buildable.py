"""Each release says what it would take to make it, in the words that a user reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.environments import buildable, cuda_licence, cuda_sets, releases, wheels
from dlbench.environments.releases import Release
from tests.orchestrator.environments.packages import MakeRelease


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "empty"))
    return tmp_path


def test_a_release_that_has_everything_is_buildable_here(
    cache: Path, shop: Path, make_release: MakeRelease
) -> None:
    release = make_release()
    found = buildable.outlook(release, "cpu", "process")
    assert (found.state, found.bytes) == ("here", 0)
    assert found.text == "buildable here: all it needs has been downloaded"


def test_what_must_be_downloaded_is_said_in_gigabytes(empty: Path) -> None:
    release = releases.find("mxnet@1.9.1")
    found = buildable.outlook(release, "gpu", "process")
    assert found.state == "download"
    assert found.bytes == sum(file.size or 0 for file in wheels.missing(release, "gpu", "3.8"))
    assert found.text == "needs a download of 2.2 GB"


def test_archives_wait_for_the_terms_and_are_said_to_be_untried(empty: Path) -> None:
    release = releases.find("tensorflow@1.15.5")
    found = buildable.outlook(release, "gpu", "process")
    assert found.state == "impossible"
    assert "before you accept NVIDIA's terms with `dlbench images accept-cuda`" in found.text
    assert "then it needs a download of" in found.text
    assert "its CUDA 10.0 archives are untried" in found.text
    cuda_licence.accept(cuda_sets.find("10.0").licences)
    found = buildable.outlook(release, "gpu", "process")
    assert found.state == "download"
    assert found.bytes > 2.1e9
    assert found.text.endswith("GB; its CUDA 10.0 archives are untried")
    assert "untried" not in buildable.outlook(release, "cpu", "process").text


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
    found = buildable.outlook(releases.find(name), "gpu", "docker")
    assert found.state == "impossible"
    assert found.text.startswith("not buildable: ") and why in found.text


def test_an_image_needs_a_base_that_can_be_trusted(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    found = buildable.outlook(releases.find("tensorflow@1.11.0"), "cpu", "docker")
    assert found.state == "impossible"
    assert "no public base image is known for Python 3.6, and mmdebstrap" in found.text
    assert buildable.outlook(releases.find("mxnet"), "cpu", "docker").state == "download"


def test_a_base_that_is_a_tag_alone_is_refused(empty: Path) -> None:
    from dataclasses import replace

    release: Release = replace(releases.find("mxnet"), base="python:3.8-slim")
    found = buildable.outlook(release, "cpu", "docker")
    assert found.state == "impossible"
    assert "python:3.8-slim of mxnet@1.9.1 is not pinned by a digest" in found.text
