"""The report's JavaScript: each module is clean by itself, and joined they are a valid script."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dlbench import paths
from dlbench.report.asset_files import asset, script

ROOT = Path(__file__).resolve().parents[3]
LINTER = ROOT / "scripts" / "lint_javascript"
ASSETS = ROOT / "orchestrator" / "dlbench" / "report" / "assets"
MODULES = [*ASSETS.glob("*.js"), *ASSETS.glob("charts/*.js")]


@pytest.fixture(scope="module")
def oxlint() -> Path:
    """The linter as its lock pins it, installed once into dlbench's cache."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed (Debian: npm); it installs the linter of JavaScript")
    lock = (LINTER / "package-lock.json").read_bytes()
    folder = paths.cache() / "lint-javascript" / hashlib.sha256(lock).hexdigest()[:16]
    program = folder / "node_modules" / ".bin" / "oxlint"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(LINTER / name, folder / name)
        # Not `npm ci`: the lock names the linter's programs for Linux alone.
        install = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return program


def lint(program: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    config = LINTER / "oxlintrc.json"
    command = [program, "-c", config, "--deny-warnings", "--ignore-pattern", "vendor/**", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_every_module_is_clean(oxlint: Path) -> None:
    done = lint(oxlint, ASSETS)
    assert done.returncode == 0, done.stdout
    assert f"on {len(MODULES)} files" in done.stdout


def test_joined_every_name_is_known(oxlint: Path, tmp_path: Path) -> None:
    """An import under another name is lost where modules become one script."""
    (tmp_path / "joined.js").write_text(script(), encoding="utf-8")
    done = lint(oxlint, tmp_path)
    assert "no-undef" not in done.stdout and "no-redeclare" not in done.stdout, done.stdout
    assert "on 1 file" in done.stdout


@pytest.mark.parametrize("fault", ["missing();", "var a = 1;\nconsole.log(a);", "const a = 1;"])
def test_the_linter_sees_faults(oxlint: Path, tmp_path: Path, fault: str) -> None:
    (tmp_path / "x.js").write_text(f"{fault}\nexport const x = 1;\n")
    assert lint(oxlint, tmp_path).returncode == 1


def test_joined_they_are_one_script(tmp_path: Path) -> None:
    """Also where two modules declare one name: they share a scope."""
    text = script()
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)
    for module in MODULES:
        comment = module.read_text(encoding="utf-8").splitlines()[0]
        assert text.count(comment) == 1, module
    if shutil.which("node") is None:
        pytest.skip("node is not installed (Debian: nodejs); it checks the joined script")
    (tmp_path / "report.js").write_text(text, encoding="utf-8")
    check = ["node", "--check", tmp_path / "report.js"]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_chart_has_its_drawing() -> None:
    charts = ROOT / "orchestrator" / "dlbench" / "report" / "charts"
    asked = set()
    for module in charts.glob("*.py"):
        text = module.read_text(encoding="utf-8")
        asked |= set(
            re.findall(r'Chart(?:\.of)?\(\s*f?"[^"]+"(?:\.replace\([^)]*\))?,\s*"(\w+)"', text)
        )
    drawings = {path.stem for path in ASSETS.glob("charts/*.js")}
    assert asked == drawings
    assert all(f"{name}," in asset("drawings.js") for name in drawings)
