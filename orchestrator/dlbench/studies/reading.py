"""Reads the studies, strictly: an error names the file, the line and what is expected there."""

from __future__ import annotations

import csv
import fnmatch
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.errors import UserError, unknown
from dlbench.studies.claims import (
    ALL,
    DEVICES,
    EACH_OTHER,
    OTHERS,
    OVER,
    RELATIONS,
    Claim,
    Published,
    Study,
    StudyConfound,
    StudyFramework,
    StudyWorkload,
    Type,
)
from dlbench.studies.quantities import QUANTITIES
from dlbench.toml_file import Table

if TYPE_CHECKING:
    from dlbench.analysis.results import Results

FOLDER = Path(__file__).resolve().parent
_COLUMNS = (
    "id", "place", "type", "device", "workloads", "metric", "first", "relation", "second", "over",
    "smallest", "significant", "values", "differs", "needs", "said",
)  # fmt: skip
_KEYS = ("device", "workload", "framework", "n", "note")
"""Columns of a table that say what its figures are of."""
_LABELS = ("seeds", "table", "adam_epsilon", "batch", "lr", "epochs")
"""Columns that tell rows apart which the keys do not."""
_BY_TYPE = {
    Type.DIRECTION: ("greater", "less", "differs", "differs-somewhere", "overtaken"),
    Type.RANKING: ("greatest", "least", "second-least", "nowhere-greatest"),
    Type.NO_DIFFERENCE: ("equal", "unchanged"),
    Type.MAGNITUDE: ("is",),
    Type.ASSOCIATION: ("does-not-imply", "unrelated", "proportional", "near", "differs"),
}
_SAID = {"yes": True, "no": False, "": None}


def names() -> list[str]:
    return sorted(path.parent.name for path in FOLDER.glob("*/study.toml"))


def find(name: str) -> Study:
    """A study by its name."""
    if name not in names():
        raise unknown("study", name, names(), "dlbench claims")
    return read_study(FOLDER / name)


def studies() -> tuple[Study, ...]:
    return tuple(find(name) for name in names())


def study_of(results: Results, name: str | None) -> Study | None:
    """The study of this name; without one, that of the campaign's suite, if it is of a study."""
    if name is not None:
        return find(name)
    suites = {source.about.suite for source in results.sources}
    found = [name for name in names() if suites == {name}]
    return find(found[0]) if found else None


def of_campaign(results: Results, name: str | None) -> Study:
    """As `study_of`; a campaign of none is an error."""
    study = study_of(results, name)
    if study is None:
        suites = sorted({source.about.suite for source in results.sources})
        raise UserError(
            f"The campaign's suite ({', '.join(map(repr, suites))}) is not a study.",
            f"Say whose claims are asked about: --study {'|'.join(names())}.",
        )
    return study


@lru_cache(maxsize=16)
def read_study(folder: Path) -> Study:
    """All files of a study's folder."""
    table = Table.read(folder / "study.toml")
    table.check_keys(
        {"title", "where", "machine", "design", "runs", "frameworks", "workloads"},
        {"notes", "paired"},
    )
    frameworks = {name: _framework(name, each) for name, each in _tables(table, "frameworks")}
    workloads = {name: _workload(name, each) for name, each in _tables(table, "workloads")}
    figures = [
        figure
        for path in sorted(folder.glob("*.csv"))
        if path.name not in ("claims.csv", "confounds.csv")
        for figure in _figures(path, frameworks, workloads)
    ]
    return Study(
        name=folder.name,
        **{key: table.get(key, str) for key in ("title", "where", "machine", "design")},
        runs=table.count("runs"),
        paired=table.maybe("paired", bool) is not False,
        notes=table.strings("notes", ()),
        frameworks=frameworks,
        workloads=workloads,
        figures=tuple(figures),
        claims=tuple(_claims(folder / "claims.csv", folder.name, frameworks, workloads)),
        confounds=tuple(_confounds(folder / "confounds.csv", frameworks, workloads)),
    )


_CONFOUND = re.compile(r"[a-z0-9-]+(:[a-z_]+=[^\s,+=]+(,[a-z_]+=[^\s,+=]+)*)?")
_CONFOUND_COLUMNS = ("framework", "workloads", "confound", "put_back", "place", "said", "note")


def _confounds(
    path: Path, frameworks: Mapping[str, StudyFramework], workloads: Mapping[str, StudyWorkload]
) -> Iterator[StudyConfound]:
    """What differed in the study's code; a study of which nothing is known has no such file."""
    if not path.exists():
        return
    for line in _lines(path, _CONFOUND_COLUMNS):
        names = line.items("framework")
        if not names or set(names) - {*frameworks, ALL}:
            raise line.wrong("framework", "one or more of study.toml, or all,")
        if line["confound"] and not _CONFOUND.fullmatch(line["confound"]):
            raise line.wrong("confound", "one such as no-dropout or batchnorm-keep:keep=0.95")
        put_back = _SAID[line.one_of("put_back", ("yes", "no"))] is True
        if put_back and not line["confound"]:
            raise line.wrong("confound", "the name of what is put back")
        for column in ("place", "said"):
            if not line[column]:
                raise line.wrong(column, "a text")
        yield StudyConfound(
            tuple(frameworks) if ALL in names else names,
            _matching(line, workloads),
            line["confound"],
            put_back,
            line["place"],
            line["said"],
            line["note"],
        )


def _tables(table: Table, key: str) -> Iterator[tuple[str, Table]]:
    every = table.table(key)
    for name in every.values:
        yield name, every.table(name)


def _framework(name: str, table: Table) -> StudyFramework:
    table.check_keys({"version", "release"}, {"variant", "stand_in", "saves_state"})
    release = table.get("release", str)
    if release.count("@") != 1:
        raise table.error("release", "must be one such as pytorch@1.0.0")
    return StudyFramework(
        name,
        table.get("version", str),
        release,
        table.maybe("variant", str),
        table.maybe("stand_in", str) or "",
        table.maybe("saves_state", bool) or False,
    )


def _workload(name: str, table: Table) -> StudyWorkload:
    table.check_keys({"data"}, {"epochs", "rows", "accuracy", "swept"})
    epochs, rows = (table.count(key) if key in table.values else None for key in ("epochs", "rows"))
    accuracy = table.maybe("accuracy", str) or "accuracy"
    swept = table.strings("swept", ())
    return StudyWorkload(name, table.get("data", str), epochs, rows, accuracy, swept)


class _Line:
    """One line of a CSV file, with an error that says where it is."""

    def __init__(self, path: Path, number: int, cells: Mapping[str, str]) -> None:
        self.path, self.at, self.cells = path, number, cells

    def __getitem__(self, column: str) -> str:
        return self.cells[column]

    def wrong(self, column: str, expected: str) -> UserError:
        return UserError(
            f"{self.path}, line {self.at}: `{column}` is {self.cells[column]!r}; {expected}"
            " is expected.",
            "Correct or restore the file.",
        )

    def one_of(self, column: str, known: Iterable[str]) -> str:
        if self.cells[column] not in known:
            raise self.wrong(column, f"one of {', '.join(map(repr, known))}")
        return self.cells[column]

    def number(self, column: str, text: str | None = None) -> float:
        try:
            value = float(self.cells[column] if text is None else text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.wrong(column, "a number")
        return value

    def items(self, column: str) -> tuple[str, ...]:
        return tuple(part for part in self.cells[column].split("|") if part)


def _lines(path: Path, columns: Sequence[str] = ()) -> Iterator[_Line]:
    """`columns`: the headings that the file must have; none: any."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} can't be read: {error}.", "Restore the file.") from error
    header = rows[0] if rows else []
    if len(set(header)) != len(header) or not header:
        raise UserError(f"{path} has no headings, or one twice.", "Restore the file.")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            raise UserError(
                f"{path}, line {number}: {len(row)} cells; {len(header)} are expected.",
                "Correct or restore the file.",
            )
        if columns and header != list(columns):
            raise UserError(f"{path} has other headings than {', '.join(columns)}.")
        yield _Line(path, number, dict(zip(header, row, strict=True)))


def _figures(
    path: Path, frameworks: Mapping[str, StudyFramework], workloads: Mapping[str, StudyWorkload]
) -> Iterator[Published]:
    for line in _lines(path):
        quantities = [c for c in line.cells if c not in (*_KEYS, *_LABELS)]
        for column in ("device", "workload"):
            if column not in line.cells:
                raise UserError(f"{path} has no column `{column}`.", "Restore the file.")
        device = line.one_of("device", DEVICES)
        workload = line["workload"]
        if not fnmatch.filter(workloads, workload):
            raise line.wrong("workload", "a workload of study.toml, or a pattern of several")
        framework = line.cells.get("framework", "")
        if framework and framework not in frameworks:
            raise line.wrong("framework", "one of study.toml")
        runs = int(line.number("n")) if line.cells.get("n") else None
        for column in quantities:
            if column.endswith("_sd") or not line[column]:
                continue
            sd = f"{column}_sd"
            yield Published(
                table=path.stem,
                device=device,
                workload=workload,
                framework=framework,
                quantity=column,
                value=line.number(column),
                sd=line.number(sd) if line.cells.get(sd) else None,
                n=runs,
                labels={key: line[key] for key in _LABELS if line.cells.get(key)},
                note=line.cells.get("note", ""),
            )


def _claims(
    path: Path,
    study: str,
    frameworks: Mapping[str, StudyFramework],
    workloads: Mapping[str, StudyWorkload],
) -> Iterator[Claim]:
    seen: set[str] = set()
    for line in _lines(path, _COLUMNS):
        if line["id"] in seen or not line["id"].startswith(f"{study}-"):
            raise line.wrong("id", f"one that begins with {study}- and comes once")
        seen.add(line["id"])
        kind = Type(line.one_of("type", [each.value for each in Type]))
        relation = line.one_of("relation", _BY_TYPE[kind])
        needs = line["needs"]
        quantity = QUANTITIES.get(line["metric"])
        if quantity is None:
            raise line.wrong("metric", f"one of {', '.join(QUANTITIES)}")
        first, second = line.items("first"), line.items("second")
        if not needs and relation in _OF_FRAMEWORKS:
            known = {*frameworks, "cpu", "gpu", ALL, OTHERS, EACH_OTHER}
            for column, these in (("first", first), ("second", second)):
                if {one.partition("@")[0] for one in these} - known:
                    raise line.wrong(column, "a list of frameworks of study.toml")
        smallest = line.number("smallest") if line["smallest"] else None
        if smallest is not None and (
            smallest <= 0 or (quantity.kind.scale == "ratio" and smallest < 1)
        ):
            raise line.wrong("smallest", "a factor above 1 or a difference above 0")
        yield Claim(
            id=line["id"],
            study=study,
            place=line["place"],
            type=kind,
            device=line.one_of("device", DEVICES),
            workloads=_matching(line, workloads),
            metric=line["metric"],
            first=first,
            relation=relation,
            second=second,
            over=line.one_of("over", OVER),
            smallest=smallest,
            significant=_SAID[line.one_of("significant", _SAID)],
            values=dict(_values(line)),
            differs=line["differs"],
            needs=needs,
            said=line["said"],
        )


_OF_FRAMEWORKS = frozenset(RELATIONS) - {
    "does-not-imply", "unrelated", "proportional", "near", "unchanged",
}  # fmt: skip
"""Relations between frameworks or devices; the others are between quantities."""


def _matching(line: _Line, workloads: Mapping[str, StudyWorkload]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for pattern in line.items("workloads"):
        these = fnmatch.filter(workloads, pattern)
        if not these:
            raise line.wrong("workloads", "a list of workloads of study.toml")
        found |= dict.fromkeys(these)
    if not found:
        raise line.wrong("workloads", "at least one workload")
    return tuple(found)


def _values(line: _Line) -> Iterator[tuple[tuple[str, str], float]]:
    """`keras=0.538;mnist-cnn/chainer=0.964`."""
    for part in filter(None, line["values"].split(";")):
        where, equals, value = part.partition("=")
        workload, _, name = where.rpartition("/")
        if not equals or not name:
            raise line.wrong("values", "a list such as keras=0.538;chainer=0.283")
        yield (workload, name), line.number("values", value)
