"""A comparison on the terminal: sentences first, then the numbers with what weakens them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dlbench.cli.console import say
from dlbench.statistics.measurements import THROUGHPUT, TIME

if TYPE_CHECKING:
    from dlbench.analysis.campaign_comparison import CampaignComparison, CaseComparison
    from dlbench.statistics.power import RepeatPlan
    from dlbench.statistics.thresholds import ThresholdResult

_MARKS = {0: "ok", 1: "REGRESSION", 3: "UNDECIDED", 4: "MISSING", 5: "BROKEN"}


def print_comparison(
    comparison: CampaignComparison,
    plans: Sequence[RepeatPlan | None],
    wanted: float | None,
    verbose: bool,
) -> None:
    say(f"{comparison.metric.words}, by {comparison.by}")
    for case, plan in zip(comparison.cases, plans, strict=True):
        _print_case(case, comparison.by, verbose)
        if plan:
            say(f"  plan: {plan.sentence}")
        elif wanted is not None:
            say("  plan: two comparable groups of two runs each are needed to know the spread.")
    if comparison.by == "device":
        _print_speedups(comparison)
    if comparison.across:
        say("\nacross workloads")
    for across in comparison.across:
        say(across.sentence)
        test = across.friedman
        if test.enough and test.p <= test.alpha:
            ranks = ", ".join(
                f"{name} {rank:.2f}"
                for name, rank in zip(test.groups, test.mean_ranks, strict=True)
            )
            say(f"  mean ranks: {ranks}")
        if verbose:
            say(f"  {test.details}")
    say("")


def _print_case(case: CaseComparison, by: str, verbose: bool) -> None:
    comparison = case.comparison
    held = ", ".join(case.circumstances)
    say(f"\n{case.case.label} ({held})" if held else f"\n{case.case.label}")
    if by == "release" or len(comparison.tested) != 1:
        say(comparison.answer)
    else:
        for verdict in comparison.verdicts:
            say(verdict.sentence)
    say(f"{comparison.sample_size_sentence} {comparison.test_sentence}".rstrip())
    _print_table(case)
    for warning in case.warnings:
        say(f"  ! {warning}")
    for line in case.history:
        say(f"  history: {line.sentence}")
    if not verbose:
        return
    for size in comparison.sizes:
        say(f"  {size.details}")
    for verdict in comparison.tested:
        say(f"  {verdict.first}, {verdict.second}: {verdict.details}")
    for line in case.history:
        for change in line.changes:
            say(f"  history, {change.name}: {change.details}")


def _print_table(case: CaseComparison) -> None:
    from dlbench.analysis.circumstances import group_notes
    from dlbench.cli.console import print_table
    from dlbench.statistics.words import number, together

    comparison, factor = case.comparison, case.metric.factor
    ranks = {name: rank for rank, name in enumerate(comparison.ranking)}
    groups = sorted(case.case.groups, key=lambda g: ranks.get(g.name, len(ranks)))
    spans = [comparison.summaries[g.name].middle(comparison.kind)[1] for g in groups]
    names = {span.name for span in spans if span}
    rows = []
    for group, around in zip(groups, spans, strict=True):
        summary = comparison.summaries[group.name]
        middle = summary.middle(comparison.kind)[0]
        shown = number(middle * factor) if summary.n else "-"
        interval = ""
        if around:
            shown, low, high = together(middle * factor, around.low * factor, around.high * factor)
            interval = f"{low} to {high}" if around.is_range else f"[{low}, {high}]"
            if around.is_range and len(names) > 1:
                interval = f"{around.name}: {interval}"
        apart = ", ".join(reason.value for reason in comparison.set_apart.get(group.name, ()))
        notes = [f"not ranked: {apart}"] if apart else []
        notes += (note for note in group_notes(group) if note not in apart)
        if group.name in case.steadiness.groups:
            notes += dict.fromkeys(f.concern.value for f in case.steadiness.groups[group.name])
        spread = number(summary.sd * factor, 2) if summary.sd is not None else "-"
        rows.append([group.name, str(summary.n), shown, interval, spread, ", ".join(notes)])
    unit = f" ({case.metric.unit})" if case.metric.unit else ""
    span = names.pop() if len(names) == 1 else "95 % interval"
    print_table(["group", ">n", f">{case.metric.middle}{unit}", f">{span}", ">sd", ""], rows)


def _print_speedups(comparison: CampaignComparison) -> None:
    from dlbench.cli.console import print_table

    kind = comparison.metric.kind
    rows = []
    for case in comparison.cases:
        for verdict in case.comparison.verdicts:
            size = "-"
            if verdict.effect:  # a speed-up is the second's time by the first's
                size = verdict.effect.from_second() if kind is TIME else verdict.effect.from_first()
            pair = f"{verdict.first} against {verdict.second}"
            rows.append([case.case.label, pair, size, verdict.decision.value])
    title, size = "\nspeed-ups (below 1: slower)", ">factor"
    if kind not in (TIME, THROUGHPUT):
        title = f"\n{comparison.metric.title}, device against device"
        size = ">ratio" if kind.scale == "ratio" else ">difference"
    print_table(["", "devices", size, "verdict"], rows, title=title)


def print_checked(checked: Sequence[ThresholdResult], verbose: bool) -> None:
    for one in checked:
        say(f"{_MARKS[one.outcome.exit_code]}: {one.sentence}")
        if verbose and one.details:
            say(f"  {one.details}")
    if not checked:
        return
    for text in dict.fromkeys(str(one.threshold) for one in checked if one.only_for_better):
        say(f"! {text} is met by what gets better, never by a regression.")
    counted = [f"{sum(1 for one in checked if one.failed)} of {len(checked)} conditions are met"]
    for code in (5, 4, 3):
        if number := sum(1 for one in checked if one.outcome.exit_code == code):
            counted.append(f"{number} {_MARKS[code].lower()}")
    say(", ".join(counted) + ".")
    if any(one.verdict is not None and one.verdict.apart for one in checked):
        say(
            "Measure the baseline anew in the same campaign: `dlbench run --against RELEASE` puts"
            " it into the same rounds, and `dlbench compare DIR --against RELEASE` checks it there."
        )
