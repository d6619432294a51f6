"""`dlbench images build|list|verify|accept-cuda|prune|base`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlbench.cli.console import Json, megabytes, print_json, print_rows, say
from dlbench.cli.options import Device, Engine, Framework, Releases, named

if TYPE_CHECKING:
    from dlbench.environments.releases import Release

_WHOLE = "as its lock says, each file as its package records it"
_BROUGHT = "its packages were read: every library that they need is brought"
app = typer.Typer(help="Environments: images, and virtual environments without Docker.",
                  no_args_is_help=True, rich_markup_mode=None)  # fmt: skip


def _chosen(names: Sequence[str], device: str | None) -> list[Release]:
    """The releases of these names, variants left out; none named: all that have this device.

    Without a device: all there are."""
    from dlbench.environments.releases import load_releases
    from dlbench.planning.plan import find_contender

    if names:
        chosen = (find_contender(name)[0] for name in names)
        return list({release.name: release for release in chosen}.values())
    return [r for r in load_releases() if device is None or device in r.devices]


@app.command("build")
def build(
    releases: Releases = None,
    framework: Framework = None,
    device: Device = "cpu",
    engine: Engine = "auto",
    brought: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="A folder with NVIDIA's archives that you downloaded.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make the environments of these releases, or of all.

    \b
    dlbench images build pytorch tensorflow@2.21.0
    """
    import time

    from dlbench.cli.live import view
    from dlbench.environments import venvs
    from dlbench.running.workshop import open_workshop

    workshop = open_workshop(engine)
    done = []
    with view(quiet=json) as observer:
        if workshop.note:
            observer.note(workshop.note)
        chosen = _chosen(named(releases, framework), device)
        for release in chosen:
            workshop.check(release, device)
        for release in chosen:
            begun = time.monotonic()
            was_ready = workshop.is_ready(release, device)
            environment = workshop.environment(release, device, observer.preparing, brought)
            took = time.monotonic() - begun
            size: int | None = None
            if workshop.client is not None:
                size = workshop.client.images.get(environment).attrs["Size"]
            elif ready := venvs.ready(release, device):
                size = ready.bytes
            done.append(
                {"release": release.name, "device": device, "engine": workshop.engine.name,
                 "made": not was_ready, "seconds": round(took, 3), "bytes": size}
            )  # fmt: skip
            verb = "was ready" if was_ready else f"made in {took:.1f} s"
            observer.note(f"{release.name} ({device}): {verb}, {megabytes(size)}")
    if json:
        print_json(done)


@app.command("list")
def list_images(json: Json = False) -> None:
    """The images and environments that dlbench has made.

    \b
    dlbench images list
    """
    from dlbench.engines import connect
    from dlbench.environments import images, releases, venvs
    from dlbench.errors import UserError

    known = releases.load_releases()
    rows: list[dict[str, Any]] = [
        {
            "engine": "process", "kind": "release", "name": release.name, "device": device,
            "bytes": ready.bytes, "stale": False,
        }
        for release in known
        for device in release.devices
        if (ready := venvs.ready(release, device))
    ]  # fmt: skip
    problem = ""
    try:
        docker_images = images.list_images(connect.connect(), known)
        rows += [{"engine": "docker", **asdict(image)} for image in docker_images]
    except UserError as error:
        problem = error.problem
    if json:
        print_json(rows)
        return
    print_rows(
        rows,
        {
            **{key: itemgetter(key) for key in ("engine", "kind", "name")},
            "device": lambda row: row["device"] or "-",
            ">size": lambda row: megabytes(row["bytes"]),
            "state": lambda row: "stale" if row["stale"] else "ready",
        },
    )
    if problem:
        typer.echo(f"Docker's images can't be listed: {problem}")


@app.command("verify")
def verify(
    releases: Releases = None,
    framework: Framework = None,
    device: Annotated[
        str | None, typer.Option(metavar="cpu|gpu", help="The device; none: both.")
    ] = None,
    engine: Engine = "auto",
    wheels: Annotated[
        bool,
        typer.Option("--wheels", help="Read the libraries in the wheels, too; downloads them."),
    ] = False,
    json: Json = False,
) -> None:
    """Compare environments with their locks. Say whether the missing ones can be made.

    \b
    dlbench images verify
    dlbench images verify pytorch --device gpu
    """
    from dlbench.environments import images, venvs
    from dlbench.environments.buildable import outlook
    from dlbench.errors import UserError, unknown
    from dlbench.planning.plan import DEVICES
    from dlbench.running.workshop import open_workshop

    if device is not None and device not in DEVICES:
        raise unknown("device", device, DEVICES)
    if wheels and device is None:
        raise UserError(
            "--wheels downloads what is not there.", "Say of which device: --device cpu or gpu."
        )
    workshop = open_workshop(engine)
    if workshop.note and not json:
        say(workshop.note)
    rows: list[dict[str, Any]] = []
    devices = (device,) if device else DEVICES
    for release, device in product(_chosen(named(releases, framework), None), devices):
        told: list[str] | None = None  # read first: it downloads what is then there
        if wheels and device in release.devices:
            told = _library_faults(release, device)
        differences: list[str] = []
        ready = device in release.devices and workshop.is_ready(release, device)
        if ready and workshop.client is not None:
            differences = images.verify(workshop.client, release, device)
        elif ready:
            differences = venvs.differences(release, device)
        state, text, size = "ready", _WHOLE, 0
        if not ready:
            found = outlook(release, device, workshop.client)
            state, text, size = found.state, found.text, found.bytes
        differences += told or []
        text += f"; {_BROUGHT}" if told == [] else ""
        rows.append(
            {
                "release": release.name, "device": device, "state": state, "text": text,
                "bytes": size, "differences": differences,
            }
        )  # fmt: skip
    if json:
        print_json(rows)
    else:
        for row in rows:
            said = "; ".join(row["differences"]) or row["text"]
            say(f"{row['release']} ({row['device']}): {said}", indent=2)
    raise typer.Exit(1 if any(row["differences"] for row in rows) else 0)


def _library_faults(release: Release, device: str) -> list[str]:
    """What the wheels of this release need and nobody brings."""
    from dlbench.cli.live import view
    from dlbench.environments import wheel_libraries, wheels

    with view(quiet=False) as observer:
        fetched = wheels.fetch(release, device, release.python[0], observer.preparing)
    found = wheel_libraries.inspect((wheel.path for wheel in fetched), gpu_code=device == "gpu")
    return wheel_libraries.faults(release, device, found)


@app.command("accept-cuda")
def accept_cuda(
    yes: Annotated[bool, typer.Option("--yes", help="Accept without being asked.")] = False,
) -> None:
    """Accept NVIDIA's terms, once. Old GPU packages need its libraries.

    \b
    dlbench images accept-cuda
    """
    from dlbench.environments import cuda_licence, cuda_sets

    sets = cuda_sets.all_sets().values()
    licences = list(dict.fromkeys(licence for each in sets for licence in each.licences))
    say(cuda_licence.TERMS)
    for licence in licences:
        say(f"- {licence}", indent=2)
    if all(licence in cuda_licence.accepted() for licence in licences):
        typer.echo("You have accepted these already.")
        return
    try:
        agreed = yes or typer.confirm("Do you accept these terms?")
    except typer.Abort:  # nobody is there to answer
        typer.echo()
        agreed = False
    if not agreed:
        say("Nothing was recorded. `dlbench images accept-cuda --yes` accepts without a question.")
        raise typer.Exit(1)
    cuda_licence.accept(licences)
    typer.echo("Recorded.")


@app.command("prune")
def prune(
    everything: Annotated[
        bool, typer.Option("--all", help="Also what is current, not only what is stale.")
    ] = False,
    json: Json = False,
) -> None:
    """Remove what dlbench made and no longer uses, nothing else.

    \b
    dlbench images prune
    """
    from dlbench.engines import connect
    from dlbench.environments import pruning, releases
    from dlbench.errors import UserError

    known = releases.load_releases()
    done = {"process": pruning.prune_environments(known, everything=everything)}
    try:
        client = connect.connect()
        done["docker"] = pruning.prune_images(client, known, everything=everything)
    except UserError as error:
        typer.echo(f"Docker's images stay: {error.problem}", err=True)
    if json:
        print_json({engine: asdict(pruned) for engine, pruned in done.items()})
        return
    for pruned in done.values():
        for name in pruned.removed:
            typer.echo(f"removed {name}")
        for name in pruned.kept:
            typer.echo(f"kept {name}")
    typer.echo(f"{megabytes(sum(pruned.bytes for pruned in done.values()))} freed.")


@app.command("base")
def base(
    wanted: Annotated[
        str,
        typer.Argument(
            metavar="PYTHON|RELEASE",
            help="A Python version such as 3.11; or a release: its Python with its packages.",
        ),
    ],
    package: Annotated[
        list[str] | None, typer.Option(help="A Debian package to add. Repeatable.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a base image where no registry answers.

    It is made of a Debian mirror and a local Python.

    \b
    dlbench images base 3.11
    dlbench images base theano@1.0.5
    """
    import re

    from dlbench.cli.live import view
    from dlbench.engines import connect
    from dlbench.environments import base_images, interpreters
    from dlbench.environments.releases import load_releases
    from dlbench.planning.plan import find_contender

    pythons: tuple[str, ...] = (wanted,)
    packages = tuple(package or ())
    if not re.fullmatch(r"\d+\.\d+", wanted):
        release = find_contender(wanted)[0]
        pythons, packages = release.python, (*release.packages, *packages)
    with view(quiet=json) as observer:
        interpreter = interpreters.find(pythons)
        made = base_images.make(connect.connect(), interpreter, packages, observer.preparing)
    same = [r for r in load_releases() if made.python in r.python]
    served = [r.name for r in same if set(r.packages) == set(packages)]
    if json:
        print_json({**asdict(made), "serves": served})
        return
    say(f"{made.reference}: ready. `dlbench images build` uses it for {', '.join(served) or '-'}.")
    for release in same:
        if release.name not in served:
            needs = ", ".join(release.packages) or "no extra packages"
            say(f"Not for {release.name} ({needs}): dlbench images base {release.name}")
