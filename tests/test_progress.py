"""What the end of a run says about tests that did not run."""

from __future__ import annotations

import pytest

from tests.progress import not_run


def skipped(reason: str) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid="tests/test_x.py::test_y", location=("tests/test_x.py", 1, "test_y"), keywords={},
        outcome="skipped", longrepr=("tests/test_x.py", 1, f"Skipped: {reason}"), when="setup",
    )  # fmt: skip


def test_each_reason_is_said_once_with_its_count_in_80_columns() -> None:
    daemon = "no container daemon answers (start Docker or set DOCKER_HOST)"
    text = not_run([skipped("no browser."), *[skipped(daemon)] * 58], left_out=12)
    assert " ".join(text.split()) == (
        f"58 tests were skipped: {daemon}. 1 test was skipped: no browser. "
        "12 tests were left out as slow: ./scripts/test --all runs them."
    )
    assert max(map(len, text.splitlines())) <= 80


def test_where_everything_ran_nothing_is_said() -> None:
    assert not_run([], left_out=0) == ""
