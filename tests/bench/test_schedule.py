"""Learning rates, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from bench import schedule
from dlbench.planning import recipes


def rates(chosen: dict[str, Any], steps: int, steps_an_epoch: int = 2) -> list[float]:
    recipe = {"optimizer": {"lr": 0.8}, "schedule": chosen}
    return [schedule.rate(recipe, step, steps_an_epoch, steps) for step in range(steps)]


def test_constant_with_warmup() -> None:
    assert rates(recipes.constant(warmup=4), 6) == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.8])


def test_step_counts_epochs() -> None:
    assert rates(recipes.step(2, 0.5), 9) == pytest.approx([0.8] * 4 + [0.4] * 4 + [0.2])


def test_steps_that_grow_without_end() -> None:
    assert rates(recipes.step(1, 1e9), 2000, steps_an_epoch=1)[-1] == 1e9


def test_cosine_goes_from_the_rate_to_the_least() -> None:
    got = rates(recipes.cosine(least=0.25), 4)
    assert got == pytest.approx([0.8, 0.712132, 0.5, 0.287868], abs=1e-6)


def test_cosine_begins_after_its_warmup() -> None:
    got = rates(recipes.cosine(warmup=2), 4)
    assert got == pytest.approx([0.4, 0.8, 0.8, 0.4])


def test_inverse_counts_steps_from_zero() -> None:
    assert rates(recipes.inverse(0.5), 3) == pytest.approx([0.8, 0.8 / 1.5, 0.4])


def test_no_rate_is_too_small_or_too_large_for_float32() -> None:
    fading = rates(recipes.step(1, 1e-3), 400)
    assert fading[:4] == pytest.approx([0.8, 0.8, 8e-4, 8e-4])
    assert fading[-1] == schedule.LEAST
    assert rates(recipes.step(1, 1e9), 400)[-1] == schedule.MOST
    assert rates(recipes.constant(warmup=10**9), 1) == pytest.approx([8e-10])
    end = schedule.rate(
        {"optimizer": {"lr": 0.8}, "schedule": recipes.cosine()}, 10**9 - 1, 1000, 10**9
    )
    assert end == schedule.LEAST


def test_every_schedule_of_the_recipes_has_a_formula() -> None:
    assert schedule._SHAPES.keys() == recipes.SCHEDULES.keys()
