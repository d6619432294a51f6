"""Releases are found by name, and a broken release.toml is said to be broken, and where."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dlbench import paths
from dlbench.environments import releases
from dlbench.errors import UserError

TOML = """
framework = "{framework}"
version = "{version}"
published = "2018-09"
adapter = "mxnet"
python = ["3.6"]
variants = ["hybrid", "imperative"]
verified = ["cpu"]
"""


def add(root: Path, name: str, extra: str = "", gpu: bool = False) -> Path:
    framework, version = name.split("@")
    folder = root / framework / version
    folder.mkdir(parents=True)
    toml = TOML.format(framework=framework, version=version)
    (folder / "release.toml").write_text(toml + extra)
    (folder / "cpu.lock").write_text("")
    if gpu:
        (folder / "gpu.lock").write_text("")
    return folder / "release.toml"


def test_a_framework_alone_means_its_newest_release(tmp_path: Path) -> None:
    for name in ("mxnet@1.3.0", "mxnet@1.10.0", "mxnet@1.9.1", "chainer@4.5.0"):
        add(tmp_path, name)
    assert releases.find("mxnet", tmp_path).name == "mxnet@1.10.0"
    assert releases.find("mxnet@1.3.0", tmp_path).version == "1.3.0"


def test_one_version_can_be_several_releases_that_run_on_different_things(tmp_path: Path) -> None:
    for backend in ("torch", "jax"):
        add(tmp_path, f"keras@3.15.1-{backend}", f'variables = {{ KERAS_BACKEND = "{backend}" }}\n')
    add(tmp_path, "keras@3.9.0")
    names = [release.name for release in releases.load_releases(tmp_path)]
    assert names == ["keras@3.9.0", "keras@3.15.1-jax", "keras@3.15.1-torch"]
    assert releases.find("keras@3.15.1-jax", tmp_path).variables == {"KERAS_BACKEND": "jax"}


def test_a_misspelt_name_is_answered_with_the_nearest(tmp_path: Path) -> None:
    add(tmp_path, "mxnet@1.3.0")
    add(tmp_path, "chainer@4.5.0")
    with pytest.raises(UserError, match=r"no framework 'mxnt'.*Did you mean 'mxnet'"):
        releases.find("mxnt", tmp_path)
    with pytest.raises(UserError, match=r"no release 'mxnet@1.3'.*Did you mean 'mxnet@1.3.0'"):
        releases.find("mxnet@1.3", tmp_path)


def test_a_device_without_a_lock_is_refused(tmp_path: Path) -> None:
    release = releases.load(add(tmp_path, "mxnet@1.3.0"))
    assert release.devices == ("cpu",)
    with pytest.raises(UserError, match="no packages for device 'gpu'"):
        release.lock("gpu")


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('adapter = "mxnet"', "", "`adapter` is missing"),
        ('adapter = "mxnet"', 'adapter = "mxnet"\nvariant = "x"', "`variant` is not known here"),
        ('version = "1.3.0"', 'version = "1.3.1"', "not its folder's name"),
        ('python = ["3.6"]', "python = 3.6", "`python` must be a list"),
        ('python = ["3.6"]', 'python = ["three"]', "versions such as"),
        ('["hybrid", "imperative"]', "[]", "`variants` must be a list of strings"),
        ('published = "2018-09"', 'published = "September"', "a month such as"),
        ('framework = "mxnet"', "framework = mxnet", "line 2"),
        ('python = ["3.6"]', 'python = ["3.6"]\nindex = 3', "`index` must be a table"),
        ('verified = ["cpu"]', 'verified = ["tpu"]', "`verified` may hold cpu, gpu-build, gpu"),
        (
            'verified = ["cpu"]',
            'verified = ["cpu"]\n[gpu]\ncuda = 9',
            "`gpu.cuda` must be a string",
        ),
        (
            'verified = ["cpu"]',
            'verified = ["cpu"]\n[gpu]\ncuda = "9.0"\ncode = ["sm70"]',
            "words such as sm_70",
        ),
    ],
)
def test_a_broken_release_toml_is_named(tmp_path: Path, old: str, new: str, word: str) -> None:
    path = add(tmp_path, "mxnet@1.3.0")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(UserError) as caught:
        releases.load_releases(tmp_path)
    assert str(path) in caught.value.problem
    assert word in caught.value.problem


def test_only_a_release_that_asks_for_it_shares_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))
    plain = releases.load(add(tmp_path, "mxnet@1.3.0"))
    compiling = releases.load(add(tmp_path, "theano@1.0.2", extra="cache = true\n"))
    assert plain.cache_folder("cpu", "process") is None
    folder = compiling.cache_folder("cpu", "process")
    assert folder is not None and folder.is_dir()
    assert folder == compiling.cache_folder("cpu", "process")
    assert folder != compiling.cache_folder("cpu", "docker")


def test_every_file_is_read_once_however_often_a_release_is_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"mxnet@1.{minor}.0" for minor in range(20)]
    for name in names:
        add(tmp_path / "images", name)
    monkeypatch.setattr(paths, "bundled", lambda name: tmp_path / name)
    read: list[Path] = []
    load = releases.load
    monkeypatch.setattr(releases, "load", lambda path: read.append(path) or load(path))
    for _ in range(1000):
        for name in names:
            assert releases.find(name).name == name
    assert releases.find("mxnet").version == "1.19.0"
    assert len(releases.load_releases()) == len(names)
    assert len(read) == len(set(read)) == len(names)


def test_looking_up_costs_much_less_than_reading(tmp_path: Path) -> None:
    for minor in range(27):
        add(tmp_path, f"mxnet@1.{minor}.0")
    releases.find("mxnet@1.3.0", tmp_path)
    begun = time.perf_counter()
    for path in tmp_path.glob("*/*/release.toml"):
        releases.load(path)
    reading = time.perf_counter() - begun
    begun = time.perf_counter()
    for _ in range(100):
        releases.find("mxnet@1.3.0", tmp_path)
    assert (time.perf_counter() - begun) / 100 < reading / 20


def test_other_folders_are_read_for_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, version in (("one", "1.3.0"), ("two", "1.9.1")):
        add(tmp_path / folder, f"mxnet@{version}")
        monkeypatch.setattr(paths, "bundled", lambda _, folder=folder: tmp_path / folder)
        assert releases.find("mxnet").version == version


def test_a_name_that_no_image_can_have_is_refused(tmp_path: Path) -> None:
    path = add(tmp_path, "my frame:work@1.0")
    with pytest.raises(UserError, match=r"may hold a-z, 0-9"):
        releases.load(path)
