"""Claims about how quantities go together, and about how large one is: their formulas."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from dlbench.statistics.evidence import (
    CERTAIN,
    UNKNOWN,
    Evidence,
    all_of,
    any_of,
    mean_in_band,
    t_quantile,
)
from dlbench.statistics.margins import exceeds
from dlbench.statistics.measurements import LOSS, TIME
from dlbench.statistics.words import number
from dlbench.studies.claims import Claim, Study
from dlbench.studies.quantities import QUANTITIES, Quantity
from dlbench.studies.statements import Statement, Trials, across_workloads, lies_beyond

_FEWEST_EQUAL = 5
"""Runs of one seed that are the same to the last digit before a release counts as reproducible."""


def does_not_imply(f: Trials, claim: Claim, made: Statement) -> Evidence:
    """There is a counterexample: more of the first quantity, and no better in the second."""
    better = QUANTITIES[claim.second[0]]
    parts = []
    for cause in claim.first:
        if cause == "parameters":
            examples = _larger_models(f, claim, better, made)
        else:
            examples = _more_of(f, claim, QUANTITIES[cause], better, made)
        parts.append(any_of(list(examples) or [UNKNOWN]))
    return all_of(parts)


def _more_of(
    f: Trials, claim: Claim, cause: Quantity, better: Quantity, made: Statement
) -> Iterator[Evidence]:
    sign = -1 if better.kind.less_is_better else 1
    for workload in claim.workloads:
        for one, other in combinations(f.study.contenders, 2):
            more, good = (
                f.contrast(
                    f.side(claim, one, workload, quantity, made),
                    f.side(claim, other, workload, quantity, made), quantity, made,
                )
                for quantity in (cause, better)
            )  # fmt: skip
            up, down = more.greater(None), more.greater(None).denied()
            ahead, behind = (lies_beyond(good, way * sign, claim.smallest) for way in (1, -1))
            counter = [all_of([up, ahead.denied()]), all_of([down, behind.denied()])]
            alike = any_of([all_of([up, ahead]), all_of([down, behind])])
            order = Evidence(alike.for_it, any_of(counter).for_it)
            made.order(good, order, more.seen * good.seen * sign)
            yield from counter


def _larger_models(
    f: Trials, claim: Claim, better: Quantity, made: Statement
) -> Iterator[Evidence]:
    sign = -1 if better.kind.less_is_better else 1
    for name in f.study.contenders:
        for one, other in combinations(claim.workloads, 2):
            if one.partition("-")[0] != other.partition("-")[0]:
                continue
            small, large = sorted((one, other), key=lambda w: _parameters(f.study, w))
            a, b = (across_workloads(f.side(claim, name, w, better, made)) for w in (large, small))
            pair = f.contrast(a, b, better, made)
            yield made.beyond(pair, sign, claim.smallest).denied()


def _parameters(study: Study, workload: str) -> float:
    everyone = study.contenders
    found = (
        one.value for n in everyone for one in study.published("gpu", workload, n, "parameters")
    )
    return next(found, math.nan)


def _of_each_trial(
    f: Trials, claim: Claim, made: Statement, quantity: Quantity, level: float
) -> Evidence:
    """Of "in every group the trials' own value lies within the smallest effect of `level`"."""
    assert claim.smallest is not None
    ratio = quantity.kind.scale == "ratio"
    less = 1 / claim.smallest if ratio else -claim.smallest
    parts = []
    for workload in claim.workloads:
        for name in f.study.contenders:
            device = f.device(claim, workload, quantity)
            side = f.side(claim, name, workload, quantity, made, device)
            if side.why or not side.values:
                parts.append(UNKNOWN)
                continue
            base = np.full(side.runs, level)
            above = exceeds(side.values, base, less, quantity.kind, paired=True)
            below = exceeds(side.values, base, claim.smallest, quantity.kind, paired=True).denied()
            parts.append(all_of([above, below]))
    return all_of(parts)


def unrelated(f: Trials, claim: Claim, made: Statement) -> Evidence:
    tau = Quantity("Kendall's tau of epoch and accuracy", "epoch_tau", LOSS, any_device=True,
                   needs_real_data=True)  # fmt: skip
    return _of_each_trial(f, claim, made, tau, 0.0)


def proportional(f: Trials, claim: Claim, made: Statement) -> Evidence:
    growth = Quantity("time of a late epoch over that of an early one", "epoch_time_growth", TIME)
    return _of_each_trial(f, claim, made, growth, 1.0)


def magnitude(f: Trials, claim: Claim, made: Statement) -> Evidence:
    if claim.metric == "mae_sd_fixed_seed":
        return _reproducible(f, claim, made)
    assert claim.smallest is not None
    parts = []
    for workload in claim.workloads:
        side = f.contenders(claim, workload, made)(claim.first[0])
        values, stated = side.values, claim.stated(workload, claim.first[0])
        if side.why or len(values) < 2 or stated is None or min(values) <= 0:
            parts.append(UNKNOWN)
            continue
        low, high = (math.log(stated * factor) for factor in (1 / claim.smallest, claim.smallest))
        evidence, centre, error = mean_in_band(
            [math.log(x) for x in values], low, high, f.study.runs
        )
        reach = t_quantile(len(values) - 1, 1 - f.alpha / f.family) * error
        made.prediction = (
            f"{number(math.exp(centre), 3)}; with our own spread a new measurement would lie"
            f" from {number(math.exp(centre - reach), 3)} to {number(math.exp(centre + reach), 3)}"
        )
        parts.append(evidence)
    return all_of(parts)


def _reproducible(f: Trials, claim: Claim, made: Statement) -> Evidence:
    """Runs of one seed end in the same number, to the last digit."""
    parts = []
    for workload in claim.workloads:
        side = f.side(claim, claim.first[0], workload, QUANTITIES[claim.metric], made)
        by_seed: dict[object, list[float]] = {}
        for group in side.groups:
            for row in group.complete:
                if row.get("mae") is not None:
                    by_seed.setdefault(row["seed"], []).append(row["mae"])
        repeated = [values for values in by_seed.values() if len(values) > 1]
        if any(len(set(values)) > 1 for values in repeated):
            parts.append(CERTAIN.denied())
        elif any(len(values) >= _FEWEST_EQUAL for values in repeated):
            parts.append(CERTAIN)
        else:
            parts.append(UNKNOWN)
    return all_of(parts)
