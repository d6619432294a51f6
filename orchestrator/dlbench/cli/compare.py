"""`dlbench compare DIR [DIR…]`: which differences are real, in exact words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlbench.cli.console import Json

if TYPE_CHECKING:
    from dlbench.analysis.campaign_comparison import CampaignComparison, CaseComparison
    from dlbench.statistics.power import RepeatPlan
    from dlbench.statistics.thresholds import ThresholdResult


def register(app: typer.Typer) -> None:
    @app.command("compare")
    def compare(
        campaigns: Annotated[list[Path], typer.Argument(help="Campaign folders or archives.")],
        metric: Annotated[
            list[str] | None,
            typer.Option(
                help="time, step_ms, throughput, accuracy, memory, cpu, energy or any column of"
                " the trials' table. Repeatable; none: time and accuracy."
            ),
        ] = None,
        by: Annotated[
            str, typer.Option(help="What to tell apart: release, device, variant or engine.")
        ] = "release",
        alpha: Annotated[float, typer.Option(help="The chance of a false alarm allowed.")] = 0.05,
        margin: Annotated[
            float | None,
            typer.Option(
                help="Differences within it do not matter: a factor such as 1.05, or a difference"
                " such as 0.01 for accuracies."
            ),
        ] = None,
        plan_power: Annotated[
            float | None,
            typer.Option(help="Say how many repeats a difference of this size needs."),
        ] = None,
        baseline: Annotated[
            Path | None, typer.Option(help="Earlier runs that --fail-if compares with.")
        ] = None,
        fail_if: Annotated[
            list[str] | None,
            typer.Option(
                help='What is a regression, such as "step_ms > 1.05" or "accuracy < -0.01":'
                " the ratio (times, sizes) or the difference to the baseline. Repeatable."
            ),
        ] = None,
        json: Json = False,
    ) -> None:
        """Say which differences between releases, devices or variants are real.

        Exits with 1 if a --fail-if condition is met: the difference is shown, not only seen.

        \b
        dlbench compare results/2026-11-16_0312-quick --metric step_ms
        dlbench compare results/a results/b --by device --metric time
        dlbench compare results/new --baseline results/old --fail-if "step_ms > 1.05"
        """
        import dlbench
        from dlbench.analysis.comparison_json import comparison_json, threshold_json
        from dlbench.analysis.power_plan import plan_power as planned
        from dlbench.analysis.regression import check_regressions
        from dlbench.cli.console import print_json
        from dlbench.errors import UserError

        if bool(fail_if) != (baseline is not None):
            raise UserError(
                "--baseline and --fail-if belong together.",
                'Give both, such as --baseline results/old --fail-if "step_ms > 1.05".',
            )
        results = dlbench.open(campaigns)
        checked: tuple[ThresholdResult, ...] = ()
        comparisons: list[CampaignComparison] = []
        if baseline is not None:
            checked = check_regressions(results, dlbench.open(baseline), fail_if or [], alpha=alpha)
        if metric or baseline is None:
            comparisons = [
                results.compare(name, by, alpha, margin)
                for name in metric or _usual(results, plan_power)
            ]
        plans: list[list[RepeatPlan | None]] = [
            [planned(case, plan_power) if plan_power is not None else None for case in c.cases]
            for c in comparisons
        ]
        if json:
            output: dict[str, Any] = {"v": 1, "comparisons": []}
            for comparison, own in zip(comparisons, plans, strict=True):
                content = comparison_json(comparison)
                for case, plan in zip(content["cases"], own, strict=True):
                    case["plan"] = plan.sentence if plan else None
                output["comparisons"].append(content)
            output["regressions"] = [threshold_json(one) for one in checked]
            print_json(output)
        else:
            for comparison, own in zip(comparisons, plans, strict=True):
                _print(comparison, own, plan_power)
            _print_checked(checked)
        if any(one.failed for one in checked):
            raise typer.Exit(1)


def _usual(results: Any, wanted: float | None) -> list[str]:
    """Training time, and the quality that the workloads measure; if a difference is wanted, the one
    that it can be of: factors lie about 1, differences of accuracies do not reach a half."""
    trials = results.trials()
    known = [c for c in ("accuracy", "mae", "mse", "perplexity") if trials[c].count() > 0][:1]
    if wanted is None:
        return ["time", *known]
    return ["time"] if abs(wanted) >= 0.5 or not known else known


def _print(
    comparison: CampaignComparison, plans: list[RepeatPlan | None], wanted: float | None
) -> None:
    from dlbench.cli.console import stdout

    console = stdout()

    def say(text: str) -> None:
        console.print(text, markup=False, soft_wrap=not console.is_terminal)

    say(f"{comparison.metric.words}, by {comparison.by}")
    for case, plan in zip(comparison.cases, plans, strict=True):
        _print_case(case)
        say(case.comparison.sample_size_sentence)
        if comparison.by == "release" or len(case.comparison.tested) != 1:
            say(case.comparison.answer)
        else:
            for verdict in case.comparison.verdicts:
                say(verdict.sentence)
        for warning in case.warnings:
            say(f"  ! {warning}")
        for line in case.history:
            say(f"  history: {line.sentence}")
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
            say(f"  mean ranks: {ranks}; critical difference {test.critical_difference:.2f}")
    say("")


def _print_case(case: CaseComparison) -> None:
    from rich.markup import escape

    from dlbench.cli.console import print_table
    from dlbench.statistics.words import number, together

    comparison = case.comparison
    ranks = {name: rank for rank, name in enumerate(comparison.ranking)}
    names = sorted(comparison.summaries, key=lambda name: ranks.get(name, len(ranks)))
    marked = set(case.steadiness.groups)
    rows = []
    for name in names:
        summary = comparison.summaries[name]
        middle, around = summary.middle(comparison.kind)
        shown = number(middle) if summary.n else "-"
        interval = ""
        if around:
            shown, low, high = together(middle, around.low, around.high)
            interval = f"[{low}, {high}]"
        apart = ", ".join(reason.value for reason in comparison.set_apart.get(name, ()))
        rows.append(
            [
                escape(name),
                str(summary.n),
                shown,
                interval,
                number(summary.sd) if summary.sd is not None else "-",
                f"not ranked: {apart}" if apart else "! see below" if name in marked else "",
            ]
        )
    print_table(
        ["group", ">n", f">{case.metric.middle}", ">95 % interval", ">sd", ""],
        rows,
        title=f"\n{escape(case.case.label)}",
    )


def _print_speedups(comparison: CampaignComparison) -> None:
    """All of them at a glance."""
    from rich.markup import escape

    from dlbench.cli.console import print_table

    rows = []
    for case in comparison.cases:
        for verdict in case.comparison.verdicts:
            size = verdict.effect.magnitude if verdict.effect else "-"
            pair = f"{verdict.first} against {verdict.second}"
            rows.append([escape(case.case.label), pair, size, verdict.decision.value])
    print_table(["", "devices", ">factor", "verdict"], rows, title="\nspeed-ups")


def _print_checked(checked: tuple[ThresholdResult, ...]) -> None:
    from dlbench.cli.console import stdout

    console = stdout()
    for one in checked:
        if one.failed:
            mark = "REGRESSION"
        else:
            mark = "ok" if one.outcome.value == "not met" else one.outcome.value
        console.print(f"{mark}: {one.sentence}", markup=False, soft_wrap=not console.is_terminal)
    failed = sum(1 for one in checked if one.failed)
    if checked:
        console.print(f"{failed} of {len(checked)} conditions are met.", markup=False)
