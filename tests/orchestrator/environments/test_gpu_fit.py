"""A pair of release and GPU is refused, warned of or taken, with the sentence that says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.environments import gpu_fit, locks, releases
from dlbench.environments.releases import Release
from tests.orchestrator.environments.test_releases import add

GPU = '[gpu]\ncuda = "9.2"\ncode = ["sm_35", "sm_70", "compute_70"]\n'
NEW = "600.10"


def made(root: Path, name: str = "mxnet@1.3.0", gpu: str = GPU) -> Release:
    return releases.load(add(root, name, gpu, gpu=bool(gpu)))


@pytest.mark.parametrize("sm", [35, 37, 70, 72, 75])
def test_machine_code_runs_on_its_own_generation_and_newer_ones_of_its_hundred(
    sm: int, tmp_path: Path
) -> None:
    assert gpu_fit.fit(made(tmp_path), NEW, sm) == gpu_fit.Fit("native")


@pytest.mark.parametrize("sm", [80, 86, 89, 90, 100, 120])
def test_what_the_driver_must_compile_is_allowed_with_a_warning(sm: int, tmp_path: Path) -> None:
    found = gpu_fit.fit(made(tmp_path), NEW, sm)
    assert found.state == "compiled"
    assert f"sm_{sm}" in found.text and "up to sm_70" in found.text
    assert "can take an hour" in found.text


def test_libraries_that_are_older_than_the_gpu_are_compiled_too(tmp_path: Path) -> None:
    gpu = '[gpu]\ncuda = "10.0"\ncudnn = "7.6"\ncode = ["sm_80"]\n'
    found = gpu_fit.fit(made(tmp_path, gpu=gpu), NEW, 86)
    assert found.state == "compiled"
    assert "runs with CUDA libraries that have machine code for GPUs up to sm_75" in found.text


def test_a_release_may_lack_machine_code_for_a_gpu_that_is_older_than_it() -> None:
    found = gpu_fit.fit(releases.find("tensorflow@2.21.0"), NEW, 90)  # of 2026, on an H100
    assert found.state == "compiled" and "older" not in found.text
    assert found.text.startswith("tensorflow@2.21.0 has machine code for GPUs up to sm_89 only;")


@pytest.mark.parametrize(
    ("gpu", "driver", "sm", "words"),
    [
        (GPU, "390.157", 70, "needs driver 396.37 or newer; this machine has 390.157"),
        (GPU, "396.36.99", 70, "needs driver 396.37 or newer"),
        (GPU, NEW, 20, "no longer knows GPUs older than sm_30; this one is sm_20"),
        (GPU.replace(', "compute_70"', ""), NEW, 80, "no code for sm_80: its packages hold sm_35"),
        (GPU.replace("sm_35", "sm_60").replace("compute_70", "compute_75"), NEW, 50, "no code for"),
        (f"{GPU}newest_sm = 90\n", NEW, 120, "works on GPUs up to sm_90; this one is sm_120"),
        (f'{GPU}least_driver = "520.61"\n', "520.56", 70, "needs driver 520.61 or newer"),
        ('[gpu]\ncuda = "11.8"\ncudnn = "8.9"\ncode = ["sm_35"]\n', NEW, 35, "older than sm_50"),
        ('[gpu]\ncuda = "13.0"\ncode = ["sm_75"]\n', NEW, 70, "older than sm_75"),
    ],
)
def test_hopeless_pairs_are_refused_with_the_reason(
    gpu: str, driver: str, sm: int, words: str, tmp_path: Path
) -> None:
    found = gpu_fit.fit(made(tmp_path, gpu=gpu), driver, sm)
    assert found.state == "hopeless"
    assert words in found.text


def test_a_driver_is_as_new_as_its_numbers_not_its_letters(tmp_path: Path) -> None:
    release = made(tmp_path)
    assert gpu_fit.fit(release, "396.37", 70).state == "native"
    assert gpu_fit.fit(release, "1000.1", 70).state == "native"
    assert gpu_fit.fit(release, "39.99", 70).state == "hopeless"


def test_a_release_without_gpu_packages_says_why(tmp_path: Path) -> None:
    path = add(tmp_path, "theano@1.0.2", 'no_gpu = "pygpu is gone"\n')
    found = gpu_fit.fit(releases.load(path), NEW, 70)
    assert found == gpu_fit.Fit("hopeless", "theano@1.0.2 has no GPU packages (pygpu is gone).")


def test_the_nearest_release_that_works_is_named(tmp_path: Path) -> None:
    made(tmp_path, "mxnet@1.3.0", GPU.replace(', "compute_70"', ""))
    made(tmp_path, "mxnet@1.5.0", GPU)
    made(tmp_path, "mxnet@1.9.1", '[gpu]\ncuda = "11.8"\ncode = ["sm_50", "sm_80"]\n')
    made(tmp_path, "chainer@7.8.1", '[gpu]\ncuda = "11.8"\ncode = ["sm_80"]\n')
    known = releases.load_releases(tmp_path)
    first = releases.find("mxnet@1.3.0", tmp_path)
    near = gpu_fit.nearest(first, known, NEW, 80)
    # One that runs at once comes before one that must be compiled, however near that is.
    assert near is not None and near.name == "mxnet@1.9.1"
    near = gpu_fit.nearest(first, known, NEW, 120)
    assert near is not None and near.name == "mxnet@1.5.0"
    assert gpu_fit.nearest(first, known, "100.1", 80) is None


def test_the_study_s_pairs() -> None:
    """What people with real cards would ask of the shipped catalog."""

    def state(name: str, driver: str, sm: int) -> str:
        return gpu_fit.fit(releases.find(name), driver, sm).state

    assert state("mxnet@1.9.1", "535.104.05", 70) == "native"  # V100
    assert state("mxnet@1.9.1", "535.104.05", 89) == "native"  # RTX 4090
    assert state("tensorflow@1.15.5", "535.104.05", 75) == "native"  # T4
    assert state("tensorflow@1.15.5", "535.104.05", 80) == "compiled"  # A100
    assert state("chainer@7.8.1", "580.65.06", 120) == "hopeless"  # RTX 5090
    assert state("pytorch@2.13.0", "580.65.06", 70) == "hopeless"  # CUDA 13 on a V100
    assert state("theano@1.0.5", "535.104.05", 70) == "hopeless"
    # What is compiled as a trial runs needs the driver of the compiler.
    assert state("mxnet@1.9.1", "515.43.04", 70) == "hopeless"
    assert state("tensorflow@2.10.1", "515.43.04", 70) == "native"
    # CUDA 12 still knows a V100; the cuDNN that is locked with it does not.
    told = gpu_fit.fit(releases.find("jax@0.12.0.1"), "580.65.06", 70)
    assert told.state == "hopeless" and "cuDNN 9.27, which no longer knows" in told.text
    assert state("jax@0.12.0.1", "580.65.06", 75) == "native"
    # cuDNN 7.6 wants a newer driver than the CUDA 9.0 it is for.
    assert state("tensorflow@1.11.0", "384.81", 60) == "hopeless"
    assert state("tensorflow@1.11.0", "384.111", 60) == "native"


def test_the_table_knows_the_cudnn_of_each_lock() -> None:
    for release in releases.load_releases(releases.shipped()):
        pinned = [
            gpu_fit.numbers(entry.version)
            for entry in (locks.read(release.lock("gpu")).entries if release.cuda else ())
            if entry.name.startswith("nvidia-cudnn-")
        ]
        for version in pinned:
            named = gpu_fit.numbers((release.cuda and release.cuda.cudnn) or "")
            assert version[: len(named)] == named, release.name
            # From 9.11 on it wants Turing, whatever CUDA still knows.
            if version >= (9, 11):
                assert gpu_fit.fit(release, NEW, 70).state == "hopeless", release.name
