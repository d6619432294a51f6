"""The exact tests against enumeration, printed tables, R's examples and scipy."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from dlbench.statistics.rank_tests import (
    rank_sum,
    shift_of_groups,
    shift_of_pairs,
    signed_rank,
)
from dlbench.statistics.ranks import (
    cliffs_delta,
    difference_order,
    differences,
    midranks,
    walsh_order,
)

# ?wilcox.test in R: Hollander & Wolfe (1973), Hamilton's depression scale, first and second visit.
FIRST = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
SECOND = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
# The same page: permeability of a membrane at term and before.
TERM = np.array([0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46])
BEFORE = np.array([1.15, 0.88, 0.90, 0.74, 1.21])


def test_r_depression_example() -> None:
    found = signed_rank(FIRST - SECOND, "greater")
    assert found.statistic == 40
    assert found.p == pytest.approx(0.01953, abs=5e-6)
    assert signed_rank(FIRST - SECOND).p == pytest.approx(0.03906, abs=5e-6)
    assert found.exact


def test_r_permeability_example() -> None:
    found = rank_sum(TERM, BEFORE, "greater")
    assert found.statistic == 35
    assert found.p == pytest.approx(0.1272, abs=5e-5)
    assert rank_sum(TERM, BEFORE).p == pytest.approx(0.2544, abs=5e-5)


def test_hollander_and_wolfes_estimates_for_the_same_data() -> None:
    # Printed in the book: shift 0.305 for the membrane, -0.46 for the scale (second minus first).
    assert shift_of_groups(TERM, BEFORE, 0.95)[0] == pytest.approx(0.305)
    assert shift_of_pairs(SECOND - FIRST, 0.95)[0] == pytest.approx(-0.46, abs=1e-9)


def test_statxact_tied_example() -> None:
    # Diastolic blood pressure, StatXact 4 manual: exact with ties.
    treated = np.array([94.0, 108, 110, 90])
    control = np.array([80.0, 94, 85, 90, 90, 90, 108, 94, 78, 105, 88])
    assert rank_sum(control, treated).p == pytest.approx(0.0989, abs=5e-5)
    assert rank_sum(control, treated, "less").p == pytest.approx(0.0542, abs=5e-5)
    assert rank_sum(treated, control, "greater").p == pytest.approx(0.0542, abs=5e-5)


@pytest.mark.parametrize(
    ("n", "critical"),
    # Greatest rank sum significant at 0.05, two-sided: the table in every textbook.
    [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (15, 25), (20, 52), (25, 89)],
)
def test_table_of_signed_rank_critical_values(n: int, critical: int) -> None:
    def with_negative_sum(total: int) -> float:
        d = np.arange(1.0, n + 1)
        for rank in range(n, 0, -1):
            if rank <= total:
                d[rank - 1] *= -1
                total -= rank
        return signed_rank(d).p

    assert with_negative_sum(critical) <= 0.05 < with_negative_sum(critical + 1)


@pytest.mark.parametrize(
    ("n", "m", "critical"),
    # Greatest U significant at 0.05, two-sided.
    [(4, 4, 0), (5, 5, 2), (5, 8, 6), (6, 6, 5), (8, 8, 13), (10, 10, 23), (20, 20, 127)],
)
def test_table_of_u_critical_values(n: int, m: int, critical: int) -> None:
    def with_u(u: int) -> float:
        # Each of a's values may stand above up to m of b's.
        above = [0] * n
        for i in range(n - 1, -1, -1):
            above[i] = min(m, u)
            u -= above[i]
        a = np.array([k + 0.5 + i * 1e-3 for i, k in enumerate(above)])
        return rank_sum(a, np.arange(1.0, m + 1)).p

    assert with_u(critical) <= 0.05 < with_u(critical + 1)


def test_five_pairs_reach_0_0625_and_no_less() -> None:
    assert signed_rank(np.arange(1.0, 6)).p == 0.0625


@pytest.mark.parametrize("seed", range(6))
def test_signed_rank_with_ties_and_zeros_equals_enumeration(seed: int) -> None:
    d = np.random.default_rng(seed).integers(-3, 4, size=8).astype(float)
    ranks = midranks(np.abs(d))
    moving = d != 0
    seen = abs(np.sum(np.sign(d) * ranks))
    sums = [abs(np.dot(signs, ranks[moving])) for signs in product((-1, 1), repeat=moving.sum())]
    assert signed_rank(d).p == pytest.approx(np.mean(np.array(sums) >= seen - 1e-9))


@pytest.mark.parametrize("seed", range(6))
def test_rank_sum_with_ties_equals_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = (4, 6) if seed % 2 else (6, 3)
    values = rng.integers(0, 5, size=n + m).astype(float)
    ranks = midranks(values)
    centre = n * (n + m + 1) / 2
    seen = abs(ranks[:n].sum() - centre)
    sums = [abs(ranks[list(some)].sum() - centre) for some in combinations(range(n + m), n)]
    found = rank_sum(values[:n], values[n:])
    assert found.p == pytest.approx(np.mean(np.array(sums) >= seen - 1e-9))
    assert found.exact


@pytest.mark.parametrize("n", [3, 7, 10, 25, 50])
def test_scipy_agrees_where_it_is_exact(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=n), rng.normal(0.3, size=n + 2)
    assert signed_rank(a).p == pytest.approx(stats.wilcoxon(a, method="exact").pvalue)
    for side in ("two-sided", "greater", "less"):
        ours = rank_sum(a, b, side)
        theirs = stats.mannwhitneyu(a, b, alternative=side, method="exact")
        assert ours.p == pytest.approx(theirs.pvalue)
        assert ours.statistic == theirs.statistic


def test_scipy_agrees_where_both_approximate() -> None:
    rng = np.random.default_rng(0)
    d = np.round(rng.normal(0.05, size=500), 1)
    theirs = stats.wilcoxon(d, zero_method="pratt", correction=True, method="asymptotic")
    ours = signed_rank(d)
    assert not ours.exact
    assert ours.p == pytest.approx(theirs.pvalue, rel=0.02)
    a, b = np.round(rng.normal(size=400), 1), np.round(rng.normal(0.1, size=300), 1)
    theirs = stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=True)
    assert rank_sum(a, b).p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_approximation_meets_the_exact_test_where_it_takes_over() -> None:
    d = np.random.default_rng(1).normal(0.12, size=301)
    assert not signed_rank(d).exact
    exact = stats.wilcoxon(d, method="exact").pvalue
    assert signed_rank(d).p == pytest.approx(exact, rel=0.02)


def test_nothing_but_zeros_shows_nothing() -> None:
    assert signed_rank(np.zeros(12)).p == 1
    assert rank_sum(np.ones(5), np.ones(7)).p == 1
    assert rank_sum(np.ones(500), np.ones(700)).p == 1


def test_interval_holds_exactly_the_shifts_that_are_not_rejected() -> None:
    rng = np.random.default_rng(3)
    d, b = rng.normal(size=11), rng.normal(size=9)
    _, around = shift_of_pairs(d, 0.95)
    assert around is not None
    inside, outside = 1e-9, -1e-9
    assert signed_rank(d - around.low - inside).p > 0.05 >= signed_rank(d - around.low - outside).p
    _, two = shift_of_groups(d, b, 0.95)
    assert two is not None
    assert rank_sum(d - two.high + inside, b).p > 0.05 >= rank_sum(d - two.high - inside, b).p


def test_too_few_values_have_no_exact_interval() -> None:
    assert shift_of_pairs(np.arange(5.0), 0.95)[1] is None
    assert shift_of_pairs(np.arange(6.0), 0.95)[1] is not None
    assert shift_of_groups(np.arange(3.0), np.arange(3.0), 0.95)[1] is None
    assert shift_of_groups(np.arange(4.0), np.arange(4.0), 0.95)[1] is not None


def test_order_statistics_of_many_pairs_equal_those_written_down() -> None:
    rng = np.random.default_rng(4)
    d = np.round(rng.normal(size=900), 2)
    walsh = np.sort([(d[i] + d[j]) / 2 for i in range(900) for j in range(i, 900)])
    places = (0, 1000, 202_725, 405_449)
    assert walsh_order(d, places) == pytest.approx([walsh[p] for p in places], abs=1e-12)
    e = np.round(rng.normal(size=400), 2)
    every = np.sort((d[:, None] - e[None, :]).ravel())
    places = (0, 1234, 180_000, 359_999)
    assert difference_order(d, e, places) == pytest.approx([every[p] for p in places], abs=1e-12)


def test_cliffs_delta_counts_pairs() -> None:
    a, b = np.array([1.0, 2, 2, 5]), np.array([2.0, 3, 1])
    by_hand = np.sign(a[:, None] - b[None, :]).mean()
    assert cliffs_delta(a, b) == pytest.approx(by_hand)
    assert cliffs_delta(b + 10, a) == 1


def test_float_noise_makes_no_difference_between_equal_differences() -> None:
    d = differences(np.array([0.95, 0.96, 0.97]), np.array([0.94, 0.95, 0.97]))
    assert d[0] == d[1] != 0
    assert d[2] == 0
