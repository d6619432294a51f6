"""The answer and the summary tables as Markdown or LaTeX, for a paper or a pull request."""

from __future__ import annotations

import re

from dlbench.analysis import reproducibility
from dlbench.analysis.groups import Case, Group
from dlbench.analysis.metrics import ASKED_FOR, PEAK_MEMORY, STEP, TRAINING, Metric
from dlbench.report.answer import CaseAnswer, answer
from dlbench.report.beside_numbers import cautions_of, of_case
from dlbench.report.material import Material
from dlbench.report.numbers import written
from dlbench.report.records import campaign_commands, failures, machines
from dlbench.report.study import StudyPart, study_part

_COLUMNS = (TRAINING, STEP, *ASKED_FOR, PEAK_MEMORY)


def markdown(material: Material) -> str:
    """Answer, a table for each case, failures, machine, command."""
    said = answer(material)
    lines = [f"# {_md(said.headline)}", "", *(_md(text) for text in said.summary), ""]
    for text in cautions_of(material):
        lines += [f"> {_md(text)}", ""]
    for case, own in zip(material.cases, said.cases, strict=True):
        lines += [f"## {_md(case.label)}", "", _md(of_case(material, case)), ""]
        columns, rows = _table(material, case)
        lines.append("| " + " | ".join(map(_md, columns)) + " |")
        lines.append("|---|" + "---:|" * (len(columns) - 1))
        lines += ["| " + " | ".join(map(_md, row)) + " |" for row in rows]
        lines += ["", *(f"- {_md(sentence)}" for sentence in _sentences(case, own)), ""]
    if rate := material.error_rate(_tested(material)):
        lines += [_md(rate), ""]
    part = study_part(material)
    lines += _study(part) if part is not None else []
    failed, more = failures(material)
    if failed:
        lines += ["## Failures", ""]
        for failure in failed:
            what = f"{failure.count} × {failure.outcome}: {failure.contender} on {failure.case}"
            lines.append(f"- {_md(what)}. {_md(' '.join(failure.reason.split()))}")
        if more:
            lines.append(f"- and {more} other kinds")
        lines.append("")
    for machine in machines(material):
        lines += [f"## {_md(machine.name or 'Machine')}", ""]
        lines += [*(f"- {name}: {_md(value)}" for name, value in machine.facts), ""]
    for command in campaign_commands(material):
        fence = "~~~~" if "```" in command else "```"
        lines += ["## Command", "", fence, " ".join(command.splitlines()), fence, ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _study(part: StudyPart) -> list[str]:
    """A study's tables and the verdict on each claim."""
    lines = [f"## The study {part.study.name}", ""]
    lines += [*(f"- {_md(text)}" for text in (*part.judged.summary, *part.introduction)), ""]
    for table, rows in part.tables:
        lines += [f"### {_md(table.title)}", ""]
        lines += [_md(table.note) or "Measured (published).", ""]
        lines.append("| | " + " | ".join(map(_md, table.columns)) + " |")
        lines.append("|---|" + "---:|" * len(table.columns))
        for name, cells in rows:
            shown = [one.cell.measured or "–" for one in cells]
            if not table.note:
                published = (one.cell.published or "not published" for one in cells)
                shown = [f"{own} ({other})" for own, other in zip(shown, published, strict=True)]
            lines.append("| " + " | ".join(map(_md, (name, *shown))) + " |")
        lines.append("")
    lines += [
        "### Its claims", "",
        "| claim | what it says | as intended | as published | could its design show it |",
        "|---|---|---|---|---|",
    ]  # fmt: skip
    for claim in (*part.tested, *part.untested):
        could = "yes" if claim.judged.could_show else f"no: {claim.judged.why}"
        verdicts = [one.words for one in claim.verdicts]
        row = (claim.judged.claim.id, claim.judged.sentence, *verdicts, could)
        lines.append("| " + " | ".join(map(_md, row)) + " |")
    gaps = [claim.judged for claim in part.tested if claim.judged.gap]
    if gaps:
        lines += ["", "### What the study's faults make of its claims", ""]
        lines += [f"- {_md(f'{one.claim.id}, {one.gap}.')}" for one in gaps]
    return [*lines, ""]


def latex(material: Material) -> str:
    """Answer and tables, to be \\input; needs booktabs."""
    said = answer(material)
    lines = [
        "% made by dlbench; needs \\usepackage{booktabs}",
        f"\\paragraph{{Answer.}} {_tex(' '.join([said.headline, *said.summary]))}"
        f" {_tex(' '.join(cautions_of(material)))}",
        "",
    ]
    for case, own in zip(material.cases, said.cases, strict=True):
        columns, rows = _table(material, case)
        lines += [
            "\\begin{table}", "\\centering",
            f"\\caption{{{_tex(case.label)} ({_tex(of_case(material, case))}): medians (of"
            " qualities, means) over complete trials with [95\\,\\% bootstrap intervals], or (the"
            " range of the runs) where these are too few for one}",
            f"\\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}", "\\toprule",
            " & ".join(map(_tex, columns)) + " \\\\", "\\midrule",
            *(" & ".join(map(_tex, row)) + " \\\\" for row in rows),
            "\\bottomrule", "\\end{tabular}", "\\end{table}", "",
            *(_tex(sentence) + "\n" for sentence in _sentences(case, own)),
        ]  # fmt: skip
    return "\n".join([*lines, _tex(material.error_rate(_tested(material)))]) + "\n"


def _tested(material: Material) -> list[Metric]:
    """The metrics of the tables and sentences."""
    return [metric for metric in _COLUMNS if metric in material.tested]


def _sentences(case: Case, said: CaseAnswer) -> tuple[str, ...]:
    """The answer, what weakens it, and what repeats of one seed gave."""
    return (*said.sentences, *said.warnings, *reproducibility.sentences(case.groups))


def _table(material: Material, case: Case) -> tuple[list[str], list[list[str]]]:
    metrics = [m for m in _COLUMNS if any(group.values(m) for group in case.groups)]
    columns = ["contender", "n", *(f"{m.title} ({m.unit})" if m.unit else m.title for m in metrics)]
    rows = [
        [
            group.name,
            f"{len(group.complete)}/{len(group.rows)}",
            *(_value(material, group, metric) for metric in metrics),
            group.outcomes,
        ]
        for group in _ranked(material, case)
    ]
    return [*columns, "outcome"], rows


def _ranked(material: Material, case: Case) -> list[Group]:
    """The best first, then those that are not ranked, then those that failed."""
    times = material.comparison(case.label, TRAINING)
    place = {name: i for i, name in enumerate(times.ranking if times else ())}

    def rank(group: Group) -> tuple[int, bool, bool, float]:
        time = material.estimate(group, TRAINING)
        after = place.get(group.name, len(place))
        return after, not group.certified, time is None, time.middle if time else 0.0

    return sorted(case.groups, key=rank)


def _value(material: Material, group: Group, metric: Metric) -> str:
    value = material.estimate(group, metric)
    return "–" if value is None else f"{written(value.middle)} {value.span}".rstrip()


def _md(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return re.sub(r"([\\`*_\[\]<>|#&~])", r"\\\1", " ".join(text.split()))


_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "–": "--", "×": r"\texttimes{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def _tex(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(_TEX.get(character, character) for character in " ".join(text.split()))
