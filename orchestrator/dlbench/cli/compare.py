"""`dlbench compare DIR [DIR…]`: which differences are real, in exact words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlbench.cli import completion
from dlbench.cli.console import Json
from dlbench.cli.options import Alpha, AlphaOver, Only

if TYPE_CHECKING:
    from dlbench.analysis.campaign_comparison import CampaignComparison
    from dlbench.analysis.error_rate import ErrorRate
    from dlbench.analysis.results import Results
    from dlbench.statistics.power import RepeatPlan
    from dlbench.statistics.thresholds import ThresholdResult


def compare(
    campaigns: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DIR",
            help="Campaign folders or archives; none: the newest one in results/.",
            autocompletion=completion.campaigns,
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=completion.metrics,
            help="time, step_ms, throughput, accuracy, memory, cpu, energy or any column of"
            " the trials' table. Repeatable; none: time and accuracy.",
        ),
    ] = None,
    by: Annotated[
        str, typer.Option(help="What to tell apart: release, device, variant or engine.")
    ] = "release",
    alpha: Alpha = 0.05,
    alpha_over: AlphaOver = "workload",
    look: Annotated[
        int | None,
        typer.Option(
            help="Which look this is (1, 2, …) at a campaign to which you add runs until a"
            " difference shows: each look gets its share of --alpha."
        ),
    ] = None,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            help="Differences within it do not matter: a factor such as 1.05 for times and"
            " sizes, a difference such as accuracy=0.01. Repeatable."
        ),
    ] = None,
    plan_power: Annotated[
        float | None,
        typer.Option(help="Say how many repeats a difference of this size needs."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Earlier runs that --fail-if compares with.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="A release of the same campaign that --fail-if compares with."),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help='What is a regression, such as "step_ms > 1.05" or "accuracy < -0.01":'
            " the ratio (times, sizes) or the difference to the baseline. Repeatable."
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also p-values and the tests behind each answer.")
    ] = False,
    only: Only = None,
    json: Json = False,
) -> None:
    """Say which differences are real, and how large they are.

    With --fail-if the exit code is that of the worst result: 0, no condition is met; 1, one is,
    and the difference is shown, not only seen; 3, undecided: it may be chance, there are too
    few runs, or they are not comparable; 4, missing on one side; 5, broken: no run finished,
    or its model is not certified. 2 is for mistakes in the command. The worst is 1, then 5, 4,
    3, 0.

    \b
    dlbench compare results/2026-11-16_0312-digits-cnn-jax-numpy --metric step_ms
    dlbench compare results/a results/b --by device --metric time
    dlbench compare results/new --baseline results/old --fail-if "step_ms > 1.05"
    dlbench compare results/new --against pytorch@2.0.1 --fail-if "step_ms > 1.05"
    """
    import dlbench
    from dlbench.analysis.comparison_json import comparison_json, threshold_json
    from dlbench.analysis.error_rate import error_rate
    from dlbench.analysis.power_plan import plan_power as planned
    from dlbench.analysis.regression import check_regressions
    from dlbench.analysis.selection import only as only_these
    from dlbench.campaigns.campaign_list import newest
    from dlbench.cli.comparison_text import print_checked, print_comparison
    from dlbench.cli.console import print_json, say
    from dlbench.errors import UserError
    from dlbench.statistics.thresholds import worst_exit_code

    if bool(fail_if) != (baseline is not None or against is not None):
        raise UserError(
            "--fail-if and --baseline (or --against) belong together.",
            'Give both, such as --baseline results/old --fail-if "step_ms > 1.05".',
        )
    if baseline is not None and against is not None:
        raise UserError("--baseline and --against exclude each other.", "Give one of them.")
    results = only_these(dlbench.open(campaigns or [newest()]), only)
    rate = error_rate(results, alpha, alpha_over, look)
    checked: tuple[ThresholdResult, ...] = ()
    comparisons: list[CampaignComparison] = []
    if fail_if:
        own = rate.alpha / len(fail_if) if rate.over_report else rate.alpha
        held = against if baseline is None else dlbench.open(baseline)
        assert held is not None
        checked = check_regressions(results, held, fail_if, alpha=own)
    if metric or not fail_if:
        comparisons = _compared(
            results, metric or _usual(results, plan_power), by, rate, margin or []
        )
    plans: list[list[RepeatPlan | None]] = [
        [planned(case, plan_power) if plan_power is not None else None for case in c.cases]
        for c in comparisons
    ]
    questions = sum(comparison.questions for comparison in comparisons)
    code = worst_exit_code(checked) if checked else 0
    if json:
        output: dict[str, Any] = {
            "v": 1, "alpha": rate.alpha, "alpha_over": alpha_over, "questions": questions,
            "comparisons": [],
        }  # fmt: skip
        for comparison, each in zip(comparisons, plans, strict=True):
            content = comparison_json(comparison)
            for case, plan in zip(content["cases"], each, strict=True):
                case["plan"] = plan.sentence if plan else None
            output["comparisons"].append(content)
        output["regressions"] = [threshold_json(one) for one in checked]
        output["exit_code"] = code
        print_json(output)
    else:
        for comparison, each in zip(comparisons, plans, strict=True):
            print_comparison(comparison, each, plan_power, verbose)
        if questions:
            say(rate.sentence(questions))
        print_checked(checked, verbose)
    if code:
        raise typer.Exit(code)


def _compared(
    results: Results, names: list[str], by: str, rate: ErrorRate, margin: list[str]
) -> list[CampaignComparison]:
    from dlbench.analysis.margin_choice import margins_by_metric
    from dlbench.analysis.metrics import find_metric

    columns = results.trials().schema
    metrics = {metric.column: metric for metric in (find_metric(name, columns) for name in names)}
    margins = margins_by_metric(margin, list(metrics.values()), columns)
    alpha = rate.of_each(results, metrics, by)
    return [results.compare(column, by, alpha, margins.get(column)) for column in metrics]


def _usual(results: Results, wanted: float | None) -> list[str]:
    """Training time, and the quality that the workloads measure; if a difference is wanted, the one
    that it can be of: factors lie about 1, differences of accuracies do not reach a half."""
    trials = results.trials()
    known = [c for c in ("accuracy", "mae", "mse", "perplexity") if trials[c].count() > 0][:1]
    if wanted is None:
        return ["time", *known]
    return ["time"] if abs(wanted) >= 0.5 or not known else known
