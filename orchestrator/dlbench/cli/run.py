"""`dlbench run` and `dlbench plan`: the same options; one does it, the other shows it."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dlbench.cli.options import command_of
from dlbench.planning.choices import Choices, choice

if TYPE_CHECKING:
    from dlbench.planning.estimate import Forecast
    from dlbench.running.workshop import Workshop

_RUN_HELP = """Run trials and say which differences are real.

    \b
    dlbench run
    dlbench run pytorch tensorflow@2.21.0:fit --workload mnist-cnn
    dlbench run pytorch --against pytorch@1.13.1 --until decided --at-most 20
    dlbench run --framework mxnet --gpu all
    dlbench run pytorch jax --workload mnist-cnn --sweep batch=8,32,128 --scale 0.1
    dlbench run --suite elshawi2021 --scale smoke --data synthetic
    dlbench run --workload voc2012-faster-rcnn --weights backbone.npz
    dlbench run --resume results/2026-11-16_0312-digits-cnn-jax-numpy --repeats 10
"""
_PLAN_HELP = """Show what `dlbench run` would do, without doing it.

    \b
    dlbench plan --suite quick --repeats 10
"""


@dataclass(frozen=True)
class RunOptions(Choices):
    """The choices about a campaign, and those about this one call, which nothing records."""

    wait_until_idle: str | None = choice(
        "--wait-until-idle", "Wait for an idle machine, at most this long: 30m.", "TIME"
    )
    watch: bool = choice(
        "--watch", "Show curves and use of the machine while it runs.", default=False
    )
    out: Path | None = choice("-o --out", "Where the campaign goes.", "DIR")
    resume: Path | None = choice(
        "--resume", "Finish this campaign, or add repeats, releases, workloads.", "DIR"
    )
    json: bool = choice("--json", "Print JSON for machines.", default=False)


def register(app: typer.Typer) -> None:
    app.command("run", help=_RUN_HELP)(command_of(RunOptions, _run))
    app.command("plan", help=_PLAN_HELP)(command_of(RunOptions, _plan))


def _run(options: RunOptions, given: frozenset[str]) -> None:
    import signal

    from dlbench.cli.live import view
    from dlbench.cli.show import print_results
    from dlbench.planning.option_values import duration
    from dlbench.running.campaign_run import resume, start
    from dlbench.running.workshop import open_workshop

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite end is Ctrl-C's end
    idle_wait_s = duration(options.wait_until_idle) if options.wait_until_idle else None
    if options.resume:
        engine = _engine_of(options.resume, options, given)
    with view(quiet=options.json, watch=options.watch) as observer:
        if options.resume:
            finished = resume(
                options.resume, open_workshop(engine), observer, options, idle_wait_s=idle_wait_s
            )
        else:
            finished = start(
                options,
                open_workshop(options.engine),
                options.out,
                observer,
                command=("dlbench", *_without_paths(sys.argv[1:])),
                idle_wait_s=idle_wait_s,
            )
    print_results(finished.campaign.folder, as_json=options.json)
    if finished.interrupted and not options.json:
        folder = shlex.quote(str(finished.campaign.folder))
        typer.echo(f"Interrupted. Finish it with: dlbench run --resume {folder}")
    raise typer.Exit(finished.exit_code)


def _engine_of(folder: Path, options: RunOptions, given: frozenset[str]) -> str:
    """A campaign goes on in the engine in which it began; what else was chosen must be possible."""
    from dlbench.campaigns.folder import Campaign
    from dlbench.errors import UserError
    from dlbench.planning.extension import refuse_ignored

    began = Campaign.open(folder).about().engine
    refuse_ignored(given)
    if options.out is not None:
        raise UserError("--out and --resume exclude each other.", "A campaign stays where it is.")
    if options.engine not in ("auto", began):
        raise UserError(
            f"{folder} was begun with the {began} engine.", f"Leave out --engine {options.engine}."
        )
    return began


def _without_paths(arguments: list[str]) -> list[str]:
    """The command to be recorded: of a path only its last part, so that it names no home folder."""

    def short(word: str) -> str:
        flag, equals, value = word.partition("=")
        if equals and flag.startswith("-"):
            return f"{flag}={short(value)}"
        outside = word.startswith(("/", "~")) or ("/" in word and Path(word).exists())
        return Path(word).name if outside else word

    return [short(word) for word in arguments]


def _plan(options: RunOptions, given: frozenset[str]) -> None:
    from dlbench.cli.console import print_json, say
    from dlbench.planning.estimate import forecast
    from dlbench.planning.extension import extension
    from dlbench.planning.notices import notices
    from dlbench.planning.plan import draft
    from dlbench.running.workshop import open_workshop

    if options.resume:
        from dlbench.campaigns.folder import Campaign

        workshop = open_workshop(_engine_of(options.resume, options, given))
        campaign = Campaign.open(options.resume)
        added = extension(campaign.trials(), options)
        trials, whole = (*campaign.unfinished(), *added), (*campaign.trials(), *added)
        about: tuple[str, ...] = ()
        looks = campaign.about().looks
    else:
        workshop = open_workshop(options.engine)
        plan = draft(options, workshop.engine.name, workshop.cores)
        trials = whole = plan.trials
        about, looks = plan.notes, plan.looks
    said = [text for text in (workshop.note, *about, *notices(whole, looks, workshop)) if text]
    if not trials:
        say("Nothing is left to run.")
        return
    outlook = forecast(trials, workshop)
    if options.json:
        print_json({**outlook.to_json(), "notes": said})
        return
    _print_plan(outlook, workshop)
    for sentence in said:
        say(sentence)


def _print_plan(outlook: Forecast, workshop: Workshop) -> None:
    from dlbench.cli.console import megabytes, print_table, say, seconds
    from dlbench.statistics.words import count

    swept = any(trial.point for trial in outlook.trials)
    point = ["point"] if swept else []
    print_table(
        [">#", ">round", "release", "workload", *point, "device", "setting", ">seed", ">estimate"],
        [
            [
                str(trial.index + 1),
                str(trial.round + 1),
                trial.label,
                trial.workload,
                *([trial.point] if swept else []),
                trial.compared_device,
                trial.setting,
                str(trial.seed),
                seconds(estimate or None),
            ]
            for trial, estimate in zip(outlook.trials, outlook.seconds, strict=True)
        ],
        title=f"{count(len(outlook.trials), 'trial')} with the {workshop.engine.name} engine",
        droppable=("setting", "device", "seed"),
    )
    for need in outlook.needs:
        say(f"To do first: {need.text}")
    if outlook.total_s:  # else no trial can run here, and a notice says why
        say(
            f"About {seconds(outlook.total_s)} in all, {megabytes(outlook.download_bytes)} to"
            f" download, {megabytes(outlook.disk_bytes)} of disk. Estimates: within a factor of"
            " three."
        )
    if outlook.stopped:
        limits = sorted({trial.seconds for trial in outlook.trials})
        limit = seconds(limits[0]) if len(limits) == 1 else "their limits"
        say(
            f"{count(outlook.stopped, 'trial')} would take longer than {limit} by these estimates,"
            " and end as `timeout`: choose a smaller scale, or a longer --time-limit."
        )
    if outlook.proofs:
        one = outlook.proofs == 1
        say(
            f"Before them {outlook.proofs} proof{'' if one else 's'} that models are equal: about"
            f" {seconds(outlook.proofs_s)}, unless {'it was' if one else 'they were'} made before."
        )
    known = zip(outlook.trials, outlook.seconds, strict=True)
    if any(trial.device == "gpu" and estimate for trial, estimate in known):
        say("How fast the GPU is was not measured: its trials are estimated as on this CPU.")
