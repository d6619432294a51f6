"""Some hundred hostile inputs of each kind; `scripts/fuzz.py` tries as many as you like."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlbench.errors import UserError
from dlbench.formats import BadEvent, Event, parse_event
from dlbench.planning.choices import Choices
from dlbench.planning.plan import draft
from tests.orchestrator.hostile.inputs import KINDS, Laboratory
from tests.orchestrator.hostile.mutations import mutated_json

_QUICK = settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
_DRAWS = st.randoms(use_true_random=False)
"""What a mutation draws from: Hypothesis chooses, and finds the smallest input that fails."""


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    return Laboratory(tmp_path_factory.mktemp("laboratory"))


@pytest.mark.parametrize("kind", KINDS)
@_QUICK
@given(draw=_DRAWS)
def test_no_input_ends_a_command_with_a_traceback(
    laboratory: Laboratory, kind: str, draw: random.Random
) -> None:
    command, ended = laboratory.try_one(kind, draw)
    assert not ended.fault, f"{command}: {ended.fault}\n{ended.traceback}"


_EVENT = Event(1.0, "epoch", {"epoch": 1, "loss": 0.5, "steps_ms": [1.0], "first": 0,
                              "metrics": {"accuracy": 0.5}, "train_s": 1.0})  # fmt: skip


@settings(_QUICK, max_examples=300)
@given(draw=_DRAWS)
def test_an_event_is_read_or_refused_and_can_be_written_again(draw: random.Random) -> None:
    try:
        event = parse_event(mutated_json(_EVENT.line().encode(), draw))
    except BadEvent as error:
        assert str(error).isprintable()
        return
    event.line().encode("utf-8")


_WORDS = st.text(max_size=20) | st.sampled_from(["²", "9" * 400, "4g", "nan", "-1", "1e999"])


@settings(_QUICK, max_examples=100)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "repeats": st.integers(),
            "seed": st.integers(),
            "epochs": st.integers(),
            "cpus": st.floats(),
            "memory": _WORDS,
            "threads": _WORDS,
            "time_limit": _WORDS,
            "gpu": _WORDS,
        },
    )
)
def test_any_choice_is_planned_or_refused_in_words(values: dict[str, object]) -> None:
    try:
        plan = draft(Choices(frameworks=("numpy",), **values), "process")  # type: ignore[arg-type]
    except UserError as error:
        assert error.remedy
        assert len(str(error)) < 500
    else:
        assert 1 <= len(plan.trials) <= 100_000
