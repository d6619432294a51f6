"""Sweeps: every combination once, compared within its point, refused where it is not possible."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dlbench.errors import UserError
from dlbench.planning.choices import Choices
from dlbench.planning.extension import extension
from dlbench.planning.plan import draft
from dlbench.planning.repeats import rivals
from dlbench.planning.trial import Trial


def planned(**choices: object) -> tuple[Trial, ...]:
    return draft(Choices(**choices), "process").trials  # type: ignore[arg-type]


def test_a_grid_is_planned_as_one_campaign() -> None:
    trials = planned(sweep=("batch=1, 8", "threads=1,2"), repeats=2)
    points = {"batch=1 threads=1", "batch=1 threads=2", "batch=8 threads=1", "batch=8 threads=2"}
    assert {trial.point for trial in trials} == points
    assert len(trials) == 3 * 4 * 2
    assert len({trial.contender for trial in trials}) == 12
    assert rivals(trials) == 3, "contenders are compared within a point"
    for trial in trials:
        assert f"threads={trial.threads}" in trial.point
        assert trial.changes == (trial.point.split()[0],)
        assert trial.place == f"digits-cnn ({trial.point})"
    rounds = Counter(trial.round for trial in trials)
    assert rounds == {0: 12, 1: 12}, "every point is in every round"
    assert [Trial.from_json(trial.to_json()) for trial in trials] == list(trials)


def test_epochs_and_steps_are_swept_as_budgets() -> None:
    by_epochs = planned(sweep=("epochs=1,2",), frameworks=("numpy",), repeats=1)
    assert {(t.point, t.epochs, t.steps) for t in by_epochs} == {
        ("epochs=1", 1, None), ("epochs=2", 2, None),
    }  # fmt: skip
    assert all(t.changes == () for t in by_epochs)
    by_steps = planned(sweep=("steps=5,50",), frameworks=("numpy",), repeats=1)
    assert {t.steps for t in by_steps} == {5, 50}


def test_the_same_value_in_two_spellings_is_one_point() -> None:
    trials = planned(sweep=("optimizer.lr=0.1,1e-1,.10",), frameworks=("numpy",), repeats=1)
    assert [trial.point for trial in trials] == ["optimizer.lr=0.1"]


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"sweep": ("batch",)}, "'batch' does not say which field gets which values"),
        ({"sweep": ("batch=",)}, "does not say which"),
        ({"sweep": ("=1,2",)}, "does not say which"),
        ({"sweep": ("batch=1,,2",)}, "does not say which"),
        ({"sweep": ("batch=1", "batch=2")}, "names batch twice"),
        ({"sweep": ("bach=1",)}, "no field 'bach' to sweep. Did you mean 'batch'"),
        ({"sweep": ("seed=1,2",)}, "no field 'seed' to sweep"),
        ({"sweep": ("batch=8,0",)}, "`batch` must be at least 1. It is 0"),
        ({"sweep": ("threads=0",)}, "threads='0' is not possible. Give `default` or a whole"),
        ({"sweep": ("threads=two",)}, "threads='two' is not possible"),
        ({"sweep": ("epochs=0",)}, "epochs='0' is not possible. Give a whole number from 1"),
        ({"sweep": ("epochs=1.5",)}, "epochs='1.5' is not possible"),
        ({"sweep": ("steps=none",)}, "steps='none' is not possible"),
        ({"sweep": ("epochs=1", "steps=2")}, "epochs and steps exclude each other"),
        ({"sweep": ("epochs=1,2",), "epochs": 3}, "--epochs and a sweep of epochs exclude"),
        ({"sweep": ("epochs=1,2",), "steps": 3}, "--steps and a sweep of epochs exclude"),
        ({"sweep": ("threads=1,2",), "threads": "2"}, "--threads and a sweep of threads exclude"),
        ({"sweep": tuple(f"optimizer.{f}={','.join(map(str, range(1, 40)))}"
                         for f in ("lr", "momentum", "weight_decay"))}, "more than 10,000 points"),
    ],
)  # fmt: skip
def test_what_is_not_possible_is_refused_at_planning(
    choices: dict[str, object], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        planned(**choices)


def test_a_point_that_no_table_could_name_is_refused() -> None:
    fields = ("batch", "warmup", "epochs", "optimizer.lr", "optimizer.momentum", "clip", "threads",
              "schedule.factor", "schedule.every", "schedule.warmup")  # fmt: skip
    sweep = (*(f"{field}=1" for field in fields if field != "optimizer.momentum"),
             "schedule.name=step", "stopping.patience=100000", "stopping.validation=0.125",
             "optimizer.weight_decay=0.00000012345678901", "augment.flip=true")  # fmt: skip
    with pytest.raises(UserError, match="has no readable name"):
        planned(sweep=sweep)


def test_what_is_added_to_a_campaign_gets_all_its_points() -> None:
    there = planned(sweep=("batch=8,16",), frameworks=("numpy",), repeats=2, rows=100)
    added = extension(there, Choices(frameworks=("pytorch",)))
    assert {(t.release, t.point, t.repeat) for t in added} == {
        ("pytorch@2.13.0", point, repeat) for point in ("batch=8", "batch=16") for repeat in (0, 1)
    }
    assert {(t.changes, t.rows) for t in added} == {(("batch=8",), 100), (("batch=16",), 100)}
    more = extension(there, Choices(repeats=3))
    assert Counter(t.point for t in more) == {"batch=8": 1, "batch=16": 1}
    other = extension(there, Choices(workloads=("mnist-cnn",)))
    assert {(t.workload, t.point, t.epochs) for t in other} == {
        ("mnist-cnn", "batch=8", 8), ("mnist-cnn", "batch=16", 8),
    }  # fmt: skip
    with pytest.raises(UserError, match=r"optimizer.beta1. is not known here"):
        adam = planned(workloads=("petrol-mlp",), sweep=("optimizer.beta1=0.5,0.9",), repeats=1)
        extension(adam, Choices(workloads=("mnist-cnn",)))


def test_a_suite_sweeps_and_changes_recipes(tmp_path: Path) -> None:
    suite = tmp_path / "own.toml"
    suite.write_text(
        'workloads = ["digits-cnn", "petrol-mlp"]\nreleases = ["numpy"]\nrepeats = 1\n'
        "[recipe]\nwarmup = 3\n[sweep]\nbatch = [4, 8]\n"
        "[workload.petrol-mlp]\npoints = [{ optimizer.lr = 0.5, epochs = 2 }, { batch = 2 }]\n"
    )
    trials = planned(suite=str(suite))
    assert {(t.workload, t.point, t.changes) for t in trials} == {
        ("digits-cnn", "batch=4", ("warmup=3", "batch=4")),
        ("digits-cnn", "batch=8", ("warmup=3", "batch=8")),
        ("petrol-mlp", "optimizer.lr=0.5 epochs=2", ("warmup=3", "optimizer.lr=0.5")),
        ("petrol-mlp", "batch=2", ("warmup=3", "batch=2")),
    }
    assert {t.epochs for t in trials if t.point == "optimizer.lr=0.5 epochs=2"} == {2}
    chosen = planned(suite=str(suite), sweep=("batch=2",))
    assert {t.point for t in chosen} == {"batch=2"}, "the command line replaces the suite's sweep"
