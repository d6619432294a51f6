"""What rounding may do to a step: no more than the bound, and nearly as much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.proof.envelope import Envelope, longest_step
from bench.proof.noise import FACTOR
from bench.reference.optimizers import Optimizer
from dlbench.planning import recipes

RATE = 1e-3
KINDS = [
    pytest.param(recipes.adam(RATE), id="adam"),
    pytest.param(dict(recipes.adam(RATE), epsilon=0.3), id="adam of a large epsilon"),
    pytest.param(
        {**recipes.adam(RATE), "epsilon": 0.01, "hat_epsilon": True}, id="adam's other form"
    ),
    pytest.param(recipes.adam(RATE, beta1=0.0, beta2=0.5), id="adam without a momentum"),
    pytest.param(recipes.adam(RATE, beta1=0.8, beta2=0.0), id="adam of the last square"),
    pytest.param(recipes.adadelta(RATE), id="adadelta"),
    pytest.param(recipes.adadelta(RATE, rho=0.5, epsilon=1e-2), id="adadelta that forgets"),
    pytest.param(recipes.sgd(RATE, momentum=0.9), id="momentum"),
]


def _walked(optimizer: Any, gradients: Any, spread: Any) -> list[tuple[Any, Any]]:
    """(the step, the room) of each step by these gradients, each good to FACTOR times spread."""
    envelope, walked = Envelope({"optimizer": optimizer}), []
    for g, own in zip(gradients, spread, strict=True):
        one = envelope.steps({}, {"n": {"bias": g}}, {("n", "bias"): own})
        walked.append((one[0]["n"]["bias"], one[1]["n"]["bias"]))
    return walked


def _taken(optimizer: Any, gradients: Any) -> list[Any]:
    formula = Optimizer({"optimizer": optimizer})
    return [-formula.steps({}, {"n": {"bias": g}})["n"]["bias"] for g in gradients]


@pytest.mark.parametrize("optimizer", KINDS)
@pytest.mark.parametrize("share", [1e-4, 1e-2, 0.3])
def test_no_gradients_within_their_rounding_leave_the_room(optimizer: Any, share: float) -> None:
    """Each step's gradient is moved by itself: at random, to the ends, or in one step alone."""
    random, steps, places = np.random.RandomState(3), 25, 400
    gradients = random.normal(size=(steps, places)) * 10 ** random.uniform(-1, 1, places)
    gradients += np.where(random.uniform(size=places) < 0.5, 2, 0)
    shift = share * np.abs(gradients).max(axis=1)
    walked = _walked(optimizer, gradients, shift / FACTOR)
    alone = np.zeros((steps, 1))
    alone[7] = 1
    for moves in (
        random.uniform(-1, 1, gradients.shape),
        random.choice([-1, 1], gradients.shape),
        np.sign(gradients) * (1 - 2 * (np.arange(steps) % 2))[:, None],
        np.sign(gradients) * np.where(np.arange(steps) < 12, 1, -1)[:, None],
        alone * np.ones_like(gradients),
    ):
        moved = _taken(optimizer, gradients + shift[:, None] * moves)
        clear = np.abs(gradients) > shift[:, None]  # what is rounding alone has a bound of its own
        for (step, room), other, told in zip(walked, moved, clear, strict=True):
            told = told | (optimizer["name"] != "adadelta")
            assert (np.abs(other - step) <= room + 1e-9 * RATE)[told].all()


def test_a_gradient_that_jumps_to_the_other_side_of_a_kink_in_one_step_alone() -> None:
    """Both moved up, or both down, the two gradients have nearly the same ratio, and Adam sees
    only that: a ResNet-18 in every TensorFlow failed by this."""
    gradients, jump = np.array([[0.0072146], [0.2651799]]), 0.019328
    step, room = _walked(recipes.adam(RATE), gradients, [5.2e-4, 0.0193])[1]
    other = _taken(recipes.adam(RATE), gradients + np.array([[0.0], [jump]]))[1]
    assert abs(other - step) > 1e-3 * RATE
    assert abs(other - step) < room
    assert room <= 2 * RATE * longest_step(recipes.adam(RATE), 2)


@pytest.mark.parametrize("optimizer", KINDS[:2])
def test_adam_is_left_little_more_room_than_some_gradients_take(optimizer: Any) -> None:
    """The past's two means are bounded each by itself, so that no row may go the whole way."""
    random, steps = np.random.RandomState(5), 6
    gradients = random.normal(size=steps) + 1
    shift = np.full(steps, 1e-3)
    _, room = _walked(optimizer, gradients[:, None], shift / FACTOR)[-1]
    signs = 2 * ((np.arange(2**steps)[None] >> np.arange(steps)[:, None]) % 2) - 1
    moved = _taken(optimizer, gradients[:, None] + shift[:, None] * signs)[-1]
    assert 0.25 * room[0] < moved.max() - moved.min() < 1.001 * room[0]


def test_the_first_step_of_adam_has_no_room_but_for_rounding_alone() -> None:
    """Its length is the learning rate, whatever the gradient: only the sign can be another."""
    gradients = np.array([[1.0, -0.02, 1e-6]])
    _, room = _walked(recipes.adam(RATE, beta2=0.9), gradients, [1e-4])[0]
    assert (room[:2] < 2e-6 * RATE).all()
    assert room[2] == pytest.approx(2 * RATE, rel=1e-3)


@pytest.mark.parametrize(("beta2", "share"), [(0.999, 3e-5), (0.99999, 3e-3)])
def test_powers_of_a_beta_next_to_one_are_known_to_float32(beta2: float, share: float) -> None:
    """The powers of Paddle's Adam are products in float32: 1 - beta2^t has few digits left."""
    _, room = _walked(recipes.adam(RATE, beta2=beta2), np.array([[1.0, -0.02]]), [1e-4])[0]
    assert room == pytest.approx(share * RATE, rel=0.05)
    powers = np.multiply.accumulate(np.full(60, np.float32(beta2)))
    exact = 1 - float(np.float32(beta2)) ** np.arange(1, 61)
    assert np.abs(np.sqrt((1 - powers) / exact) - 1).max() < share


def test_a_step_that_is_undone_leaves_no_trace() -> None:
    gradients, spreads = {"n": {"bias": np.array([1.0, 2.0])}}, {("n", "bias"): 1e-3}
    for optimizer in (recipes.adam(RATE), recipes.adadelta(RATE)):
        envelope = Envelope({"optimizer": optimizer})
        envelope.steps({}, gradients, spreads)
        before = envelope.copy()
        first = envelope.steps({}, gradients, spreads)
        again = before.steps({}, gradients, spreads)
        for one, other in zip(first, again, strict=True):
            assert np.array_equal(one["n"]["bias"], other["n"]["bias"])


def test_the_longest_step_of_adam() -> None:
    """Some gradient reaches the bound, and no other goes beyond it."""
    adam, steps = dict(recipes.adam(1e-3), epsilon=1e-30), 30
    worst = (adam["beta1"] / adam["beta2"]) ** np.arange(steps)[::-1]
    histories = np.vstack([worst, np.random.RandomState(1).normal(size=(200, steps))]).T
    taken = np.abs(_taken(adam, histories)[-1]) / adam["lr"]
    bound = longest_step(adam, steps)
    assert taken[0] == pytest.approx(bound)
    assert taken.max() <= bound * (1 + 1e-9)
    assert 1 < bound < 2


def test_what_a_velocity_loses_is_not_clipped() -> None:
    """Of a gradient that is clipped to nothing, decay is all that moves a weight."""
    sgd = {"name": "sgd", "lr": 0.1, "momentum": 0.9, "nesterov": False, "weight_decay": 2.0}
    envelope = Envelope({"optimizer": sgd, "clip": 1e-9})
    weights, gradients = {"a": {"kernel": np.ones(1)}}, {"a": {"kernel": np.ones(1)}}
    for _ in range(5):
        wanted, room = envelope.steps(weights, gradients, {("a", "kernel"): 1e-7})
    unit = np.finfo(np.float32).eps
    assert room["a"]["kernel"] > unit * abs(wanted["a"]["kernel"])
    assert room["a"]["kernel"] < 20 * unit * abs(wanted["a"]["kernel"])
