"""dlbench as an ordinary package: everything it needs is inside the wheel."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import uv

from dlbench import __version__

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked into a folder of its own, away from the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [uv.find_uv_bin(), "build", "--wheel", "--out-dir", str(folder), str(CHECKOUT)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def dlbench(site: Path, *arguments: str) -> str:
    start = "import sys; from dlbench.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", start, *arguments]
    done = subprocess.run(
        command, cwd=site.parent, env={"PYTHONPATH": str(site)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_trees_are_inside(installed: Path) -> None:
    wanted = json.loads(dlbench(installed, "list", "releases", "--json"))
    folders = {path.parent.name for path in (CHECKOUT / "images").glob("*/*/release.toml")}
    assert {release["version"] for release in wanted} == folders
    assert (installed / "dlbench/_bundle/bench/__main__.py").is_file()
    assert (installed / "dlbench/_bundle/images/Dockerfile").is_file()
    assert (installed / "dlbench/datasets/bundled/digits.npz").is_file()
    assert (installed / "dlbench/py.typed").is_file()  # type checkers read its annotations
    assert "quick" in dlbench(installed, "list", "suites")


def test_one_version(installed: Path) -> None:
    """pyproject.toml and the package say it each for themselves."""
    (folder,) = installed.glob("dlbench-*.dist-info")
    assert folder.name == f"dlbench-{__version__}.dist-info"


def test_it_runs_from_there(installed: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    text = dlbench(
        installed, "run", "--framework", "numpy", "--engine", "process", "--repeats", "1",
        "--steps", "5", "--out", str(out),
    )  # fmt: skip
    assert "numpy@" in text
    assert list(out.glob("trials/*/trial.json"))
