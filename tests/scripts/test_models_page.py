"""The page of all models: proofs and trials as tables; what was not run is not there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from dlbench.campaigns.outcomes import Outcome
from tests.orchestrator.analysis.campaigns import Cell, write

SCRIPT = Path(__file__).parents[2] / "scripts" / "models_page.py"


def proof(release: str, variant: str, workload: str, **other: object) -> dict[str, object]:
    passed = {"name": "loss", "passed": True, "node": None, "detail": ""}
    entry = {"release": release, "variant": variant, "workload": workload, "reason": ""}
    return {**entry, "passed": True, "checks": [passed] * 23, **other}


def page(*places: Path) -> str:
    command = [sys.executable, str(SCRIPT), *map(str, places)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_proofs_stand_by_release_and_shared_ones_in_one_line(tmp_path: Path) -> None:
    wrong = {"name": "loss", "passed": False, "node": "dense", "detail": "0.1 and 0.2"}
    file = tmp_path / "proofs.json"
    died = proof("mxnet@1.9.1", "imperative", "mnist-mlp", passed=False, checks=[])
    proofs = [
        proof("pytorch@2.13.0", "eager", "jarvis-fcn-10"),
        proof("mxnet@1.9.1", "hybrid", "mnist-mlp", passed=False, checks=[wrong]),
        {**died, "reason": "It was ended by SIGABRT.\nits log"},
    ]
    file.write_text(json.dumps(proofs))
    text = page(file)
    assert "pytorch<br>2.13.0 | mxnet<br>1.9.1 | mxnet<br>1.9.1:imperative |" in text
    assert "| jarvis-fcn-10, mp-fcn-10, oqmd-fcn-10 | 23 | · | · |" in text
    assert "| mnist-mlp | · | **no** | **no** |" in text
    assert "- mxnet@1.9.1, mnist-mlp: loss at `dense`: 0.1 and 0.2" in text
    assert "- mxnet@1.9.1:imperative, mnist-mlp: It was ended by SIGABRT.\n" in f"{text}\n"
    assert "its log" not in text and "Peak memory" not in text


def test_what_a_campaign_measured_and_how_trials_ended(tmp_path: Path) -> None:
    cells = [
        Cell("good@1", [1.0], workload="mnist-cnn"),
        Cell("bad@1", [1.0], workload="mnist-cnn", outcome=Outcome.OOM),
    ]
    text = page(write(tmp_path / "c", cells))
    memory = text[text.index("### Peak memory (MB)") :]
    assert "| mnist-cnn | 100 | oom |" in memory
