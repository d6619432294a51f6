"""Groups of values in numbers and in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from dlbench.statistics.comparison import compare
from dlbench.statistics.measurements import Measurements
from dlbench.statistics.summary import Summary


def describe(values: Sequence[float]) -> Summary:
    return compare({"group": Measurements(tuple(values))}).summaries["group"]


def test_numbers_agree_with_numpy() -> None:
    x = np.random.default_rng(0).lognormal(size=31)
    found = describe(x)
    assert found.n == 31
    assert found.median == pytest.approx(np.median(x))
    assert found.mean == pytest.approx(x.mean())
    assert found.sd == pytest.approx(x.std(ddof=1))
    assert found.mad == pytest.approx(np.median(np.abs(x - np.median(x))))
    assert found.iqr == pytest.approx(np.subtract(*np.quantile(x, [0.75, 0.25])))
    assert found.median_interval is not None
    assert found.median_interval.low < found.median < found.median_interval.high


def test_a_report_can_be_made_again() -> None:
    x = np.random.default_rng(1).normal(10, 1, size=12)
    assert describe(x) == describe(x)


def test_few_values_get_no_interval_and_the_sentence_says_so() -> None:
    found = describe([1.0, 2.0])
    assert found.median_interval is None
    assert found.sentence == "Median 1.5 of 2 runs, too few for an interval."
    assert describe([3.0]).sd is None
    assert describe([1.0, 2.0, 4.0]).sentence == "Median 2 of 3 runs, range of 3 runs 1 to 4."


def test_no_values_and_values_that_are_no_numbers(recwarn: pytest.WarningsRecorder) -> None:
    assert describe([]).sentence == "No values."
    found = describe([1.0, float("nan"), 2.0, float("inf"), 3.0])
    assert (found.n, found.median, found.not_numbers) == (3, 2.0, 2)
    assert "2 values left out: not a number" in found.sentence
    assert not recwarn.list


def test_equal_values_have_an_interval_of_no_width(recwarn: pytest.WarningsRecorder) -> None:
    found = describe([0.1] * 7)
    assert found.sd == 0 and found.mean == 0.1
    assert found.median_interval is not None
    assert (found.median_interval.low, found.median_interval.high) == (0.1, 0.1)
    assert found.sentence == "Median 0.1 of 7 runs, all alike."
    assert not recwarn.list
