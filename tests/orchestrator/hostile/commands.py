"""Runs commands on hostile input in this process, and judges how each of them ended."""

from __future__ import annotations

import io
import re
import shutil
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import typer

import dlbench
from dlbench.campaigns import archive_file, follower, temporary_folder
from dlbench.cli import main, watch
from dlbench.errors import UserError

_ACTS_ON_A_TERMINAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\ud800-\udfff]")
REFUSED, UNDECIDED = 2, 3


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str
    traceback: str = ""

    @property
    def fault(self) -> str:
        """What is wrong with how it ended; empty if nothing is."""
        if self.traceback:
            return f"traceback: {self.traceback.strip().splitlines()[-1][:200]}"
        if found := _ACTS_ON_A_TERMINAL.search(self.out + self.err):
            return f"it printed {found[0]!r}"
        if self.code not in (0, 1, REFUSED, UNDECIDED):
            return f"exit code {self.code}"
        if self.code == REFUSED and not self.err.strip():
            return "exit code 2 without a word"
        if self.code == 0 and "dlbench: " in self.err:
            return "exit code 0 with an error"
        if len(self.err) > 5000:
            return f"an error of {len(self.err)} characters"
        return ""


def run(*arguments: str | Path) -> Ended:
    """A command line, as `dlbench` runs it."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["dlbench", *map(str, arguments)]
    code, failed = 0, ""
    try:
        with _in_haste(), redirect_stdout(out), redirect_stderr(err):
            code = main()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except Exception:
        failed = traceback.format_exc()
    finally:
        sys.argv = before
        archive_file._unpacked_once.cache_clear()
        temporary_folder._remove_all()
    return Ended(code, out.getvalue(), err.getvalue(), failed)


_get_command = cache(typer.main.get_command)


@contextmanager
def _in_haste() -> Iterator[None]:
    """The parser is made once, and `watch` takes a campaign that nobody works on for stopped."""
    usual = follower._SILENT_S, watch._EVERY_S, typer.main.get_command
    follower._SILENT_S, watch._EVERY_S, typer.main.get_command = -1.0, 0.0, _get_command
    try:
        yield
    finally:
        follower._SILENT_S, watch._EVERY_S, typer.main.get_command = usual


def read_in_python(campaign: Path) -> Ended:
    """Everything that the Python interface reads of a campaign."""
    try:
        results = dlbench.open(campaign)
        for table in ("trials", "curves", "steps", "samples", "phases"):
            getattr(results, table)().write_json()
        results.machines()
        for trial in results.trials()["id"].to_list():
            one = results.trial(trial)
            one.result.to_json()
            one.events()
            one.log()
            one.job()
            one.predictions()
    except UserError as error:
        return Ended(REFUSED, "", str(error))
    except Exception:
        return Ended(1, "", "", traceback.format_exc())
    return Ended(0, "", "")


COMMANDS = (
    "show", "show-json", "compare", "compare-steps", "report", "markdown", "csv", "parquet", "json",
    "mlflow", "archive", "merge", "watch", "judge", "python",
)  # fmt: skip


def on_campaign(command: str, campaign: Path, other: Path, out: Path) -> Ended:
    """One of the commands on a campaign; what it writes goes to `out`, whole or not at all."""
    if command == "python":
        return read_in_python(campaign)
    arguments: dict[str, tuple[str | Path, ...]] = {
        "show": ("show", campaign),
        "show-json": ("show", campaign, "--json"),
        "compare": ("compare", campaign),
        "compare-steps": ("compare", campaign, "--metric", "step_ms", "--json"),
        "report": ("report", campaign, "-o", out),
        "markdown": ("report", campaign, "--format", "markdown", "-o", out),
        "merge": ("merge", campaign, other, "-o", out),
        "watch": ("watch", campaign, "--json"),
        "judge": ("judge", campaign, "--study", "elshawi2021", "--verbose"),
    }
    ended = run(*arguments.get(command, ("export", campaign, "--format", command, "-o", out)))
    made = sorted(out.parent.iterdir()) if out.parent.is_dir() else []
    fault = ""
    if ended.code == REFUSED and made:
        fault = f"refused, and left {made[0].name}"
    elif any(path.is_file() and not path.stat().st_size for path in made):
        fault = "a file of 0 bytes"
    for path in made:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return Ended(ended.code, ended.out, ended.err, ended.traceback or fault)
