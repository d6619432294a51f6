"""`dlbench export`: the tables as files that other programs read, without what must not leave."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dlbench.analysis.circumstances import NOTES, with_notes
from dlbench.analysis.columns import TABLES
from dlbench.analysis.results import Results, open_results
from dlbench.campaigns.archive_file import SUFFIX
from dlbench.errors import UserError, check_known
from dlbench.sharing.archive import write_archive
from dlbench.sharing.scrub import Scrubber
from dlbench.whole_files import whole_folder

FORMATS = ("csv", "parquet", "json", "mlflow", "archive")
_FORMULA = "^[=+\\-@\t\r\n＝＋－＠]"
"""How a cell or a heading begins that a spreadsheet would compute."""


@dataclass(frozen=True)
class ExportSummary:
    path: Path
    files: tuple[str, ...]
    rows: dict[str, int]


def export(paths: Sequence[Path], form: str, out: Path) -> ExportSummary:
    """Write campaigns in another format: a folder of tables, or one archive."""
    check_known("format", form, FORMATS)
    if form == "archive":
        return _archive(paths, out)
    results = open_results(*paths)
    with whole_folder(out) as making:
        if form == "mlflow":
            from dlbench.sharing.mlflow import write_mlflow

            trials = scrubbed(with_notes(results.trials()), Scrubber())
            rows = {"trials": write_mlflow(trials, results.curves(), making)}
            files: tuple[str, ...] = ()
        else:
            rows = _tables(results, form, making)
            files = tuple(sorted(path.name for path in making.iterdir()))
    return ExportSummary(out, files, rows)


def _archive(paths: Sequence[Path], out: Path) -> ExportSummary:
    if len(paths) != 1:
        raise UserError(
            "An archive holds one campaign.", "Merge them first: `dlbench merge A B -o C`."
        )
    path = out if out.suffix else out.with_name(out.name + SUFFIX)
    return ExportSummary(path, (path.name,), {"files": write_archive(paths[0], path)})


def _tables(results: Results, form: str, folder: Path) -> dict[str, int]:
    """Each table by itself: the long ones need not be in memory together."""
    scrubber = Scrubber()
    rows = {}
    for name in TABLES:
        table = getattr(results, name)()
        frame = scrubbed(with_notes(table) if name == "trials" else table, scrubber)
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
    meanings["trials"]["notes"] = NOTES
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
    """Text that a spreadsheet would take for a formula gets a quote before it, headings too."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    return frame.with_columns(
        pl.when(pl.col(name).str.contains(_FORMULA))
        .then(pl.concat_str(pl.lit("'"), pl.col(name)))
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    ).rename(lambda name: f"'{name}" if re.match(_FORMULA, name) else name)
