"""`dlbench run` and `dlbench plan`: the same options; one does it, the other shows it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.options import command_of
from dlbench.planning.choices import Choices, Option

_RUN_HELP = """Run a suite, or what you choose, and show which differences are real.

    \b
    dlbench run
    dlbench run pytorch tensorflow@2.21.0:fit --workload mnist-cnn
    dlbench run --framework mxnet --gpu all
    dlbench run --resume results/2026-11-16_0312-quick
"""
_PLAN_HELP = """Show what `dlbench run` with the same options would do, without doing it.

    \b
    dlbench plan --suite quick --repeats 10
"""


@dataclass(frozen=True)
class RunOptions(Choices):
    """The choices about a campaign, and those about this one call, which nothing records."""

    watch: Annotated[
        bool, Option("--watch", "Show curves and use of the machine while it runs.")
    ] = False
    out: Annotated[Path | None, Option("--out", "Where the campaign goes.", "DIR")] = None
    resume: Annotated[Path | None, Option("--resume", "Finish this campaign.", "DIR")] = None
    json: Annotated[bool, Option("--json", "Print JSON for machines.")] = False


def register(app: typer.Typer) -> None:
    app.command("run", help=_RUN_HELP)(command_of(RunOptions, _run))
    app.command("plan", help=_PLAN_HELP)(command_of(RunOptions, _plan))


def _run(options: RunOptions) -> None:
    import signal

    from dlbench.cli.live import view
    from dlbench.cli.show import print_results
    from dlbench.running.campaign_run import resume, start
    from dlbench.running.workshop import open_workshop

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite end is Ctrl-C's end
    with view(quiet=options.json, watch=options.watch) as observer:
        if options.resume:
            engine = _engine_of(options.resume, options.engine)
            finished = resume(options.resume, open_workshop(engine), observer)
        else:
            finished = start(
                options,
                open_workshop(options.engine),
                options.out or _fresh_folder(Path(options.suite).stem),
                observer,
                command=("dlbench", *_without_paths(sys.argv[1:])),
            )
    print_results(finished.campaign, finished.results, as_json=options.json)
    if finished.interrupted and not options.json:
        typer.echo(f"Interrupted. Finish it with: dlbench run --resume {finished.campaign.folder}")
    raise typer.Exit(finished.exit_code)


def _engine_of(folder: Path, wanted: str) -> str:
    """A campaign goes on in the engine in which it began."""
    from dlbench.campaigns.folder import Campaign
    from dlbench.errors import UserError

    began = Campaign.open(folder).about().engine
    if wanted not in ("auto", began):
        raise UserError(
            f"{folder} was begun with the {began} engine.", f"Leave out --engine {wanted}."
        )
    return began


def _fresh_folder(suite: str) -> Path:
    import time

    stem = time.strftime("%Y-%m-%d_%H%M%S") + f"-{suite}"
    folder, number = Path("results") / stem, 2
    while folder.exists():
        folder, number = Path("results") / f"{stem}-{number}", number + 1
    return folder


def _without_paths(arguments: list[str]) -> list[str]:
    """The command to be recorded: of a path only its last part, so that it names no home folder."""
    return [Path(word).name if word.startswith(("/", "~")) else word for word in arguments]


def _plan(options: RunOptions) -> None:
    from dlbench.cli.console import megabytes, print_json, print_table, seconds, stdout
    from dlbench.planning.estimate import forecast
    from dlbench.planning.plan import draft
    from dlbench.running.workshop import open_workshop

    workshop = open_workshop(options.engine)
    plan = draft(options, workshop.engine.name)
    outlook = forecast(plan.trials, workshop)
    if options.json:
        print_json(outlook.to_json())
        return
    console = stdout()
    for note in filter(None, (workshop.note, *plan.notes)):
        console.print(note)
    print_table(
        [">#", ">round", "release", "workload", "device", "setting", ">seed", ">estimate"],
        [
            [
                str(t.index + 1),
                str(t.round + 1),
                t.label,
                t.workload,
                t.device,
                t.setting,
                str(t.seed),
                seconds(s),
            ]
            for t, s in zip(plan.trials, outlook.seconds, strict=True)
        ],
        title=f"{len(plan.trials)} trials with the {workshop.engine.name} engine",
    )
    for need in outlook.needs:
        console.print(f"To do first: {need.text}")
    console.print(
        f"About {seconds(outlook.total_s)} in all, {megabytes(outlook.download_bytes)} to download,"
        f" {megabytes(outlook.disk_bytes)} of disk. Estimates: within a factor of three."
    )
