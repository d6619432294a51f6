"""`dlbench verify`: certificates, made or looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.console import Json
from dlbench.cli.options import Device, Engine, Framework, Releases, named

if TYPE_CHECKING:
    from dlbench.campaigns.certificate_file import Certificate
    from dlbench.environments.progress import Step
    from dlbench.environments.releases import Release
    from dlbench.running.workshop import Workshop


def verify(
    releases: Releases = None,
    framework: Framework = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A workload; none: all. Repeatable."),
    ] = None,
    engine: Engine = "auto",
    device: Device = "cpu",
    build: Annotated[
        str | None,
        typer.Option(
            metavar="cpu|gpu",
            help="Whose packages to prove; gpu on --device cpu needs no GPU.",
        ),
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option(metavar="WHICH", help="On these GPUs: all, indices (0,1) or a UUID."),
    ] = None,
    setting: Annotated[
        str,
        typer.Option(
            metavar="matched|native",
            help="matched; native shows what the framework's defaults change.",
        ),
    ] = "matched",
    again: Annotated[bool, typer.Option("--again", help="Do not use kept ones.")] = False,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Write what passed into the release files; print what to send in."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Prove that releases compute the reference's model.

    All releases, if none is named.

    \b
    dlbench verify pytorch --workload digits-cnn
    dlbench verify mxnet --build gpu --device cpu
    dlbench verify --gpu all --record
    """
    from dlbench.cli.console import print_json
    from dlbench.errors import UserError, check_known
    from dlbench.host import gpu_preflight, verified
    from dlbench.planning.option_values import parse_gpus
    from dlbench.planning.plan import SETTINGS
    from dlbench.running.certificates import certify
    from dlbench.running.workshop import open_workshop
    from dlbench.workloads import find, workloads

    check_known("setting", setting, SETTINGS)
    device, packages = _device_and_packages(device, build, gpu)
    contenders = _contenders(named(releases, framework), packages, every_variant=record)
    chosen = [find(name) for name in workload] if workload else list(workloads().values())
    gpus = gpu_preflight.in_order(parse_gpus(gpu)) if device == "gpu" else ()
    workshop = open_workshop(engine)
    refusals = {
        release.name: workshop.gpu_refusal(release, gpus or ("all",)) if device == "gpu" else None
        for release, _ in contenders
    }
    if len(set(refusals.values())) == 1 and (everywhere := next(iter(refusals.values()))):
        raise UserError(
            everywhere,
            "`dlbench verify --build gpu --device cpu` proves GPU packages without one.",
        )
    wanted = [
        release.name
        for release, _ in contenders
        if packages in release.devices and not refusals[release.name]
    ]
    _announce(list(dict.fromkeys(wanted)), packages, workshop)
    done = []
    partial: set[str] = set()
    with _progress(len(contenders) * len(chosen)) as progress:
        for release, variant in contenders:

            def preparing(step: Step, name: str = release.name) -> None:
                progress(f"{name}: {step.stage} {step.detail}", 0)

            try:
                if refusal := refusals[release.name]:
                    raise UserError(refusal)
                workshop.check(release, packages)
                if device == "cpu":
                    environment, whole = workshop.cpu_environment(release, packages, preparing)
                    if not whole:
                        partial.add(release.name)
                else:
                    environment = workshop.environment(release, packages, preparing)
            except UserError as error:
                if len(contenders) == 1:
                    raise
                done += [
                    {
                        "release": release.name, "variant": variant, "workload": item.name,
                        "passed": False, "checks": [], "reason": str(error),
                    }
                    for item in chosen
                ]  # fmt: skip
                typer.echo(f"{release.name}: {error}", err=True)
                progress("", len(chosen))
                continue
            for item in chosen:
                label = f"{release.name}:{variant}  {item.name}"
                progress(label, 0)
                certificate = certify(
                    workshop, environment, release, item, device=device, variant=variant,
                    setting=setting, gpus=gpus, again=again, build=packages,
                )  # fmt: skip
                done.append(certificate.to_json())
                if not json:
                    typer.echo(f"{label}: {_verdict(certificate)}")
                progress(label, 1)
    if record:  # into the release files; said, to be sent in, in any case
        for line in verified.record(done, device, packages, partial, gpus or ("all",)):
            typer.echo(line, err=True)
    if json:
        print_json(done)
    # native proves nothing: what differs there is the answer, not a failure
    answered = all(entry["passed"] or (setting == "native" and entry["checks"]) for entry in done)
    raise typer.Exit(0 if answered else 1)


def _device_and_packages(device: str, build: str | None, gpu: str | None) -> tuple[str, str]:
    """The device to prove on, and the device whose packages are proven."""
    from dlbench.errors import UserError, check_known
    from dlbench.planning.plan import DEVICES

    if gpu in ("none", "each"):
        raise UserError(
            f"`dlbench verify` takes no `--gpu {gpu}`.",
            "Leave it out to prove on the CPU."
            if gpu == "none"
            else "Prove on one GPU after the other: `--gpu 0`, then `--gpu 1`.",
        )
    if gpu is not None:
        device = "gpu"
    packages = build or device
    for word in (device, packages):
        check_known("device", word, DEVICES)
    if (packages, device) == ("cpu", "gpu"):
        raise UserError("CPU packages can't be proven on a GPU.", "Leave out --build.")
    return device, packages


def _contenders(
    names: Sequence[str], packages: str, *, every_variant: bool
) -> list[tuple[Release, str]]:
    """The named ones, or all that have such packages; what is recorded of a release is recorded of
    `every_variant` of it."""
    from dlbench.environments.releases import load_releases
    from dlbench.planning.plan import find_contender

    contenders = [find_contender(name) for name in names]
    if names and not every_variant:
        return contenders
    named = {release.name: release for release, _ in contenders}
    chosen = named.values() if names else [r for r in load_releases() if packages in r.devices]
    return [(release, variant) for release in chosen for variant in release.variants]


def _announce(names: list[str], packages: str, workshop: Workshop) -> None:
    """Say what several environments take before they are made; refuse what the disk can't hold."""
    from dlbench import paths
    from dlbench.errors import UserError
    from dlbench.planning.estimate import environments_to_make

    pairs = [(name, packages) for name in names]
    needs, download, disk = environments_to_make(pairs, workshop)
    if len(needs) < 2:
        return
    free = paths.free_bytes()
    takes = f"{download / 1e9:.1f} GB to download, about {disk / 1e9:.0f} GB of disk"
    if disk > free:
        raise UserError(
            f"{len(needs)} environments must be made first: {takes}; {free / 1e9:.0f} GB are free.",
            "Name some releases at a time, and `dlbench images prune --all` after each; or set"
            " DLBENCH_CACHE to another disk.",
        )
    typer.echo(f"{len(needs)} environments must be made first: {takes}.", err=True)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str, int], None]]:
    """What is under way, how much is done and how long the rest will take: on a terminal."""
    import sys

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
        redirect_stdout=sys.stdout.isatty(),  # what goes to a file stays out of this
    ) as bar:
        task = bar.add_task("", total=total)
        yield lambda text, ended: bar.update(task, description=text, advance=ended)


def _verdict(certificate: Certificate) -> str:
    count = len(certificate.checks)
    if certificate.passed:
        return f"proven equal ({count} checks)"
    if certificate.setting == "native" and certificate.faults:
        lines = "\n  ".join(certificate.faults)
        return f"{len(certificate.faults)} of {count} checks differ under native\n  {lines}"
    return f"{certificate.first_fault} ({count} checks)"
