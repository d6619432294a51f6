"""Which room may use which: campaigns, then the analysis, then what shows and shares it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "orchestrator" / "dlbench"
NOT_USED_BY = {
    "statistics": {
        "campaigns",
        "analysis",
        "studies",
        "sharing",
        "report",
        "cli",
        "running",
        "planning",
    },
    "campaigns": {"analysis", "sharing", "report", "cli"},
    "analysis": {"sharing", "report", "cli", "studies"},
    "studies": {"sharing", "report", "cli", "running", "planning", "confounds"},
    "confounds": {
        "campaigns",
        "analysis",
        "studies",
        "sharing",
        "report",
        "cli",
        "running",
        "workloads",
    },
    "sharing": {"report", "cli"},
    "report": {"sharing", "cli", "running"},
}


def rooms_used(module: Path) -> set[str]:
    """Also by imports inside functions."""
    used = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "dlbench":
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dlbench."):
            used.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            used |= {a.name.split(".")[1] for a in node.names if a.name.startswith("dlbench.")}
    return used


@pytest.mark.parametrize("room", NOT_USED_BY)
def test_no_room_uses_one_above_it(room: str) -> None:
    modules = list((PACKAGE / room).rglob("*.py"))
    assert modules
    for module in modules:
        assert not rooms_used(module) & NOT_USED_BY[room], module
