"""A campaign records what did not ship with dlbench, and is resumed with just that."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench import extensions
from dlbench.errors import UserError
from dlbench.planning.plan import Choices, draft
from dlbench.running import origins

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "own_things"


@pytest.fixture(autouse=True)
def nothing_is_searched_afterwards() -> None:
    yield
    extensions.use(())


def test_what_ships_with_dlbench_is_not_recorded() -> None:
    extensions.use([EXAMPLE])
    assert origins.record(draft(Choices(frameworks=("numpy@2.4.6",)), "process")) == []


def test_a_suite_of_ones_own_is_recorded_but_not_needed_again(tmp_path: Path) -> None:
    suite = tmp_path / "mine.toml"
    suite.write_text('workloads = ["digits-cnn"]\nreleases = ["numpy@2.4.6"]\n')
    recorded = origins.record(draft(Choices(suite=str(suite)), "process"))
    assert [(each["kind"], each["name"], each["origin"]) for each in recorded] == [
        ("suite", "mine", "mine.toml")
    ]
    suite.unlink()
    origins.check(recorded, tmp_path)


@pytest.mark.parametrize("kind", ["workload", "data set", "release", "adapter"])
def test_each_kind_is_missed_and_compared(kind: str) -> None:
    extensions.use([EXAMPLE])
    plan = draft(Choices(frameworks=("numpy-layout",), workloads=("spirals-mlp",)), "process")
    (recorded,) = [each for each in origins.record(plan) if each["kind"] == kind]
    origins.check([recorded], Path("campaign"))
    with pytest.raises(UserError, match=f"The {kind} .* is no longer what it was"):
        origins.check([{**recorded, "digest": "0" * 64}], Path("campaign"))
    extensions.use(())
    with pytest.raises(UserError, match=r"came from 'own_things', which is not searched.*--path"):
        origins.check([recorded], Path("campaign"))
