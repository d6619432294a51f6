"""What a campaign's results say, as rows of a table and sentences."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from functools import cache

from dlbench.outcomes import Outcome
from dlbench.results import TrialResult


def contender(result: TrialResult) -> str:
    """What is compared: the release, and what else tells it apart from the usual."""
    parts = [result.release]
    if result.variant not in ("", _usual_variant(result.release)):
        parts[0] += f":{result.variant}"
    if result.device != "cpu":
        parts.append(result.device)
    if result.setting != "matched":
        parts.append(result.setting)
    return " ".join(parts)


@cache
def _usual_variant(release: str) -> str:
    from dlbench.environments import releases
    from dlbench.errors import UserError

    try:
        return releases.find(release).variants[0]
    except UserError:  # a release of another version of dlbench: its variant is always shown
        return ""


def by_contender(results: Sequence[TrialResult]) -> dict[str, list[TrialResult]]:
    groups: dict[str, list[TrialResult]] = {}
    for result in sorted(results, key=lambda r: (r.release, r.variant, r.device, r.setting)):
        groups.setdefault(contender(result), []).append(result)
    return groups


COLUMNS = (
    "release", ">n", ">accuracy", ">training", ">times the best", ">step (5-95 %)", ">CPU",
    ">peak memory", "outcome",
)  # fmt: skip


def rows(results: Sequence[TrialResult]) -> list[list[str]]:
    """One row a contender, the quickest first; medians over its complete trials.

    What is not certified stands below the rest and has no rank."""
    groups = by_contender(results)
    times = {name: _median([r for r in group if r.complete], "train_s")
             for name, group in groups.items()}  # fmt: skip
    proven = {name: all(r.certified is not False for r in group) for name, group in groups.items()}
    best = min((t for name, t in times.items() if t is not None and proven[name]), default=None)

    def order(name: str) -> tuple[bool, bool, float]:
        time = times[name]
        return not proven[name], time is None, time or 0.0

    found = []
    for name in sorted(groups, key=order):
        whole = [result for result in groups[name] if result.complete]
        outcomes = ", ".join(_counted([result.outcome.value for result in groups[name]]))
        step, time = _median(whole, "step_ms_median"), times[name]
        low, high = _median(whole, "step_ms_p05"), _median(whole, "step_ms_p95")
        found.append(
            [
                name,
                str(len(groups[name])),
                _quality(whole),
                _cell(time, "{:.2f} s"),
                _cell(time / best if time and best and proven[name] else None, "{:.2f}"),
                "-" if step is None else f"{step:.2f} ms ({low:.2f}-{high:.2f})",
                _cell(_median(whole, "cpu_percent_mean", resources=True), "{:.0f} %"),
                _cell(_peak_memory(whole), "{:,.0f} MB", 1e6),
                outcomes if proven[name] else f"{outcomes}, NOT certified",
            ]
        )
    return found


def answers(results: Sequence[TrialResult]) -> Iterator[str]:
    """Which differences are real."""
    from dlbench.statistics import SCORE, TIME, Measurements, compare

    for metric, kind, words in (
        ("train_s", TIME, "Training time"),
        ("accuracy", SCORE, "Accuracy"),
    ):
        groups = {}
        for name, group in by_contender(results).items():
            whole = [r for r in group if r.complete and r.metrics.get(metric) is not None]
            if whole:
                groups[name] = Measurements(
                    values=tuple(float(r.metrics[metric] or 0.0) for r in whole),
                    keys=tuple(str(r.seed) for r in whole),
                    certified=all(r.certified is not False for r in whole),
                    complete=True,
                    data=str(whole[0].scale.get("data", "")),
                    machine=whole[0].machine,
                    scale=_scale(whole[0]),
                )
        if len(groups) > 1:
            yield f"{words}: {compare(groups, kind, metric=words.lower()).sentence}"


def _scale(result: TrialResult) -> str:
    keys = ("epochs", "steps", "batch")
    return "/".join(f"{key}={result.scale.get(key)}" for key in keys)


def failures(results: Sequence[TrialResult]) -> Iterator[str]:
    """The trials that did not end well, with the reason."""
    for result in results:
        if result.outcome is not Outcome.OK:
            reached = f", after {len(result.curve)} epochs" if result.curve else ""
            reason = " ".join(result.reason.split())
            where = f"{contender(result)} on {result.workload}, seed {result.seed}"
            yield f"{result.outcome.value}: {where}{reached}. {reason}"


def _median(results: Sequence[TrialResult], key: str, resources: bool = False) -> float | None:
    values = [(r.resources if resources else r.metrics).get(key) for r in results]
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _peak_memory(results: Sequence[TrialResult]) -> float | None:
    """The larger of the kernel's two peaks.

    A control group is not charged for libraries that were in memory already, the main process is;
    a control group counts all processes, the main process is one."""
    group = _median(results, "memory_peak_bytes", resources=True)
    main = _median(results, "rss_main_peak_bytes", resources=True)
    return max((value for value in (group, main) if value is not None), default=None)


def _quality(results: Sequence[TrialResult]) -> str:
    accuracy = _median(results, "accuracy")
    if accuracy is not None:
        return f"{100 * accuracy:.2f} %"
    for name in ("mae", "mse"):
        error = _median(results, name)
        if error is not None:
            return f"{name.upper()} {error:.4f}"
    return "-"


def _cell(value: float | None, form: str, unit: float = 1.0) -> str:
    return "-" if value is None else form.format(value / unit)


def _counted(words: Sequence[str]) -> list[str]:
    counts = {word: words.count(word) for word in dict.fromkeys(words)}
    if len(counts) == 1:
        return list(counts)
    return [f"{count} {word}" for word, count in counts.items()]
