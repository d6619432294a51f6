"""`dlbench data list|fetch|verify|path`."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from dlbench.cli.console import Json, megabytes, print_json, print_rows, say

if TYPE_CHECKING:
    from dlbench.datasets import Dataset

app = typer.Typer(help="Data sets: fetch, convert, check.", no_args_is_help=True,
                  rich_markup_mode=None)  # fmt: skip


@app.command("list")
def list_data(json: Json = False) -> None:
    """The data sets and whether they are here.

    \b
    dlbench data list
    dlbench list datasets
    """
    from dlbench.datasets import datasets, store

    here = {name: store.what_is_here(d) for name, d in datasets().items()}
    size = {d.name: sum(item.bytes for item in d.downloads) for d in datasets().values()}
    rows = [
        {
            "name": d.name,
            "title": d.title,
            "licence": d.licence,
            "rows": d.rows,
            "download_bytes": size[d.name],
            "files": [item.name for item in d.downloads],
            "other_forms": [form.title for form in d.packagings],
            "notes": d.notes,
            "here": here[d.name].word,
            "rows_here": here[d.name].rows,
            "repeated": here[d.name].repeated,
            "checked": here[d.name].checked,
            "ready": store.is_prepared(d, "real"),
            "synthetic_ready": store.is_prepared(d, "synthetic"),
            "origin": d.origin,
        }
        for d in datasets().values()
    ]
    if json:
        print_json(rows)
        return
    print_rows(
        datasets().values(),
        {
            "data set": lambda d: d.name,
            ">train": lambda d: f"{d.rows[0]:,}",
            ">test": lambda d: f"{d.rows[1]:,}",
            ">download": lambda d: megabytes(size[d.name] or None),
            "here": lambda d: here[d.name].word,
            "origin": lambda d: d.origin,
            "licence": lambda d: d.licence,
            "title": lambda d: d.title,
        },
    )
    for d in datasets().values():
        if d.notes:
            say(f"{d.name}: {d.notes}.")
        if here[d.name].word == "sample":
            say(f"{d.name}: {_counted(d, here[d.name].rows, sample=True)}.")
        if here[d.name].repeated:
            say(f"{d.name}: {_repeated(here[d.name].repeated)}.")
        if not here[d.name].checked:
            say(f"{d.name}: {_UNCHECKED}.")


def _counted(dataset: Dataset, rows: tuple[int, int] | None, *, sample: bool) -> str:
    """How many rows are here, and that they are not the official ones where they are not."""
    if rows is None:
        return "nothing is here"
    counted = f"{rows[0]:,} training and {rows[1]:,} test rows"
    if not sample:
        return counted
    official = f"{dataset.rows[0]:,} and {dataset.rows[1]:,}"
    fewer = rows <= dataset.rows and rows[1] <= dataset.rows[1]
    what = "a sample of" if fewer else "another edition, taken for a sample:"
    return f"{what} {counted}; the official data have {official}"


_UNCHECKED = (
    "as many rows as the official data, but no checksum is known to compare these files with;"
    " the digest says which they were"
)


def _repeated(count: int) -> str:
    return (
        f"{count:,} test {'rows are training rows' if count > 1 else 'row is a training row'}, too"
    )


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

    def tell(text: str) -> None:
        if not json:
            say(text)

    done = []
    for dataset in [find(name) for name in names]:
        if source:
            prepared = store.prepare_from(dataset, source, tell)
        else:
            prepared = store.prepare(dataset, "real", tell, again=again)
        keys = ("name", "source", "digest", "bytes", "repeated", "checked")
        done.append({key: getattr(prepared, key) for key in keys})
        tell(f"{prepared.name}: ready, {megabytes(prepared.bytes)}, digest {prepared.digest[:12]}")
        if prepared.repeated:
            tell(f"{prepared.name}: {_repeated(prepared.repeated)}")
        if not prepared.checked:
            tell(f"{prepared.name}: {_UNCHECKED}")
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
    from dlbench.datasets import Source, datasets, find, store
    from dlbench.errors import UserError

    chosen = [find(name) for name in names] if names else list(datasets().values())
    rows: list[dict[str, Any]] = []
    for dataset, source in product(chosen, get_args(Source)):
        row = {"name": dataset.name, "source": source, "whole": False,
               "problem": "It is not here.", "holds": "", "repeated": 0,
               "checked": True}  # fmt: skip
        if store.is_prepared(dataset, source):
            try:
                data = store.verify(dataset, source)
            except UserError as error:
                row["problem"] = str(error)
            else:
                own = data.rows["train"], data.rows["test"]
                words = _counted(dataset, own, sample=data.source == "sample")
                words += f"; {_repeated(data.repeated)}" if data.repeated else ""
                words += "" if data.checked else f"; {_UNCHECKED}"
                row |= {"whole": True, "problem": "", "holds": words}
                row |= {"repeated": data.repeated, "checked": data.checked}
                row["source"] = data.source  # real rows may be a sample
        elif not names or source == "synthetic":
            continue
        rows.append(row)
    if json:
        print_json(rows)
    else:
        for row in rows:
            fine = f"unchanged since it was made: {row['holds']}"
            say(f"{row['name']} ({row['source']}): {row['problem'] or fine}")
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
