"""What pip ends with becomes a sentence that names the cause."""

from __future__ import annotations

import pytest

from dlbench.environments.downloads import _failure

_NONE = "ERROR: No matching distribution found for six==1.17.0\n"
_BROKEN = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError'\n"
_TRACEBACK = "ERROR: Exception:\nTraceback (most recent call last):\n"


@pytest.mark.parametrize(
    ("log", "said", "remedy"),
    [
        (_NONE, "has six==1.17.0 for this Python", "pip config list"),
        (_BROKEN + _NONE, "does not answer, so six==1.17.0", "Check the network"),
        (f"{_TRACEBACK}OSError: [Errno 28] No space left on device\n", "do not fit", "Make room"),
        (f"{_TRACEBACK}PermissionError: /x\n", "packages: PermissionError: /x.", "start again"),
        ("", "no output", "start again"),
    ],
)
def test_a_failure_names_its_cause(log: str, said: str, remedy: str) -> None:
    error = _failure(log)
    assert said in error.problem and remedy in error.remedy
