"""From what is asked to the trials: order, seeds, names, limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench import suites
from dlbench.errors import UserError
from dlbench.planning.choices import Choices
from dlbench.planning.plan import draft
from dlbench.planning.trial import Trial


def test_rounds_are_interleaved_and_paired() -> None:
    trials = draft(Choices(repeats=6), "process").trials
    assert len(trials) == 18
    orders = set()
    for number in range(6):
        part = [trial for trial in trials if trial.round == number]
        assert len({trial.release for trial in part}) == 3
        assert {trial.seed for trial in part} == {1 + number}, "pairs share their seed"
        orders.add(tuple(trial.release for trial in part))
    assert len(orders) > 1, "every round had the same order"
    assert trials == draft(Choices(repeats=6), "process").trials, "the order is not reproducible"
    assert trials != draft(Choices(repeats=6, seed=5), "process").trials


def test_variants_are_contenders() -> None:
    choices = Choices(frameworks=("tensorflow@2.21.0", "tensorflow@2.21.0:fit"), repeats=1)
    trials = draft(choices, "process").trials
    assert {trial.label for trial in trials} == {"tensorflow@2.21.0", "tensorflow@2.21.0:fit"}
    assert [Trial.from_json(trial.to_json()) for trial in trials] == list(trials)


def test_a_contender_named_twice_runs_once() -> None:
    choices = Choices(
        frameworks=("pytorch", "numpy", "pytorch:eager", "pytorch@2.13.0", "numpy"),
        against=("numpy:numpy",), workloads=("digits-cnn", "digits-cnn"), devices=("cpu", "cpu"),
        settings=("matched", "matched"), repeats=2,
    )  # fmt: skip
    trials = draft(choices, "process").trials
    assert len(trials) == 4
    assert len({(trial.contender, trial.repeat) for trial in trials}) == 4


def test_a_baseline_runs_in_the_same_rounds() -> None:
    trials = draft(Choices(frameworks=("pytorch",), against=("numpy",)), "process").trials
    assert len(trials) == 10
    for number in range(5):
        assert len({trial.release for trial in trials if trial.round == number}) == 2
    with_suite = draft(Choices(against=("jax",), repeats=1), "process").trials
    assert len(with_suite) == 4, "the suite's own releases stay"


def test_repeats_are_what_the_test_needs() -> None:
    quick = draft(Choices(), "process").trials
    assert max(trial.repeat for trial in quick) + 1 == 5
    alone = draft(Choices(frameworks=("numpy",)), "process").trials
    assert len(alone) == 3


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (Choices(frameworks=("pytorch@1.0",)), "Did you mean 'pytorch@1.0.0'"),
        (Choices(frameworks=("pytorch@1",)), "Did you mean 'pytorch@1.13.1'"),
        (Choices(frameworks=("pytorch@0.4.1",)), "pytorch is here as 1.0.0"),
        (Choices(frameworks=("keras@3.15.1",)), "Did you mean 'keras@3.15.1-torch'"),
        (Choices(frameworks=("pytorch@",)), "pytorch is here as"),
        (Choices(frameworks=("pytorhc@1.0.0",)), "Did you mean 'pytorch'"),
        (Choices(until="decided", at_most=10**9), "Give up to 100,000 repeats"),
        (Choices(suite="quik"), "Did you mean 'quick'"),
        (Choices(frameworks=("pytorhc",)), "Did you mean 'pytorch'"),
        (Choices(frameworks=("pytorch@2.13",)), "Did you mean 'pytorch@2.13.0'"),
        (Choices(frameworks=("tensorflow:fti",)), "Did you mean 'fit'"),
        (Choices(workloads=("mnist-cn",)), "Did you mean 'mnist-cnn'"),
        (Choices(workloads=("proof-two-branch",)), "dlbench verify"),
        (Choices(devices=("tpu",)), "no device 'tpu'"),
        (Choices(settings=("mached",)), "Did you mean 'matched'"),
        (Choices(data="reel"), "Did you mean 'real'"),
        (Choices(epochs=1, steps=1), "exclude each other"),
        (Choices(epochs=0), "not possible"),
        (Choices(repeats=-1), "not possible"),
        (Choices(threads="some"), "default"),
        (Choices(seeds="some"), "such as 1,12,123"),
        (Choices(seeds="1,2147483648"), "from 0 to 2,147,483,647"),
        (Choices(seeds="1,,2"), "such as 1,12,123"),
        (Choices(seeds="1,2", repeats=3), "up to 2 repeats"),
        (Choices(seeds="1,2", seed=3), "Leave one of them out"),
        (Choices(seeds="1,2", until="decided"), "Leave one of them out"),
        (Choices(memory="4q"), "512m or 4g"),
        (Choices(time_limit="soon"), "90s, 15m"),
        (Choices(cpus=0), "number from 0.01"),
        (Choices(gpu="first", devices=("cpu",)), "indices"),
        (Choices(gpu=","), "indices"),
        (Choices(gpu="0", devices=("cpu",)), "contradict each other"),
        (Choices(gpu="none", devices=("gpu",)), "contradict each other"),
        (Choices(frameworks=("numpy",), devices=("gpu",)), "no packages for device 'gpu'"),
    ],
)
def test_wrong_choices_name_the_remedy(choices: Choices, words: str) -> None:
    with pytest.raises(UserError) as caught:
        draft(choices, "process")
    assert words in str(caught.value)
    assert caught.value.problem
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("workloads = [", "not TOML"),
        ('workloads = ["digits-cnn"]', "names no releases"),
        ('workloads = ["digits-cnn"]\nreleases = ["numpy"]\nrepeat = 3', "Did you mean 'repeats'"),
        ('workloads = ["digits-cnn"]\nreleases = ["numpy"]\nrepeats = 0', "whole number from 1"),
        ('workloads = "digits-cnn"\nreleases = ["numpy"]', "list of strings"),
        ('workloads = ["digits-cnn"]\nreleases = ["numpy"]\ninference = 1', "true or false"),
        ('workloads = ["digits-cnn"]\nreleases = ["numpy"]\nseeds = "all"', '"each", "same" or a'),
        ('workloads = ["digits-cnn"]\nreleases = ["numpy"]\nseeds = [1, -1]', "a list of whole"),
        ('workloads = ["digits-cnn"]\nreleases = ["numpy"]\nseeds = []', "a list of whole"),
    ],
)
def test_broken_suite_files(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=words):
        suites.find(str(path))


def test_a_users_own_suite(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('workloads = ["digits-cnn"]\nreleases = ["numpy"]\nrepeats = 2\nsteps = 5\n')
    trials = draft(Choices(suite=str(path)), "process").trials
    assert [trial.steps for trial in trials] == [5, 5]
    assert not any(trial.inference for trial in trials)
    path.write_text(path.read_text() + "inference = true\n")
    assert all(trial.inference for trial in draft(Choices(suite=str(path)), "process").trials)
    assert all(trial.inference for trial in draft(Choices(inference=True), "process").trials)


def test_far_names_are_not_offered() -> None:
    with pytest.raises(UserError) as caught:
        draft(Choices(frameworks=("sklearn",)), "process")
    assert "keras" not in str(caught.value).partition("Known")[0]
    assert "Did you mean" not in str(caught.value)
