"""The part of a report that is about a published study: its tables, and the verdict on each claim.

Everything here comes from `dlbench.studies`; each number and verdict leads to its trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dlbench.report.material import Material
from dlbench.statistics.words import listing
from dlbench.studies.claims import Study
from dlbench.studies.judging import JudgedClaim, JudgedStudy, Verdict, Word, judge
from dlbench.studies.runs import As, study_runs
from dlbench.studies.tables import StudyTable, TableCell, figures_words, study_tables
from dlbench.studies.to_install import installation_table

_STATES = {Word.SUPPORTED: "good", Word.CONTRADICTED: "bad", Word.CANNOT_TELL: ""}


@dataclass(frozen=True)
class CellLink:
    cell: TableCell
    group: int | None
    """The record that it leads to; None: nothing was measured."""


@dataclass(frozen=True)
class VerdictLinks:
    label: str
    """`as intended`."""
    verdict: Verdict | None
    state: str
    links: tuple[tuple[int, str], ...]
    """Records of the trials behind it, with the contender's and the workload's name."""

    @property
    def words(self) -> str:
        return self.verdict.words if self.verdict is not None else "not run"


@dataclass(frozen=True)
class ClaimLinks:
    judged: JudgedClaim
    verdicts: tuple[VerdictLinks, ...]

    @property
    def was_tested(self) -> bool:
        return any(v.verdict is not None and v.verdict.p is not None for v in self.verdicts)

    @property
    def takes(self) -> str:
        every = (t for v in self.verdicts if v.verdict is not None for t in v.verdict.takes)
        return listing(list(dict.fromkeys(every))) or "trials of the study's releases"


@dataclass(frozen=True)
class StudyPart:
    """What the page shows of a study."""

    study: Study
    judged: JudgedStudy
    introduction: tuple[str, ...]
    tables: tuple[tuple[StudyTable, tuple[tuple[str, tuple[CellLink, ...]], ...]], ...]
    tested: tuple[ClaimLinks, ...]
    untested: tuple[ClaimLinks, ...]


def study_part(material: Material) -> StudyPart | None:
    """None: the campaign is not of a study."""
    study = material.study
    if study is None:
        return None
    judged = judge(study, material.results, material.rate.alpha)
    runs = study_runs(study, material.results)[As.INTENDED]
    place = {str(row["id"]): i for i, group in enumerate(material.groups) for row in group.rows}
    tables = (*study_tables(study, runs), installation_table(study)) if runs is not None else ()
    claims = [_shown(one, place, material) for one in judged.claims]
    return StudyPart(
        study,
        judged,
        tuple(figures_words(study)),
        tuple((table, tuple(_row(row, place) for row in table.rows)) for table in tables),
        tuple(one for one in claims if one.was_tested),
        tuple(one for one in claims if not one.was_tested),
    )


def _row(
    row: tuple[str, tuple[TableCell, ...]], place: dict[str, int]
) -> tuple[str, tuple[CellLink, ...]]:
    name, cells = row
    return name, tuple(CellLink(cell, next(_places(cell.trials, place), None)) for cell in cells)


def _places(trials: Iterable[str], place: dict[str, int]) -> Iterator[int]:
    return iter(dict.fromkeys(place[trial] for trial in trials if trial in place))


def _shown(one: JudgedClaim, place: dict[str, int], material: Material) -> ClaimLinks:
    shown = []
    for as_, verdict in one.verdicts.items():
        links: tuple[tuple[int, str], ...] = ()
        state = ""
        if verdict is not None:
            ids = (str(row["id"]) for group in verdict.groups for row in group.rows)
            groups = material.groups
            links = tuple((i, f"{groups[i].name} on {groups[i].case}") for i in _places(ids, place))
            state = _STATES[verdict.word]
        shown.append(VerdictLinks(f"as {as_}", verdict, state, links))
    return ClaimLinks(one, tuple(shown))
