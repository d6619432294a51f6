"""`dlbench export`: the tables as files that other programs read, without what must not leave."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from dlbench.analysis.columns import TABLES
from dlbench.errors import UserError, unknown
from dlbench.sharing.scrub import Scrubber

if TYPE_CHECKING:
    from dlbench.analysis.results import Results

FORMATS = ("csv", "parquet", "json", "mlflow", "archive")
_FORMULA = r"^[=+\-@\t\r]"
"""How a cell begins that a spreadsheet would compute."""


@dataclass(frozen=True)
class Exported:
    """What was written."""

    path: Path
    files: tuple[str, ...]
    rows: dict[str, int]


def export(paths: Sequence[Path], form: str, out: Path) -> Exported:
    """Write campaigns in another format: a folder of tables, or one archive."""
    if form not in FORMATS:
        raise unknown("format", form, FORMATS)
    if form == "archive":
        return _archive(paths, out)
    from dlbench.analysis.results import open_results

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is not empty.", "Choose another place with -o.")
    results = open_results(*paths)
    making = out.with_name(f".{out.name}.new")
    shutil.rmtree(making, ignore_errors=True)
    try:
        if form == "mlflow":
            from dlbench.sharing.mlflow import write_mlflow

            trials = scrubbed(results.trials(), Scrubber())
            rows = {"trials": write_mlflow(trials, results.curves(), making)}
            files: tuple[str, ...] = ()
        else:
            making.mkdir(parents=True)
            rows = _tables(results, form, making)
            files = tuple(sorted(path.name for path in making.iterdir()))
        if out.exists():
            out.rmdir()
        making.replace(out)
    except OSError as error:
        raise UserError(
            f"{out} can't be written ({error.strerror or error}).", "Choose another place with -o."
        ) from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return Exported(out, files, rows)


def _archive(paths: Sequence[Path], out: Path) -> Exported:
    from dlbench.sharing.archive import SUFFIX, campaign_folder, write_archive

    if len(paths) != 1:
        raise UserError(
            "An archive holds one campaign.", "Merge them first: `dlbench merge A B -o C`."
        )
    path = out if out.suffix else out.with_name(out.name + SUFFIX)
    return Exported(path, (path.name,), {"files": write_archive(campaign_folder(paths[0]), path)})


def _tables(results: Results, form: str, folder: Path) -> dict[str, int]:
    """Each table by itself: the long ones need not be in memory together."""
    scrubber = Scrubber()
    rows = {}
    for name in TABLES:
        frame = scrubbed(getattr(results, name)(), scrubber)
        rows[name] = frame.height
        path = folder / f"{name}.{form}"
        if form == "parquet":
            frame.write_parquet(path)
        elif form == "csv":
            _harmless(frame).write_csv(path)
        else:
            frame.write_json(path)
    meanings = {
        name: {column.name: column.meaning for column in columns}
        for name, columns in TABLES.items()
    }
    (folder / "columns.json").write_text(json.dumps(meanings, indent=1))
    return rows


def scrubbed(frame: pl.DataFrame, scrubber: Scrubber) -> pl.DataFrame:
    """The table without secrets and home paths. Distinct values only: ids come a million times."""
    columns = []
    for name, kind in frame.schema.items():
        if kind != pl.String or name == "id":
            continue
        values = frame[name].unique().drop_nulls().to_list()
        changed = {v: clean for v in values if (clean := scrubber.text(v)) != v}
        if changed:
            columns.append(pl.col(name).replace(changed))
    return frame.with_columns(columns) if columns else frame


def _harmless(frame: pl.DataFrame) -> pl.DataFrame:
    """Text that a spreadsheet would take for a formula gets a quote before it."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    return frame.with_columns(
        pl.when(pl.col(name).str.contains(_FORMULA))
        .then(pl.concat_str(pl.lit("'"), pl.col(name)))
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    )
