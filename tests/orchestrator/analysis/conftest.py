"""The command line, run as a user would, without the cost of a new process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dlbench.cli import main


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Said]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: str | Path) -> Said:
        monkeypatch.setattr(sys, "argv", ["dlbench", *map(str, arguments)])
        code = main()
        found = capsys.readouterr()
        return Said(code, found.out, found.err)

    return run
