"""`dlbench run` and `dlbench plan`: the same options; one does it, the other shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.console import Json

_RUN_HELP = """Run a suite, or what you choose, and show which differences are real.

    \b
    dlbench run
    dlbench run --framework pytorch --framework tensorflow@2.21.0:fit --workload mnist-cnn
    dlbench run --framework mxnet --gpu all
    dlbench run --resume results/2026-11-16_0312-quick
"""
_PLAN_HELP = """Show what `dlbench run` with the same options would do, without doing it.

    \b
    dlbench plan --suite quick --repeats 10
"""


def register(app: typer.Typer) -> None:
    app.command("run", help=_RUN_HELP)(_command(_run))
    app.command("plan", help=_PLAN_HELP)(_command(_plan))


class Asked:
    """All options of one call."""

    def __init__(self, **values: object) -> None:
        self.__dict__.update(values)

    out: Path | None
    resume: Path | None
    engine: str
    hz: float
    json: bool
    suite: str
    framework: list[str]
    workload: list[str]
    device: list[str]
    gpu: str | None
    setting: list[str]
    data: str | None
    repeats: int | None
    seed: int | None
    epochs: int | None
    steps: int | None
    time_limit: str | None
    cpus: float | None
    memory: str | None
    threads: str
    save: bool
    watch: bool


def _command(act: Callable[[Asked], None]) -> Callable[..., None]:
    def command(
        suite: Annotated[
            str, typer.Option(metavar="NAME|FILE", help="A suite's name, or a TOML file.")
        ] = "quick",
        framework: Annotated[
            list[str] | None,
            typer.Option(
                metavar="RELEASE",
                help="A release: pytorch, mxnet@1.3.0, tensorflow:fit. Repeatable.",
            ),
        ] = None,
        workload: Annotated[
            list[str] | None, typer.Option(metavar="NAME", help="A workload. Repeatable.")
        ] = None,
        device: Annotated[
            list[str] | None, typer.Option(metavar="cpu|gpu", help="cpu or gpu. Repeatable.")
        ] = None,
        gpu: Annotated[
            str | None,
            typer.Option(metavar="WHICH", help="GPUs to use: all, none, indices (0,1) or a UUID."),
        ] = None,
        engine: Annotated[
            str, typer.Option(metavar="auto|docker|process", help="auto, docker or process.")
        ] = "auto",
        setting: Annotated[
            list[str] | None,
            typer.Option(
                metavar="matched|native",
                help="matched (the same numbers everywhere) or native (its own).",
            ),
        ] = None,
        data: Annotated[
            str | None, typer.Option(metavar="real|synthetic", help="real or synthetic.")
        ] = None,
        repeats: Annotated[
            int | None, typer.Option(metavar="N", help="Trials of each contender.")
        ] = None,
        seed: Annotated[
            int | None, typer.Option(metavar="N", help="The first repeat's seed.")
        ] = None,
        epochs: Annotated[
            int | None, typer.Option(metavar="N", help="Epochs instead of the recipe's.")
        ] = None,
        steps: Annotated[
            int | None, typer.Option(metavar="N", help="Stop after this many steps.")
        ] = None,
        time_limit: Annotated[
            str | None, typer.Option(metavar="TIME", help="Longest time of a trial: 90s, 15m, 24h.")
        ] = None,
        cpus: Annotated[
            float | None, typer.Option(metavar="N", help="Cores a trial may use.")
        ] = None,
        memory: Annotated[
            str | None, typer.Option(metavar="SIZE", help="Memory a trial may use: 512m, 4g.")
        ] = None,
        threads: Annotated[
            str,
            typer.Option(
                metavar="default|N", help="Threads: default (the framework decides) or a number."
            ),
        ] = "default",
        hz: Annotated[float, typer.Option(metavar="N", help="Samples a second, 0.1 to 20.")] = 1.0,
        watch: Annotated[
            bool, typer.Option("--watch", help="Show curves and use of the machine while it runs.")
        ] = False,
        save: Annotated[bool, typer.Option("--save", help="Keep the trained weights.")] = False,
        out: Annotated[
            Path | None, typer.Option(metavar="DIR", help="Where the campaign goes.")
        ] = None,
        resume: Annotated[
            Path | None, typer.Option(metavar="DIR", help="Finish this campaign.")
        ] = None,
        json: Json = False,
    ) -> None:
        act(Asked(**locals()))

    return command


def _choices(asked: Asked):  # type: ignore[no-untyped-def]
    from dlbench.planning.plan import Choices

    return Choices(
        suite=asked.suite,
        frameworks=tuple(asked.framework or ()),
        workloads=tuple(asked.workload or ()),
        devices=tuple(asked.device or ()),
        gpu=asked.gpu,
        settings=tuple(asked.setting or ()),
        data=asked.data,
        repeats=asked.repeats,
        seed=asked.seed,
        epochs=asked.epochs,
        steps=asked.steps,
        time_limit=asked.time_limit,
        cpus=asked.cpus,
        memory=asked.memory,
        threads=asked.threads,
        save=asked.save,
    )


def _run(asked: Asked) -> None:
    import signal

    from dlbench.cli.live import view
    from dlbench.cli.show import print_results
    from dlbench.running.campaign_run import resume, start
    from dlbench.running.workshop import open_workshop

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite end is Ctrl-C's end
    with view(quiet=asked.json, watch=asked.watch) as observer:
        if asked.resume:
            engine = _engine_of(asked.resume, asked.engine)
            finished = resume(asked.resume, open_workshop(engine), observer)
        else:
            choices = _choices(asked)
            finished = start(
                choices,
                open_workshop(asked.engine),
                asked.out or _fresh_folder(Path(choices.suite).stem),
                observer,
                hz=asked.hz,
                command=["dlbench", *_without_paths(sys.argv[1:])],
            )
    print_results(finished.campaign, finished.results, as_json=asked.json)
    if finished.interrupted and not asked.json:
        typer.echo(f"Interrupted. Finish it with: dlbench run --resume {finished.campaign.folder}")
    raise typer.Exit(finished.exit_code)


def _engine_of(folder: Path, asked: str) -> str:
    """A campaign goes on in the engine in which it began."""
    from dlbench.campaigns.folder import Campaign
    from dlbench.errors import UserError

    began = str(Campaign.open(folder).about()["engine"])
    if asked not in ("auto", began):
        raise UserError(
            f"{folder} was begun with the {began} engine.", f"Leave out --engine {asked}."
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
    """The command for the record: of a path only its last part, so that no home folder is told."""
    return [Path(word).name if word.startswith(("/", "~")) else word for word in arguments]


def _plan(asked: Asked) -> None:
    from dlbench.cli.console import megabytes, print_json, print_table, seconds, stdout
    from dlbench.planning.estimate import forecast
    from dlbench.planning.plan import draft
    from dlbench.running.workshop import open_workshop

    workshop = open_workshop(asked.engine)
    plan = draft(_choices(asked), workshop.engine.name)
    outlook = forecast(plan.trials, workshop)
    if asked.json:
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
