"""`dlbench data list|fetch|verify`."""

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
                megabytes(sum(item.bytes for item in d.downloads)),
                "yes" if store.is_prepared(d, "real") else "no",
                d.origin,
                d.licence,
                d.title,
            ]
            for d in datasets().values()
        ],
    )


@app.command("fetch")
def fetch(
    names: Annotated[list[str], typer.Argument(help="Data sets.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="A folder that holds the official files.")
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
        done.append({"name": prepared.name, "digest": prepared.digest, "bytes": prepared.bytes})
        say(f"{prepared.name}: ready, {megabytes(prepared.bytes)}, digest {prepared.digest[:12]}")
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
            problem = ""
            try:
                store.verify(dataset, source)
            except UserError as error:
                problem = str(error)
            rows.append(
                {
                    "name": dataset.name,
                    "source": source,
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
