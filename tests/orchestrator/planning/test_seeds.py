"""The seeds of the repeats, and the cores that each of them is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.errors import UserError
from dlbench.planning.choices import Choices
from dlbench.planning.extension import extension
from dlbench.planning.plan import allotted_cores, draft
from dlbench.planning.seeds import read_seeds, seeds_for
from dlbench.planning.trial import Trial


def planned(**choices: object) -> tuple[Trial, ...]:
    return draft(Choices(frameworks=("numpy",), **choices), "process").trials  # type: ignore[arg-type]


def seeds(trials: tuple[Trial, ...]) -> list[int]:
    return [trial.seed for trial in trials]


def test_each_repeat_has_a_seed_of_its_own_unless_somebody_says_otherwise() -> None:
    assert seeds(planned(repeats=3)) == [1, 2, 3]
    assert seeds(planned(repeats=3, seed=7, seeds="each")) == [7, 8, 9]
    assert seeds(planned(repeats=3, seed=7, seeds="same")) == [7, 7, 7]
    assert seeds(planned(seeds="1,12,123")) == [1, 12, 123]
    assert seeds(planned(seeds="5, 5,5")) == [5, 5, 5]
    assert seeds(planned(seeds="1,12,123", repeats=2)) == [1, 12]


def test_a_suite_lists_its_seeds_and_the_user_counts_more(tmp_path: Path) -> None:
    suite = tmp_path / "mine.toml"
    suite.write_text('workloads = ["digits-cnn"]\nreleases = ["numpy"]\nseeds = [9, 9, 4]\n')
    assert seeds(planned(suite=str(suite))) == [9, 9, 4]
    assert seeds(planned(suite=str(suite), repeats=2)) == [9, 9]
    assert seeds(planned(suite=str(suite), seed=3, repeats=2)) == [3, 4]
    assert seeds(planned(suite=str(suite), seeds="1,2")) == [1, 2]


def test_rounds_of_one_seed_differ_in_their_order() -> None:
    names = ("numpy", "jax", "pytorch", "tensorflow", "mxnet")
    trials = draft(Choices(frameworks=names, repeats=6, seeds="same"), "process").trials
    orders = {tuple(t.release for t in trials if t.round == number) for number in range(6)}
    assert len(orders) > 1


def test_what_is_added_goes_on_as_it_began() -> None:
    same, each = planned(repeats=2, seeds="same"), planned(repeats=2)
    assert seeds(extension(same, Choices(repeats=4))) == [1, 1]
    assert seeds(extension(same, Choices(repeats=4, seed=8))) == [8, 9]
    assert seeds(extension(each, Choices(repeats=4))) == [3, 4]
    assert seeds(extension(each, Choices(seeds="1,1,7"))) == [1, 1, 7]
    assert seeds(extension(each, Choices(seeds="same", repeats=4))) == [1, 1]
    assert seeds(extension(planned(seeds="9,9,4"), Choices(repeats=5))) == [10, 11]
    assert len({t.repeat for t in extension(each, Choices(seeds="1,1,7"))}) == 3


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (Choices(seeds="same"), "Add --repeats"),
        (Choices(seeds="1,2", seed=4), "exclude each other"),
        (Choices(seeds="1,2", repeats=9), "Give up to 2"),
        (Choices(repeats=4, seed=2), "in this campaign already"),
    ],
)
def test_what_can_not_be_added_is_said(choices: Choices, words: str) -> None:
    with pytest.raises(UserError, match=words):
        extension(planned(repeats=2), choices)


def test_more_repeats_than_seeds_are_refused() -> None:
    assert list(seeds_for("each", 3, 2)) == [3, 4]
    assert read_seeds("0,2147483647") == (0, 2147483647)
    with pytest.raises(UserError, match="3 repeats need as many seeds"):
        seeds_for((1, 2), 0, 3)


# ---- cores --------------------------------------------------------------------------------------


def test_matched_gives_all_the_allotted_cores_and_native_leaves_defaults_alone() -> None:
    def threads(cores: float, **choices: object) -> list[int | None]:
        wanted = Choices(frameworks=("numpy",), repeats=1, **choices)  # type: ignore[arg-type]
        return [trial.threads for trial in draft(wanted, "process", cores).trials]

    assert threads(8) == [8]
    assert threads(2.5) == [3]
    assert threads(8, cpus=1.5) == [2]
    assert threads(8, cpus=4) == [4]
    assert threads(0.5) == [1]
    assert threads(8, threads="3") == [3]
    assert threads(8, settings=("native",)) == [None]
    assert threads(8, settings=("native",), threads="3") == [3]
    assert sorted(threads(8, sweep=("threads=1,2,default",)), key=str) == [1, 2, 8]


def test_the_cores_of_this_machine_are_meant_where_no_number_is_given() -> None:
    assert allotted_cores(None) >= 1
    assert allotted_cores(1) == 1


def test_deterministic_trials_are_other_contenders_in_another_case() -> None:
    (plain,), (asked,) = planned(repeats=1), planned(repeats=1, deterministic=True)
    assert asked.deterministic and not plain.deterministic
    assert asked.contender != plain.contender and asked.case != plain.case
    line = plain.to_json()
    del line["deterministic"]
    assert Trial.from_json(line) == plain, "a plan of an older dlbench opens"
