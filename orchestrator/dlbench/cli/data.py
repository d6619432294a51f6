"""`dlbench data list|fetch|verify|path`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.console import Json, megabytes, print_json, print_table

app = typer.Typer(help="Data sets: fetch, convert, check.", no_args_is_help=True,
                  rich_markup_mode=None)  # fmt: skip


@app.command("list")
def list_data(json: Json = False) -> None:
    """The data sets and whether they are here.

    \b
    dlbench data list
    """
    from dlbench.datasets import datasets, store

    rows = [
        {
            "name": d.name,
            "title": d.title,
            "licence": d.licence,
            "rows": d.rows,
            "download_bytes": sum(item.bytes for item in d.downloads),
            "files": [item.name for item in d.downloads],
            "other_forms": [form.title for form in d.packagings],
            "notes": d.notes,
            "here": store.what_is_here(d),
            "ready": store.is_prepared(d, "real"),
            "synthetic_ready": store.is_prepared(d, "synthetic"),
            "origin": d.origin,
        }
        for d in datasets().values()
    ]
    if json:
        print_json(rows)
        return
    print_table(
        ["data set", ">train", ">test", ">download", "here", "origin", "licence", "title"],
        [
            [
                d.name,
                f"{d.rows[0]:,}",
                f"{d.rows[1]:,}",
                megabytes(sum(item.bytes for item in d.downloads) or None),
                store.what_is_here(d),
                d.origin,
                d.licence,
                d.title,
            ]
            for d in datasets().values()
        ],
    )
    for d in datasets().values():
        if d.notes:
            typer.echo(f"{d.name}: {d.notes}.")


@app.command("fetch")
def fetch(
    names: Annotated[list[str], typer.Argument(help="Data sets.")],
    source: Annotated[
        Path | None,
        typer.Option("--from", help="A folder that holds the files, official or in another form."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Make it anew.")] = False,
    json: Json = False,
) -> None:
    """Fetch data sets, check them, convert them to plain arrays.

    \b
    dlbench data fetch mnist
    dlbench data fetch mnist --from ~/Downloads
    """
    from dlbench.datasets import find, store

    def say(text: str) -> None:
        if not json:
            typer.echo(text)

    done = []
    for dataset in [find(name) for name in names]:
        if source:
            prepared = store.prepare_from(dataset, source, say)
        else:
            prepared = store.prepare(dataset, "real", say, again=again)
        done.append(
            {
                "name": prepared.name,
                "source": prepared.source,
                "digest": prepared.digest,
                "bytes": prepared.bytes,
                "repeated": prepared.repeated,
            }
        )
        say(f"{prepared.name}: ready, {megabytes(prepared.bytes)}, digest {prepared.digest[:12]}")
        if prepared.repeated:
            say(f"{prepared.name}: {prepared.repeated:,} test rows are training rows, too")
    if json:
        print_json(done)


@app.command("verify")
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Data sets; none: all here.")] = None,
    json: Json = False,
) -> None:
    """Compare the data sets that are here with their manifests.

    \b
    dlbench data verify
    """
    from dlbench.datasets import datasets, find, store
    from dlbench.errors import UserError

    chosen = [find(name) for name in names] if names else list(datasets().values())
    rows = []
    for dataset in chosen:
        for source in ("real", "synthetic"):
            if not store.is_prepared(dataset, source):
                if names and source == "real":
                    rows.append({"name": dataset.name, "source": source, "whole": False,
                                 "problem": "It is not here."})  # fmt: skip
                continue
            problem, found = "", str(source)
            try:
                found = store.verify(dataset, source).source  # real rows may be a sample
            except UserError as error:
                problem = str(error)
            rows.append(
                {
                    "name": dataset.name,
                    "source": found,
                    "whole": not problem,
                    "problem": problem,
                }
            )
    if json:
        print_json(rows)
    else:
        for row in rows:
            typer.echo(f"{row['name']} ({row['source']}): {row['problem'] or 'whole'}")
    raise typer.Exit(0 if all(row["whole"] for row in rows) else 1)


@app.command("path")
def path(
    name: Annotated[str, typer.Argument(help="A data set.")],
    synthetic: Annotated[bool, typer.Option("--synthetic", help="Its synthetic twin.")] = False,
    json: Json = False,
) -> None:
    """The folder that holds a data set as plain arrays.

    \b
    dlbench data path mnist
    """
    from dlbench.datasets import Source, find, store
    from dlbench.errors import UserError

    source: Source = "synthetic" if synthetic else "real"
    dataset = find(name)
    if not store.is_prepared(dataset, source):
        raise UserError(
            f"Data set {name} ({source}) is not here.",
            "`--data synthetic` makes it when it is needed."
            if synthetic
            else f"`dlbench data fetch {name}` gets it.",
        )
    folder = store.folder_of(dataset, source)
    if json:
        print_json({"name": name, "source": source, "folder": str(folder)})
    else:
        typer.echo(folder)
