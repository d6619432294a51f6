"""What the shell offers: commands, releases, workloads, suites, metrics, campaigns."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlbench.cli import completion
from tests.orchestrator.analysis.campaigns import Cell, write

CHECKOUT = Path(__file__).resolve().parents[3]


def offered(line: str, folder: Path) -> list[str]:
    """As bash asks for it."""
    words = line.split(" ")
    environment = {
        **os.environ, "PYTHONPATH": str(CHECKOUT / "orchestrator"),
        "_DLBENCH_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip
    code = "import sys; from dlbench.cli import main; sys.argv = ['dlbench']; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=folder
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("dlbench sh", "show"),
        ("dlbench run pytorch@1.0", "pytorch@1.0.0"),
        ("dlbench run --workload dig", "digits-cnn"),
        ("dlbench run --suite q", "quick"),
        ("dlbench run --against mx", "mxnet"),
        ("dlbench run --confound no-d", "no-dropout"),
        ("dlbench compare --metric ste", "step_ms"),
        ("dlbench show results/", "results/mine"),
    ],
)
def test_the_shell_is_offered(line: str, word: str, tmp_path: Path) -> None:
    write(tmp_path / "results" / "mine", [Cell("a@1", [1.0])])
    assert word in offered(line, tmp_path)


def test_variants_are_offered_behind_a_colon() -> None:
    assert "tensorflow:fit" in completion.releases("tensorflow:")
    assert not any(":" in name for name in completion.releases("tensorflow"))


def test_a_fault_offers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("somebody's own file")

    monkeypatch.setattr("dlbench.suites.names", broken)
    assert completion.suites("") == []
