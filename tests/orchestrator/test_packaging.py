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
    start = "import sys; from dlbench.__main__ import start; sys.exit(start())"
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


def test_an_interrupt_while_the_installed_command_starts(installed: Path) -> None:
    """It ends with 130, before anything of the command line is there, and without a traceback."""
    (entries,) = installed.glob("dlbench-*.dist-info/entry_points.txt")
    (entry,) = (line for line in entries.read_text().splitlines() if line.startswith("dlbench"))
    module, _, function = entry.partition("=")[2].strip().partition(":")
    start = (
        "import builtins, sys; from importlib import import_module\n"
        f"begin = getattr(import_module({module!r}), {function!r}); usual = builtins.__import__\n"
        "def interrupted(name, *rest):\n"
        "    if name.startswith('typer'): raise KeyboardInterrupt\n"
        "    return usual(name, *rest)\n"
        "assert 'typer' not in sys.modules; builtins.__import__ = interrupted; sys.exit(begin())"
    )
    done = subprocess.run(
        [sys.executable, "-c", start], env={"PYTHONPATH": str(installed)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_it_runs_from_there(installed: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    text = dlbench(
        installed, "run", "--framework", "numpy", "--engine", "process", "--repeats", "1",
        "--steps", "5", "--out", str(out),
    )  # fmt: skip
    assert "numpy@" in text
    assert list(out.glob("trials/*/trial.json"))
