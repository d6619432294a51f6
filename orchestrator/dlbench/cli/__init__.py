"""The `dlbench` command. One small file a sub-command: its options and its handler, no logic."""

from __future__ import annotations

import errno
import io
import os
import shutil
import signal
import sys
from pathlib import Path

import typer
from typer.exceptions import TyperException

from dlbench.cli import (
    campaigns,
    claims,
    compare,
    data,
    doctor,
    export,
    images,
    listing,
    merge,
    report,
    run,
    search_path,
    show,
    verify,
    watch,
    weights,
)
from dlbench.errors import UserError
from dlbench.plain_json import printable

_BEYOND_US = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO)
"""What a disk can do to any command at any moment."""
_WRONG_PATH = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)
_LONGEST_ERROR = 2000
"""Characters: an error may name what was typed, or what stands in a file."""

app = typer.Typer(
    name="dlbench",
    help="Compare deep learning frameworks on models proven to be the same.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
run.register(app)
for command in (
    verify.verify, show.show, campaigns.campaigns, report.report, watch.watch, compare.compare,
    claims.claims, claims.judge, merge.merge, export.export,
):  # fmt: skip
    app.command(command.__name__)(command)
app.add_typer(listing.app, name="list")
app.add_typer(images.app, name="images")
app.add_typer(data.app, name="data")
app.add_typer(weights.app, name="weights")
app.command("doctor")(doctor.doctor)
search_path.add_path_option(app, {"run", "plan", "verify", "show", "doctor"})
search_path.add_path_option(
    listing.app, {"releases", "workloads", "datasets", "suites", "adapters"}
)
search_path.add_path_option(images.app, {"build", "list", "verify", "prune"})
search_path.add_path_option(data.app, {"list", "fetch", "verify", "path"})
search_path.add_path_option(weights.app, {"convert"})


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Show the version.")) -> None:
    if version:
        from dlbench import __version__

        typer.echo(__version__)
        raise typer.Exit


_INTERRUPTED = 130
_UNREAD = 128 + signal.SIGPIPE
"""Whoever read has gone; rich and typer say 1, which is a failed trial or a regression here."""


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    """Run the command line; every user's mistake is two sentences and exit code 2."""
    for number in (signal.SIGTERM, signal.SIGHUP):  # else nothing is put in order at the exit
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _leave)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed before the start
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):  # a locale may know neither § nor …
            stream.reconfigure(errors="backslashreplace")
    try:
        code = int(app(prog_name="dlbench", standalone_mode=False) or 0)
        if code == _INTERRUPTED:  # typer makes an exit code of Ctrl-C and says nothing
            print("dlbench: interrupted; what was finished is kept", file=sys.stderr)
        return code
    except UserError as error:
        _say(f"dlbench: {error.problem}")
        if error.remedy:
            _say(f"         {error.remedy}")
        return 2
    except typer.Exit as leaving:
        return leaving.exit_code
    except (KeyboardInterrupt, typer.Abort):
        print("dlbench: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):
            return _UNREAD
        raise
    except OSError as error:
        if error.errno in _WRONG_PATH:
            _say(f"dlbench: {printable(str(error.filename), 200)}: {error.strerror}.")
            _say("         Give another path.")
            return 2
        if error.errno not in _BEYOND_US:
            raise
        file = f" at {error.filename}" if error.filename else ""
        _say(f"dlbench: {error.strerror}{file}.")
        _say(
            "         Free some space or choose another folder; `dlbench run --resume DIR` goes"
            " on, and `dlbench campaigns` has its name."
        )
        return 2
    except TyperException as error:  # a wrong option or none at all: typer words it well
        _say(error.format_message())
        return 2


def _say(text: str) -> None:
    """An error; it may hold words of whoever made a file or a command line."""
    from dlbench.cli.console import folded

    columns = shutil.get_terminal_size().columns if sys.stderr.isatty() else None
    print(folded(printable(text, _LONGEST_ERROR), 9, columns), file=sys.stderr)
