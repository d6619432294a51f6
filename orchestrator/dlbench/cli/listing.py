"""`dlbench list releases|workloads|datasets|suites|confounds|adapters|metrics|devices`."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlbench.cli.console import Json, print_json, print_rows, say
from dlbench.cli.data import list_data

if TYPE_CHECKING:
    from dlbench.analysis.metrics import Metric

app = typer.Typer(help="Show what dlbench knows.", no_args_is_help=True, rich_markup_mode=None)


@app.command("releases")
def list_releases(
    verified: Annotated[
        bool, typer.Option("--verified", help="What was seen to run on what, as a Markdown page.")
    ] = False,
    json: Json = False,
) -> None:
    """The framework releases and what each runs on.

    \b
    dlbench list releases
    """
    from dlbench.environments.releases import load_releases
    from dlbench.host.verified import page

    if verified:
        typer.echo(page(), nl=False)
        return

    releases = load_releases()
    if json:
        keys = ("adapter", "devices", "variants", "verified", "no_gpu", "published", "origin")
        print_json(
            [
                {"framework": r.framework, "version": r.version, "python": r.python[0],
                 "pythons": r.python, **{key: getattr(r, key) for key in keys}}
                for r in releases
            ]
        )  # fmt: skip
        return
    print_rows(
        releases,
        {
            "release": lambda r: r.name,
            "published": lambda r: r.published,
            "python": lambda r: r.python,
            "devices": lambda r: r.devices,
            "variants": lambda r: r.variants,
            "origin": lambda r: r.origin,
        },
        droppable=("origin",),
    )


@app.command("workloads")
def list_workloads(json: Json = False) -> None:
    """The workloads: task, data, size of the model, recipe.

    \b
    dlbench list workloads --json
    """
    from dlbench.cli.workload_table import recipe_words, short_count, summary
    from dlbench.planning.flops import flops
    from dlbench.workloads import workloads

    known = workloads().values()
    if json:
        print_json([summary(workload) for workload in known])
        return
    print_rows(
        known,
        {
            "workload": lambda w: w.name,
            "task": lambda w: w.task,
            "data": lambda w: w.dataset,
            ">parameters": lambda w: f"{w.parameters:,}",
            ">FLOPs": lambda w: short_count(flops(w.graph)),
            "recipe": recipe_words,
            "origin": lambda w: w.origin,
        },
        droppable=("origin",),
    )
    typer.echo("`dlbench show workload NAME` has the layers. FLOPs: one row's forward pass.")


app.command("datasets")(list_data)  # as `dlbench data list`


@app.command("suites")
def list_suites(json: Json = False) -> None:
    """The suites: what each compares, and the scales it has.

    \b
    dlbench list suites
    dlbench run --suite sohail2022 --scale smoke
    """
    from dataclasses import asdict

    from dlbench.cli.suite_table import SIZES
    from dlbench.suites import suites

    known = suites().values()
    if json:
        print_json([asdict(suite) for suite in known])
        return
    print_rows(
        known,
        {
            "suite": lambda s: s.name,
            **SIZES,
            "scales": lambda s: list(s.scales),
            "origin": lambda s: s.origin,
            "about": lambda s: s.about,
        },
        droppable=("origin", "scales"),
    )
    typer.echo("`dlbench show suite NAME` has the study, the scales and the notes.")


@app.command("confounds")
def list_confounds(json: Json = False) -> None:
    """What differed in published studies' code, to be put back.

    \b
    dlbench list confounds
    """
    from dlbench.cli import confounds_table

    confounds_table.list_confounds(as_json=json)


@app.command("adapters")
def list_adapters(json: Json = False) -> None:
    """The adapters: the code that trains in each framework.

    \b
    dlbench list adapters
    """
    from dlbench.environments.releases import load_releases
    from dlbench.extensions import adapters

    users: dict[str, list[str]] = {}
    for release in load_releases():
        users.setdefault(release.adapter, []).append(release.name)
    rows = [
        {"name": a.name, "origin": a.origin, "releases": users.get(a.name, [])}
        for a in adapters().values()
        if a.name in users or a.extension  # the rest of bench/adapters is what these share
    ]
    if json:
        print_json(rows)
        return
    headings = {"adapter": "name", "origin": "origin", "releases": "releases"}
    print_rows(rows, {heading: itemgetter(key) for heading, key in headings.items()})


@app.command("metrics")
def list_metrics(json: Json = False) -> None:
    """The metrics that trials can be compared by.

    \b
    dlbench list metrics
    """
    from dlbench.analysis.columns import METRICS, RESOURCES, TRIALS
    from dlbench.analysis.metrics import KNOWN

    meanings = {column.name: column.meaning for column in (*TRIALS, *METRICS, *RESOURCES)}
    rows = [
        {
            "name": metric.alias or metric.column,
            "column": metric.column,
            "title": metric.title,
            "unit": metric.unit,
            "better": _better(metric),
            "compared_by": metric.kind.scale,
            "meaning": meanings.get(metric.column, ""),
        }
        for metric in KNOWN
    ]
    if json:
        print_json(rows)
        return
    headings = {"metric": "name", **{key: key for key in ("unit", "better", "column", "meaning")}}
    columns = {heading: itemgetter(key) for heading, key in headings.items()}
    print_rows(rows, columns, droppable=("column",))
    typer.echo("Any other numeric column of the trials' table can be compared, too.")


def _better(metric: Metric) -> str:
    if not metric.judged:
        return "neither"
    return "less" if metric.kind.less_is_better else "more"


@app.command("devices")
def list_devices(json: Json = False) -> None:
    """The processors and GPUs of this machine.

    \b
    dlbench list devices
    """
    from dlbench.host.machine import fingerprint
    from dlbench.monitor.gpu import inventory

    machine, gpus = fingerprint(), inventory()
    found: list[tuple[object, ...]] = [
        ("cpu", None, None, machine.cpu_model, machine.cores_usable, machine.memory_bytes)
    ]
    for card in gpus.devices:
        name = f"{card.name}, divided (MIG)" if card.divided else card.name
        found.append(("gpu", card.index, card.uuid, name, None, card.memory_bytes))
        found += [("gpu", None, one.uuid, one.name, None, one.memory_bytes) for one in card.parts]
    keys = ("device", "index", "uuid", "name", "cores", "memory_bytes")
    rows: list[dict[str, Any]] = [dict(zip(keys, one, strict=True)) for one in found]
    if json:
        print_json(rows)
        return
    print_rows(
        rows,
        {
            # As --gpu takes them; a part has no index of its own.
            "device": lambda row: " ".join(
                str(part)
                for part in (row["device"], row["uuid"] if row["index"] is None else row["index"])
                if part is not None
            ),
            "name": itemgetter("name"),
            ">cores": lambda row: f"{row['cores']:g}" if row["cores"] else "-",
            ">memory": lambda row: f"{(row['memory_bytes'] or 0) / 2**30:.1f} GiB",
        },
    )
    if gpus.reason:
        which = "Another GPU can't be used" if gpus.devices else "No GPU"
        say(f"{which}. {gpus.reason}")
