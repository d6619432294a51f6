"""Friedman's test against R, tables and enumeration; the diagram's data."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from dlbench.statistics.friedman import critical_difference, friedman, studentised_range
from dlbench.statistics.measurements import SCORE, TIME

# ?friedman.test in R: Hollander & Wolfe (1973), three ways to round first base, 22 players.
ROUNDING_TIMES = """
5.40 5.50 5.55  5.85 5.70 5.75  5.20 5.60 5.50  5.55 5.50 5.40  5.90 5.85 5.70  5.45 5.55 5.60
5.40 5.40 5.35  5.45 5.50 5.35  5.25 5.15 5.00  5.85 5.80 5.70  5.25 5.20 5.10  5.65 5.55 5.45
5.60 5.35 5.45  5.05 5.00 4.95  5.50 5.50 5.40  5.45 5.55 5.50  5.55 5.55 5.35  5.45 5.50 5.55
5.50 5.45 5.25  5.65 5.60 5.40  5.70 5.65 5.55  6.30 6.30 6.25
"""


def table(values: object, names: str = "abcdefghij") -> dict[str, dict[str, float]]:
    rows = np.asarray(values, dtype=float)
    return {f"w{i}": dict(zip(names, row.tolist(), strict=False)) for i, row in enumerate(rows)}


def test_r_rounding_times() -> None:
    values = np.array(ROUNDING_TIMES.split(), dtype=float).reshape(22, 3)
    found = friedman(table(values))
    assert found.statistic == pytest.approx(11.143, abs=5e-4)
    assert found.method == "exact"
    # R's chi-square gives 0.003805; the exact value is near, not the same.
    assert found.p == pytest.approx(0.0038, rel=0.3)
    assert found.groups[0] == "c"


@pytest.mark.parametrize(
    ("n", "statistic", "p"),
    # Exact upper tails for three groups, from Friedman's own table (1937).
    [(3, 6.0, 0.028), (4, 6.5, 0.042), (4, 8.0, 0.0046), (5, 6.4, 0.039), (6, 7.0, 0.029)],
)
def test_friedmans_table(n: int, statistic: float, p: float) -> None:
    # Find data with that statistic among all orders, then compare tails.
    orders = list(permutations((1.0, 2.0, 3.0)))
    for rest in product(orders, repeat=n - 1):
        rows = np.array([orders[0], *rest])
        if stats.friedmanchisquare(*rows.T).statistic == pytest.approx(statistic):
            assert friedman(table(rows)).p == pytest.approx(p, abs=6e-4)
            return
    pytest.fail("no such data")


def test_ties_equal_enumeration() -> None:
    rows = np.array([[1.0, 1, 2, 3], [2, 1, 2, 5], [1, 4, 4, 4]])
    found = friedman(table(rows))
    ranks = np.array([stats.rankdata(row) for row in rows])
    sums = [
        np.var(sum(np.array(order) for order in orders))
        for orders in product(*(list(permutations(row)) for row in ranks))
    ]
    seen = np.var(ranks.sum(axis=0))
    assert found.p == pytest.approx(np.mean(np.array(sums) >= seen - 1e-9))
    assert found.statistic == pytest.approx(stats.friedmanchisquare(*rows.T).statistic)


def test_large_tables_agree_with_scipy() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(25, 8)) + np.linspace(0, 0.6, 8)
    shuffled = friedman(table(rows))
    theirs = stats.friedmanchisquare(*rows.T)
    assert shuffled.method == "random shuffles"
    assert shuffled.statistic == pytest.approx(theirs.statistic)
    assert shuffled.p == pytest.approx(theirs.pvalue, rel=0.3)
    large = rng.normal(size=(300, 8)) + np.linspace(0, 0.2, 8)
    theirs = stats.friedmanchisquare(*large.T)
    assert friedman(table(large)).method == "chi-square"
    assert friedman(table(large)).p == pytest.approx(theirs.pvalue, rel=1e-6)


@pytest.mark.parametrize(
    ("groups", "point"),
    # Demšar (2006), table 5: the studentised range divided by the root of 2, alpha 0.05.
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (10, 3.164)],
)
def test_demsars_table(groups: int, point: float) -> None:
    assert studentised_range(groups, 0.05) / np.sqrt(2) == pytest.approx(point, abs=1.1e-3)


def test_demsars_example_of_a_critical_difference() -> None:
    # Four classifiers on 14 data sets: 2.569 * sqrt(4 * 5 / (6 * 14)) = 1.25.
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_the_diagram_joins_what_does_not_differ() -> None:
    rng = np.random.default_rng(1)
    base = rng.lognormal(size=(12, 1))
    rows = base * np.array([1.0, 1.0, 3.0, 3.0]) * np.exp(rng.normal(0, 0.05, size=(12, 4)))
    found = friedman(table(rows))
    assert {frozenset(clique) for clique in found.cliques} == {
        frozenset("ab"),
        frozenset("cd"),
    }
    shown = {frozenset((x.better, x.worse)) for x in found.pairs if x.adjusted <= 0.05}
    assert shown == {frozenset(pair) for pair in ("ac", "ad", "bc", "bd")}
    assert "has the best mean rank" in found.sentence and "better than" in found.sentence


def test_greater_is_better_for_scores() -> None:
    rows = [[0.9, 0.8, 0.7]] * 6
    assert friedman(table(rows), SCORE).groups == ("a", "b", "c")
    assert friedman(table(rows), TIME).groups == ("c", "b", "a")


def test_incomplete_workloads_are_left_out_and_named() -> None:
    data = table([[1.0, 2.0, 3.0]] * 6)
    data["w2"]["b"] = float("nan")
    del data["w4"]["c"]
    found = friedman(data)
    assert found.workloads == 4 and found.left_out == ("w2", "w4")
    assert "w2 and w4 left out" in found.sentence


def test_equal_groups_and_single_workloads(recwarn: pytest.WarningsRecorder) -> None:
    alike = friedman(table(np.ones((6, 3))))
    assert alike.p == 1 and "not shown to differ" in alike.sentence
    assert friedman(table([[1.0, 2.0]])).sentence.startswith("Too few workloads")
    assert friedman({}).p == 1
    assert not recwarn.list


def test_false_alarms_stay_within_alpha() -> None:
    # 150 rounds, three standard errors: 0.05 + 3 * 0.018.
    rng = np.random.default_rng(2)
    wrong = sum(friedman(table(rng.exponential(size=(6, 4)))).p <= 0.05 for _ in range(150))
    assert wrong / 150 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)
