"""What can be known to fail is known before anything is prepared."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlbench.datasets.store import PreparedData
from dlbench.environments import releases
from dlbench.environments.releases import Release
from dlbench.errors import UserError
from dlbench.planning import recipes
from dlbench.planning.choices import Choices
from dlbench.planning.graph import Graph
from dlbench.planning.plan import draft
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.preparation import (
    GpuImpossible,
    check_fit,
    prepare_data,
    prepare_environments,
)
from dlbench.running.workshop import Workshop, open_workshop
from dlbench.workloads import Workload


class Unbuildable(Workshop):
    """Makes nothing but NumPy's environment, and sees no GPU."""

    def environment(self, release: Release, device: str, progress: object = None) -> str:
        if release.framework != "numpy":
            raise UserError("It can't be built.", "Try later.")
        return "python"

    def check(self, release: Release, device: str) -> None:
        release.lock(device)

    def gpu_refusal(self, release: Release, gpus: tuple[str, ...] = ("all",)) -> str | None:
        return "No GPU is seen here."


class Notes(CampaignObserver):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def prepared(choices: Choices, observer: CampaignObserver | None = None):
    workshop = Unbuildable(open_workshop("process").engine, None)
    trials = draft(choices, "process").trials
    return prepare_environments(trials, workshop, observer or CampaignObserver())


def test_a_failure_is_kept_for_its_trials() -> None:
    observer = Notes()
    environments = prepared(Choices(frameworks=("numpy", "jax")), observer)
    assert environments[releases.find("numpy").name, "cpu"] == "python"
    assert isinstance(environments[releases.find("jax").name, "cpu"], UserError)
    assert len(observer.notes) == 1
    assert "can't be built" in observer.notes[0]


def test_the_only_failure_ends_the_campaign() -> None:
    with pytest.raises(UserError, match="can't be built"):
        prepared(Choices(frameworks=("jax",)))


class WithoutPython36(Unbuildable):
    """Knows beforehand that a release can't be made here."""

    def check(self, release: Release, device: str) -> None:
        if release.python == ("3.6",):
            raise UserError("No Python 3.6 was found.", "Get one.")

    def environment(self, release: Release, device: str, progress: object = None) -> str:
        return "python"


def test_a_missing_interpreter_fails_its_release_only() -> None:
    old = next(r for r in releases.load_releases() if r.python == ("3.6",)).name
    workshop, observer = WithoutPython36(open_workshop("process").engine, None), Notes()
    trials = draft(Choices(frameworks=("numpy", old)), "process").trials
    environments = prepare_environments(trials, workshop, observer)
    assert environments[releases.find("numpy").name, "cpu"] == "python"
    assert isinstance(environments[old, "cpu"], UserError)
    assert observer.notes == [f"{old} will not run. No Python 3.6 was found. Get one."]
    alone = draft(Choices(frameworks=(old,)), "process").trials
    with pytest.raises(UserError, match=r"No Python 3\.6"):
        prepare_environments(alone, workshop, observer)


def test_a_gpu_that_is_not_there() -> None:
    environments = prepared(Choices(frameworks=("pytorch",), gpu="all"))
    (refusal,) = environments.values()
    assert isinstance(refusal, GpuImpossible)


def test_what_tells_when_to_stop_must_be_in_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path))

    def prepare(*sweep: str, **more: Any) -> None:
        chosen = Choices(frameworks=("numpy",), data="synthetic", sweep=sweep, **more)
        prepare_data(draft(chosen, "process").trials, CampaignObserver())

    by_split = ("stopping.patience=2", "stopping.validation=none")
    with pytest.raises(UserError, match=r"no split 'validation'"):
        prepare(*by_split)
    prepare(*by_split, confounds=("chosen-on-test",))  # it is made there
    prepare("stopping.patience=2", "stopping.validation=0.5")
    for share in ("0.0001", "0.9999"):
        with pytest.raises(UserError, match=rf"{share} of \d+ rows can't be kept"):
            prepare("stopping.patience=2", f"stopping.validation={share}")


def test_each_workload_gets_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path))
    chosen = Choices(frameworks=("numpy",), data="synthetic", repeats=2)
    data = prepare_data(draft(chosen, "process").trials, CampaignObserver())
    assert {name: each.source for name, each in data.items()} == {"digits-cnn": "synthetic"}
    shutil.rmtree(data["digits-cnn"].folder)
    assert data["digits-cnn"].rows["train"] == 1438, (
        "a trial that ends then is recorded all the same"
    )


def _prepared(folder: Path, **arrays: np.ndarray) -> PreparedData:
    """Data whose test split is its training split."""
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    files = {name: f"{name}.npy" for name in arrays}
    return PreparedData("own", "real", folder, "", {"train": files, "test": files}, {}, 0)


@pytest.mark.parametrize(
    ("changes", "arrays", "words"),
    [
        ({}, {}, ""),
        ({}, {"label": np.array([[0], [2], [True]])}, ""),  # as some data sets have it
        ({}, {"label": np.array([0, 3, 1])}, "has values from 0 to 3; the classes of 'y' go from"),
        ({}, {"label": np.array([0.0, 1.0, 2.0])}, "'label' of train does not hold whole numbers"),
        ({}, {"words": np.full((3, 2), -1)}, "the tokens of 'embedding1' go from 0 to 4"),
        ({}, {"length": np.array([1, 2, 0])}, "the lengths of 'lstm1' go from 1 to 2"),
        ({}, {"often": np.array([1, 0, 2])}, "the values of a mask go from 0 to 1"),
        ({"stopping": recipes.stopping(1, validation=None)}, {}, "have no split 'validation'"),
    ],
)
def test_data_that_the_workload_can_not_read(
    changes: dict[str, object], arrays: dict[str, np.ndarray], words: str, tmp_path: Path
) -> None:
    g = Graph("own")
    x = g.embedding(g.input("words", (2,), "int32"), 5, 3)
    x = g.lstm(x, 3, lengths=g.input("length", (), "int32"))
    g.outputs(g.dense(x, 3, name="y"))
    whole = {"batch": 2, "epochs": 1, "optimizer": recipes.sgd(0.1), **changes}
    losses = [recipes.loss("softmax-cross-entropy", "y", "label", mask="often")]
    metrics = [recipes.metric("accuracy", "y", "label")]
    recipe = recipes.recipe(losses=losses, metrics=metrics, **whole)  # type: ignore[arg-type]
    right = {
        "words": np.array([[0, 4], [1, 2], [3, 3]]), "label": np.array([0, 2, 1]),
        "length": np.array([1, 2, 2]), "often": np.array([True, False, True]),
    }  # fmt: skip
    workload = Workload("own", "task", "own", g.to_json(), recipe)
    data = _prepared(tmp_path, **{**right, **arrays})
    if words:
        with pytest.raises(UserError, match=f"own can't be trained on own: .*{words}"):
            check_fit(workload, data)
    else:
        check_fit(workload, data)
