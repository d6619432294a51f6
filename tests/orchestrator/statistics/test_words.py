"""Numbers as people read them."""

from __future__ import annotations

from dlbench.statistics.words import together


def test_a_difference_that_was_seen_is_not_written_as_none() -> None:
    assert together(-0.0006, -0.0167, 0.0167) == ("-0.001", "-0.017", "0.017")
    assert together(0.0039, -0.0139, 0.0139) == ("0.004", "-0.014", "0.014")
    assert together(0.0, -0.02, 0.02) == ("0.00", "-0.02", "0.02")
