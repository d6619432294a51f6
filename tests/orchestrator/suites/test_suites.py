"""Every suite can be planned at every scale; what a suite's file may say, and what not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dlbench import suites
from dlbench.errors import UserError
from dlbench.planning.choices import Choices
from dlbench.planning.extension import extension
from dlbench.planning.plan import draft
from dlbench.planning.trial import Trial

STUDIES = ("elshawi2021", "gupta2023", "sohail2022", "tian2020", "zvyagin2021")
SCALES = ("smoke", "short", "full")
CONTENDERS = {
    # 8 workloads x 6 frameworks; on the GPU without Theano, which has no packages for it
    "elshawi2021": (48, 18, 88),
    "gupta2023": (54, 3, 54),
    # 2 frameworks x (20 + 30 numbers of epochs)
    "sohail2022": (12, 22, 100),
    # 3 ways x (ResNet-18 with two optimisers + two forms of VGG16)
    "tian2020": (12, 12, 12),
    # 18 points in 2 frameworks
    "zvyagin2021": (36, 12, 36),
}


def plan(name: str, scale: str) -> tuple[Trial, ...]:
    return draft(Choices(suite=name, scale=scale, data="synthetic"), "process").trials


@pytest.mark.parametrize("name", suites.names())
@pytest.mark.parametrize("scale", SCALES)
def test_every_suite_is_planned_at_every_scale(name: str, scale: str) -> None:
    trials = plan(name, scale)
    contenders = Counter(trial.contender for trial in trials)
    assert len(set(contenders.values())) == 1, "all contenders have as many repeats"
    assert {trial.scale for trial in trials} == {scale}
    if name in CONTENDERS:
        assert len(contenders) == CONTENDERS[name][SCALES.index(scale)]
    if scale == "smoke":
        assert set(contenders.values()) == {1}
        assert all(trial.seconds <= 600 for trial in trials if name != "quick")
    for trial in trials if scale == "full" and name in STUDIES else ():
        assert trial.rows is None and trial.share is None, "the study had all of its data"


def test_the_detector_is_small_at_the_smallest_scale_of_its_study() -> None:
    trials = {scale: plan("elshawi2021", scale) for scale in ("smoke", "full")}
    detector = {
        scale: next(trial for trial in trials[scale] if trial.workload == "voc2012-faster-rcnn")
        for scale in trials
    }
    assert detector["smoke"].changes == ("size=small",)
    assert (detector["full"].changes, detector["full"].epochs) == ((), 100)


def test_every_study_says_where_it_comes_from() -> None:
    for name in STUDIES:
        suite = suites.find(name)
        assert suite.paper and suite.notes and set(SCALES) == set(suite.scales)
        assert all(suite.scales[scale].about for scale in SCALES)


def test_the_repeats_seeds_and_limits_of_the_studies() -> None:
    full = {name: plan(name, "full") for name in STUDIES}
    made = {name: max(t.repeat for t in trials) + 1 for name, trials in full.items()}
    assert made == {"elshawi2021": 5, "gupta2023": 10, "sohail2022": 1, "tian2020": 1,
                    "zvyagin2021": 1}  # fmt: skip
    first = full["gupta2023"][0]
    seeds = [t.seed for t in full["gupta2023"] if t.contender == first.contender]
    assert sorted(seeds) == [1, 12, 123, 1234, *[1234567] * 6]
    assert full["zvyagin2021"][0].seed == 0
    assert {trial.seconds for trial in full["elshawi2021"]} == {86400.0}
    epochs = {t.workload: t.epochs for t in full["elshawi2021"]}
    assert (epochs["mnist-cnn"], epochs["cifar100-cnn"], epochs["imdb-lstm"]) == (15, 200, 50)


def test_images_that_cannot_be_downloaded_are_made_up_at_scale_smoke_alone() -> None:
    def data(scale: str, **choices: str) -> dict[str, str]:
        choice = Choices(suite="tian2020", scale=scale, **choices)  # type: ignore[arg-type]
        return {t.workload: t.data for t in draft(choice, "process").trials}

    own = "imagenet80-vgg16"
    assert {name for name, kind in data("smoke").items() if kind != "real"} == {own}
    assert set(data("short").values()) == set(data("smoke", data="real").values()) == {"real"}
    assert set(data("smoke", data="synthetic").values()) == {"synthetic"}
    with pytest.raises(UserError, match="no kind of data 'reel'"):
        data("smoke", data="reel")
    planned = draft(Choices(suite="tian2020", scale="smoke"), "process").trials
    added = extension(planned, Choices(workloads=("mnist-cnn",)))
    assert {t.data for t in added} == {"real"}


def test_the_points_of_crossedwires_are_those_of_its_tables() -> None:
    trials = plan("zvyagin2021", "full")
    first = next(t for t in trials if "batch=202" in t.point)
    assert first.workload == "cifar10-vgg16"
    assert first.point == "optimizer.lr=0.09901 optimizer.epsilon=0.19658 batch=202 epochs=50"
    assert first.epochs == 50
    assert "shuffle=false" in first.changes
    assert len({(t.workload, t.point) for t in trials}) == 18


def test_history_has_every_release_and_today_the_newest() -> None:
    from dlbench.environments.releases import load_releases

    frameworks = {r.name for r in load_releases() if r.framework != "numpy"}
    assert {t.release for t in plan("history", "full")} == frameworks
    newest = {t.release for t in plan("today", "full")}
    assert {"pytorch@2.13.0", "keras@3.15.1-jax", "keras@3.15.1-torch", "theano@1.0.5"} <= newest
    assert not {"pytorch@1.13.1", "keras@2.3.1-theano", "mxnet@1.3.0-mkl"} & newest


def test_a_scale_counts_more_than_the_suite_and_the_user_more_than_both(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'workloads = ["digits-cnn", "petrol-mlp"]\nreleases = ["numpy"]\nrepeats = 1\nepochs = 9\n'
        "[workload.digits-cnn]\nepochs = 7\n"
        "[scales.small]\nrows = 20\nepochs = 2\n[scales.small.workload.petrol-mlp]\nsteps = 5\n"
    )

    def extents(**choices: object) -> set[tuple[object, ...]]:
        trials = draft(Choices(suite=str(file), **choices), "process").trials  # type: ignore[arg-type]
        return {(t.workload, t.epochs, t.steps, t.rows) for t in trials}

    assert extents() == {("digits-cnn", 7, None, None), ("petrol-mlp", 9, None, None)}
    assert extents(scale="small") == {("digits-cnn", 2, None, 20), ("petrol-mlp", 30, 5, 20)}
    assert extents(scale="small", epochs=4, rows=10) == {
        ("digits-cnn", 4, None, 10), ("petrol-mlp", 4, None, 10),
    }  # fmt: skip
    with pytest.raises(UserError, match=r"no scale of suite own 'smal'. Did you mean 'small'"):
        extents(scale="smal")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[sweep]\nbatch = 3", "`sweep.batch` must be a list of values"),
        ("[sweep]\nbatch = []", "`sweep.batch` must be a list of values"),
        ("[sweep]\nbatch = [[1]]", "`sweep.batch` must be a number, a string, true or false"),
        ("[sweep]\nbatch = [1979-05-27]", "`sweep.batch` must be a number, a string"),
        ("sweep = 3", "`sweep` must be a table"),
        ("sweep = {}", "`sweep` must be a table"),
        ("points = 3", "`points` must be a list of tables"),
        ("points = [3]", "`points` must be a table"),
        ("rows = 1", "`rows` must be a whole number from 2"),
        ("share = 2.0", "`share` must be a number above 0 and up to 1"),
        ("share = true", "`share` must be a number"),
        ("epochs = 10000000000", "`epochs` must be a whole number from 1 to 1,000,000,000"),
        ("notes = 'x'", "`notes` must be a list of strings"),
        ("scales = 3", "`scales` must be a table"),
        ("[scales]\nsmoke = 3", "`scales.smoke` must be a table"),
        ("[scales.smoke]\nseeds = 3", "`scales.smoke.seeds` must be one of epochs, steps"),
        ("[workload.digits-cnn]\nrepeats = 3", "`workload.digits-cnn.repeats` must be one of"),
        ("[workload.digits-cnn.sweep]\nbatch = [0]", "`batch` must be at least 1"),
        ("[workload.digit-cnn]\nepochs = 3", "Did you mean 'digits-cnn'"),
        ("[scales.smoke.workload.digit-cnn]\nepochs = 3", "Did you mean 'digits-cnn'"),
        ("[recipe]\nbach = 3", "no field 'bach'. Did you mean 'batch'"),
        ("[sweep]\n'optimizer.lr' = [-1]", "lr of -1.0 is outside its range, from 1e-20"),
    ],
)
def test_what_a_suite_can_not_say_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text('workloads = ["digits-cnn"]\nreleases = ["numpy"]\n' + text)
    with pytest.raises(UserError, match=words):
        draft(Choices(suite=str(file)), "process")
