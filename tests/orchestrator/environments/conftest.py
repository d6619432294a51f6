"""A small package index of our own making, and releases made from it by the real scripts/lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.environments import locking, releases
from dlbench.environments.releases import Release
from tests.orchestrator.environments.packages import HOST_PYTHON, MakeRelease, write_wheel


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of dlbench's."""
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place pip looks: a find-links folder with two packages."""
    folder = tmp_path / "shop"
    folder.mkdir()
    write_wheel(folder, "tinyframe", "1.2")
    write_wheel(folder, "tinydep", "0.5")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


@pytest.fixture
def make_release(tmp_path: Path) -> MakeRelease:
    def make(
        *requires: str,
        framework: str = "tinyframe",
        version: str = "1.2",
        python: tuple[str, ...] = (HOST_PYTHON,),
        extra: str = "",
        after: str = "",
    ) -> Release:
        folder = tmp_path / "images" / framework / version
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "release.toml").write_text(
            f"""
            framework = "{framework}"
            version = "{version}"
            published = "2026-01"
            adapter = "numpy"
            python = {list(python)}
            variants = ["plain"]
            verified = ["cpu"]
            {extra}
            [cpu]
            requires = {list(requires) or ["tinyframe==1.2", "tinydep==0.5"]}
            {after}
            """
        )
        release = releases.load(folder / "release.toml")
        locking.make(release, "cpu")
        return release

    return make
