"""Which confounds a plan puts into whom: what a user asks for and reads before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from dlbench.errors import UserError
from dlbench.planning.altered import to_be_proven
from dlbench.planning.choices import Choices
from dlbench.planning.extension import extension
from dlbench.planning.plan import draft
from dlbench.planning.repeats import rivals
from dlbench.planning.trial import Trial
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.jobs import identified, job_of
from dlbench.running.preparation import prepare_data


def planned(**choices: Any) -> tuple[Trial, ...]:
    return draft(Choices(**{"repeats": 1, **choices}), "process").trials


def study(name: str, workload: str, *models: str, **more: Any) -> Choices:
    own = {"suite": name, "scale": "smoke", "workloads": (workload,), "models": models}
    return Choices(**{**own, "repeats": 1, **more})


def test_as_published_each_framework_has_what_its_code_had() -> None:
    plan = draft(study("elshawi2021", "cifar10-cnn", "published"), "process")
    had = {trial.release: trial.confounds for trial in plan.trials}
    assert had == {
        "tensorflow@1.11.0": ("timed-evaluation",),
        "keras@2.2.4": ("rate-decay:decay=1e-06", "timed-evaluation"),
        "pytorch@1.0.0": ("no-dropout", "timed-evaluation:batch=1"),
        "mxnet@1.3.0": ("no-padding", "timed-evaluation:rows=both"),
        "theano@1.0.2": ("no-padding", "timed-evaluation:rows=both"),
        "chainer@4.5.0": (
            "no-padding:convolution=3", "evaluation-in-training-mode", "timed-evaluation",
        ),
    }  # fmt: skip
    labels = {trial.label for trial in plan.trials}
    assert "pytorch@1.0.0 +no-dropout +timed-evaluation:batch=1" in labels
    notes = draft(study("elshawi2021", "ptb-lstm", "published"), "process").notes
    into = [note for note in notes if note.startswith("Not put back into ")]
    assert len(into) == 1, "one sentence for all"
    assert "tensorflow@1.11.0, keras@2.2.4, pytorch@1.0.0" in into[0]


def test_both_in_one_campaign_each_contender_once() -> None:
    plan = draft(study("sohail2022", "petrol-mlp", "intended", "published"), "process")
    one = [trial for trial in plan.trials if trial.point == "epochs=1"]
    assert sorted((trial.release, trial.confounds) for trial in one) == [
        ("pytorch@1.13.1", ()),
        (
            "pytorch@1.13.1",
            ("hidden-units:units=none", "other-optimizer:to=sgd,lr=0.01", "broadcast-loss"),
        ),
        ("tensorflow@2.10.1", ()),
    ]
    assert len({trial.round for trial in one}) == 1, "they run in the same rounds"
    assert rivals(one) == 2, "the altered one is no rival of the others"
    assert any("tensorflow@2.10.1 on petrol-mlp is as intended" in note for note in plan.notes)


def test_a_newer_release_has_what_its_framework_had() -> None:
    chosen = study("elshawi2021", "mnist-cnn", "published", frameworks=("pytorch@2.13.0", "jax"))
    plan = draft(chosen, "process")
    had = {trial.release.partition("@")[0]: trial.confounds for trial in plan.trials}
    assert had == {"pytorch": ("no-dropout", "timed-evaluation:batch=1"), "jax": ()}
    assert "jax@0.12.0.1 is not in elshawi2021: nothing is put back into it." in plan.notes


def test_without_a_word_nothing_is_put_back() -> None:
    assert {trial.confounds for trial in planned(frameworks=("numpy", "jax"))} == {()}


def test_one_alone_on_every_contender_and_beside_the_plain_ones() -> None:
    names = ("numpy", "jax")
    alone = planned(frameworks=names, confounds=("no-dropout", "unscaled-images+no-dropout"))
    sets = {("no-dropout",), ("no-dropout", "unscaled-images")}
    assert {trial.confounds for trial in alone} == sets and len(alone) == 4
    both = planned(frameworks=names, confounds=("no-dropout",), models=("intended",))
    assert {trial.confounds for trial in both} == {(), ("no-dropout",)} and len(both) == 4
    twice = planned(frameworks=names, confounds=("no-dropout", "no-dropout"))
    assert len(twice) == 2


REFUSED = [
    ({"models": ("published",)}, "The suite quick is not a published study"),
    ({"models": ("imagined",)}, "There is no way to run a study 'imagined'"),
    ({"confounds": ("gremlins",)}, "There is no confound 'gremlins'"),
    ({"confounds": ("no-padding",)}, "no-padding does not apply to digits-cnn: no convolution"),
    (
        {"confounds": ("no-dropout",), "until": "decided"},
        "There is nothing to decide: only one contender",
    ),
]


@pytest.mark.parametrize(("choices", "said"), REFUSED)
def test_what_is_not_possible_is_said_before_anything_runs(
    choices: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError) as wrong:
        draft(Choices(frameworks=("numpy", "jax"), **choices), "process")
    assert said in str(wrong.value)


def test_a_study_of_which_nothing_is_known() -> None:
    with pytest.raises(UserError, match="nothing is known that could be put back"):
        draft(study("elshawi2021", "imdb-lstm", "published"), "process")


def test_where_it_does_not_apply_it_is_left_out_and_said() -> None:
    names = ("mnist-cnn", "mnist-mlp")
    chosen = Choices(frameworks=("numpy",), workloads=names, confounds=("no-dropout",), repeats=1)
    plan = draft(chosen, "process")
    assert [trial.workload for trial in plan.trials] == ["mnist-cnn"]
    assert "no-dropout does not apply to mnist-mlp: it has no dropout. Left out." in plan.notes


def test_it_is_part_of_a_trials_identity_job_and_line() -> None:
    texts = ("timed-evaluation:batch=1", "no-dropout", "unscaled-images")
    trials = planned(frameworks=("numpy",), models=("intended",), confounds=texts)
    data = prepare_data(trials, CampaignObserver())
    named = identified(trials, data)
    assert len({trial.id for trial in named}) == 4
    assert [Trial.from_json(trial.to_json()) for trial in named] == named
    jobs = {trial.confounds: job_of(trial, data["digits-cnn"]) for trial in named}
    plain = jobs[()]
    assert plain["confounds"] == []
    timed = jobs["timed-evaluation:batch=1",]
    assert timed["confounds"] == [
        {"in": "bench", "name": "timed-evaluation", "rows": "test", "batch": 1}
    ]
    assert (timed["graph"], timed["recipe"]) == (plain["graph"], plain["recipe"])
    dry = jobs["no-dropout",]
    assert dry["confounds"] == [{"name": "no-dropout", "in": "job"}]
    assert "dropout" in {n["op"] for n in plain["graph"]["nodes"]}
    assert "dropout" not in {n["op"] for n in dry["graph"]["nodes"]}
    raw = jobs["unscaled-images",]["data"]
    assert raw["divide"] == {} and plain["data"]["divide"] == {"image": 16.0}
    assert {**raw, "divide": 0} == {**plain["data"], "divide": 0}


def test_a_confound_that_takes_a_value_of_the_recipe_is_proven_with_it() -> None:
    swept = ("optimizer.weight_decay=0.001",)
    (trial,) = planned(frameworks=("numpy",), confounds=("rate-decay",), sweep=swept)
    data = prepare_data([trial], CampaignObserver())
    changes, confounds = to_be_proven(trial.changes, trial.confounds)
    assert (changes, confounds) == (swept, ("rate-decay",))
    job = job_of(trial, data["digits-cnn"])
    assert job["recipe"]["schedule"] == {"name": "inverse", "decay": 0.001, "warmup": 0}
    assert to_be_proven(swept, ("timed-evaluation",)) == ((), ())


def test_more_of_a_campaign_with_confounds() -> None:
    alone = planned(frameworks=("numpy",), models=("intended",), confounds=("no-dropout",))
    more = extension(alone, Choices(repeats=2))
    assert {trial.confounds for trial in more} == {(), ("no-dropout",)}
    added = extension(alone, Choices(frameworks=("jax",)))
    assert {(t.release, t.confounds) for t in added} == {
        ("jax@0.12.0.1", ()), ("jax@0.12.0.1", ("no-dropout",)),
    }  # fmt: skip
    with pytest.raises(UserError, match="no-dropout does not apply to mnist-mlp"):
        extension(alone, Choices(workloads=("mnist-mlp",)))
    published = draft(study("elshawi2021", "mnist-cnn", "published"), "process").trials
    assert {t.confounds for t in extension(published, Choices(repeats=2))} == {
        t.confounds for t in published
    }
    with pytest.raises(UserError, match="confounds that belong to single releases"):
        extension(published, Choices(frameworks=("jax",)))
