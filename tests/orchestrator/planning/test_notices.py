"""What is said of a plan before it is run."""

from __future__ import annotations

import pytest

from dlbench.host import machine
from tests.orchestrator.command import Command


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--threads", "999"), "999 threads share"),
        (("--threads", "1"), ""),
        (("--threads", "2", "--cpus", "1"), "2 threads share 1 core:"),
    ],
)
def test_more_threads_than_cores_are_said(
    command: Command, asked: tuple[str, ...], words: str
) -> None:
    if "--cpus" in asked and machine.usable_cores() < 1:
        pytest.skip("less than one core can be used")
    printed = command("plan", "numpy", "--repeats", "1", "--engine", "process", *asked)
    said = printed.out + printed.err
    assert printed.code == 0
    assert said.startswith("1 trial with the process engine")
    assert words in said if words else "threads share" not in said
