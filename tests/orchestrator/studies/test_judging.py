"""Verdicts on campaigns with known truth: the sentences a reader sees, and what none may say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlbench.analysis.results import Results, open_results
from dlbench.campaigns.outcomes import Outcome
from dlbench.studies import reading
from dlbench.studies.judging import JudgedClaim, Verdict, Word, could_show, judge
from dlbench.studies.runs import As
from tests.orchestrator.analysis.campaigns import Cell, write

ELSHAWI, SOHAIL = reading.find("elshawi2021"), reading.find("sohail2022")
RELEASES = {name: one.release for name, one in ELSHAWI.frameworks.items()}
ROWS = {"mnist-cnn": 60_000, "cifar10-cnn": 50_000, "cifar100-cnn": 50_000, "imdb-lstm": 25_000}
EPOCHS = {"mnist-cnn": 15, "cifar10-cnn": 100, "cifar100-cnn": 200, "imdb-lstm": 50}


def cells(
    workload: str,
    values: Mapping[str, float],
    metric: str = "train_s",
    runs: int = 10,
    spread: float = 0.02,
    epochs: int | None = None,
    **more: Any,
) -> list[Cell]:
    """Contenders by their names in the study, each with its middle value."""
    rng = np.random.default_rng(7)
    done = EPOCHS[workload] if epochs is None else epochs
    made = []
    for name, middle in values.items():
        noise = rng.normal(0, spread, runs)
        own = middle + noise if metric == "accuracy" else middle * np.exp(noise)
        counts = {"samples": float(ROWS[workload] * done), "epochs": float(done)}
        made.append(
            Cell(
                RELEASES[name], own.tolist(), metric, workload, epochs=done, metrics=counts, **more
            )
        )
    return made


def results_of(folder: Path, made: Sequence[Cell]) -> Results:
    return open_results(write(folder / "campaign", made, name="elshawi2021"))


def on(results: Results, claim: str, *others: str) -> JudgedClaim:
    wanted = [
        one for one in ELSHAWI.claims if one.id in {f"elshawi2021-{n}" for n in (claim, *others)}
    ]
    judged = judge(ELSHAWI, results, only=wanted)
    return next(one for one in judged.claims if one.claim.id == f"elshawi2021-{claim}")


def intended(judged: JudgedClaim) -> Verdict:
    verdict = judged.verdicts[As.INTENDED]
    assert verdict is not None
    return verdict


EQUAL = dict.fromkeys(RELEASES, 0.80)
PUBLISHED = {**EQUAL, "pytorch": 0.72, "chainer": 0.73}


def test_with_equal_models_no_difference(tmp_path: Path) -> None:
    """What the two columns are for: a claim of the paper, with its confounds taken away."""
    results = results_of(tmp_path, cells("cifar10-cnn", EQUAL, "accuracy", spread=0.002))
    judged = on(results, "02")
    verdict = intended(judged)
    assert verdict.word is Word.CONTRADICTED and verdict.here is None
    (said,) = verdict.beside
    assert said.endswith("is shown to be smaller than what matters (1 percentage point)")
    assert judged.verdicts[As.PUBLISHED] is None  # not run
    assert "pytorch 71.92 %" in judged.published[0]
    assert not judged.could_show and "5 pairs cannot reach 0.05" in judged.why


def test_a_difference_that_is_there_is_supported(tmp_path: Path) -> None:
    results = results_of(tmp_path, cells("cifar10-cnn", PUBLISHED, "accuracy", spread=0.002))
    verdict = intended(on(results, "02"))
    assert verdict.word is Word.SUPPORTED and verdict.takes == ()
    assert len(verdict.groups) == 6
    assert "difference in percentage points" in verdict.difference and "[" in verdict.difference


def test_comparable_needs_equivalence_not_a_failed_test(tmp_path: Path) -> None:
    close = results_of(tmp_path / "a", cells("cifar10-cnn", EQUAL, "accuracy", spread=0.002))
    assert intended(on(close, "03")).word is Word.SUPPORTED
    noisy = results_of(tmp_path / "b", cells("cifar10-cnn", EQUAL, "accuracy", spread=0.05))
    verdict = intended(on(noisy, "03"))  # nothing is shown to differ, and nothing to be equal
    assert verdict.word is Word.CANNOT_TELL
    assert verdict.takes == ("more than 10 repeats: what was seen allows both",)


@pytest.mark.parametrize("source", ["synthetic", "real"])
def test_quality_on_synthetic_data_is_never_judged(tmp_path: Path, source: str) -> None:
    made = cells("cifar10-cnn", EQUAL, "accuracy", spread=0.002, source=source)
    verdict = intended(on(results_of(tmp_path, made), "02"))
    if source == "real":
        assert verdict.word is Word.CONTRADICTED
        return
    assert verdict.word is Word.CANNOT_TELL and verdict.here is None and verdict.p is None
    assert verdict.takes == ("real data: these are synthetic",)


def test_times_on_synthetic_data_say_so(tmp_path: Path) -> None:
    times = {"keras": 60.0, "tensorflow": 80.0, "pytorch": 90.0, "mxnet": 100.0, "theano": 110.0,
             "chainer": 200.0}  # fmt: skip
    made = [cell for w in ("mnist-cnn", "cifar10-cnn", "cifar100-cnn")
            for cell in cells(w, times, source="synthetic")]  # fmt: skip
    results = results_of(tmp_path, made)
    verdict = intended(on(results, "10"))
    assert verdict.word is Word.SUPPORTED and verdict.beside == ("on synthetic data",)
    assert verdict.tau is not None and verdict.tau.words == "Kendall's tau 1.00 [1.00, 1.00]"
    assert intended(on(results, "11")).word is Word.SUPPORTED
    assert intended(on(results, "12")).word is Word.SUPPORTED  # the second lowest
    assert intended(on(results, "44")).word is Word.CANNOT_TELL  # CPU use is alike in all


def test_an_order_that_is_another_is_contradicted(tmp_path: Path) -> None:
    times = {"keras": 90.0, "tensorflow": 80.0, "pytorch": 60.0, "mxnet": 100.0, "theano": 250.0,
             "chainer": 200.0}  # fmt: skip
    verdict = intended(on(results_of(tmp_path, cells("mnist-cnn", times)), "10"))
    # one workload is enough to refute "on every one of three"
    assert verdict.word is Word.CONTRADICTED and verdict.takes == ()
    assert verdict.tau is not None and verdict.tau.high < 1
    assert "ratio chainer to theano 0.8" in verdict.difference


def test_part_of_what_is_claimed_cannot_support_it(tmp_path: Path) -> None:
    times = dict(zip(RELEASES, (80.0, 60.0, 90.0, 100.0, 110.0, 200.0), strict=True))
    verdict = intended(on(results_of(tmp_path, cells("mnist-cnn", times)), "10"))
    assert verdict.word is Word.CANNOT_TELL
    assert verdict.takes == ("trials of cifar10-cnn and cifar100-cnn, CPU",)
    some = {name: time for name, time in times.items() if name != "theano"}
    verdict = intended(on(results_of(tmp_path / "b", cells("mnist-cnn", some)), "10"))
    assert verdict.takes[0] == "trials of theano@1.0.2 on mnist-cnn, CPU"


def test_a_smaller_scale_answers_for_itself_alone(tmp_path: Path) -> None:
    made = cells("cifar10-cnn", EQUAL, "accuracy", spread=0.002, epochs=3)
    verdict = intended(on(results_of(tmp_path, made), "02"))
    assert verdict.word is Word.CANNOT_TELL and verdict.here is Word.CONTRADICTED
    assert verdict.words == "cannot tell; at this scale contradicted"
    assert verdict.takes == ("the whole scale (3 of 100 epochs here)",)
    fewer = [replace(cell, metrics={"samples": 100.0 * 500, "epochs": 100.0}) for cell in
             cells("cifar10-cnn", EQUAL, "accuracy", spread=0.002)]  # fmt: skip
    verdict = intended(on(results_of(tmp_path / "b", fewer), "02"))
    assert verdict.takes == ("the whole scale (500 of 50,000 rows here)",)
    sample = cells("cifar10-cnn", EQUAL, "accuracy", spread=0.002, source="sample")
    verdict = intended(on(results_of(tmp_path / "c", sample), "02"))
    assert verdict.takes == ("the whole scale (a sample of the data here)",)
    said = judge(ELSHAWI, results_of(tmp_path / "e", sample), only=[ELSHAWI.claims[1]]).summary
    assert any(
        text.startswith("On 1 claim the trials are smaller than the study's") for text in said
    )
    steps = cells("cifar10-cnn", EQUAL, "accuracy", spread=0.002, steps=20)
    assert "20 steps" in intended(on(results_of(tmp_path / "d", steps), "02")).takes[0]


def test_few_runs_say_how_many_it_takes(tmp_path: Path) -> None:
    made = cells("cifar10-cnn", PUBLISHED, "accuracy", runs=3, spread=0.001)
    verdict = intended(on(results_of(tmp_path, made), "02"))
    assert verdict.word is Word.CANNOT_TELL
    assert verdict.takes == ("5 repeats of each (here 3)",)


def test_a_claim_of_a_gpu_is_not_judged_by_a_cpu(tmp_path: Path) -> None:
    times = dict(zip(RELEASES, (80.0, 60.0, 190.0, 100.0, 110.0, 50.0), strict=True))
    results = results_of(tmp_path, cells("cifar10-cnn", times))
    verdict = intended(on(results, "24"))
    assert verdict.word is Word.CANNOT_TELL and verdict.p is None
    assert verdict.takes == ("trials of cifar10-cnn, GPU",)


def test_an_accuracy_of_another_device_counts_and_says_so(tmp_path: Path) -> None:
    made = cells("cifar100-cnn", {**EQUAL, "mxnet": 0.70}, "accuracy", spread=0.002)
    verdict = intended(on(results_of(tmp_path, made), "26"))
    assert verdict.word is Word.CONTRADICTED
    assert verdict.beside == ("measured on the CPU, claimed of the GPU",)


def test_a_model_that_is_not_proven_equal_is_not_judged(tmp_path: Path) -> None:
    made = cells("cifar10-cnn", PUBLISHED, "accuracy", spread=0.002)
    made = [replace(c, certified=False) if "pytorch" in c.release else c for c in made]
    verdict = intended(on(results_of(tmp_path, made), "02"))
    assert verdict.word is Word.CANNOT_TELL and verdict.takes == ("pytorch: uncertified",)


def test_runs_that_failed_count_as_worse(tmp_path: Path) -> None:
    """Theano's training on IMDB ended in no number."""
    made = cells("imdb-lstm", dict.fromkeys(RELEASES, 0.87), "accuracy", spread=0.002)
    made = [
        replace(c, outcomes=[Outcome.DIVERGED] * 9 + [Outcome.OK]) if "theano" in c.release else c
        for c in made
    ]
    verdict = intended(on(results_of(tmp_path, made), "06"))
    assert verdict.word is Word.SUPPORTED
    assert "9 runs failed and count as worse" in verdict.beside


def test_a_run_that_failed_on_one_workload_fails_on_average(tmp_path: Path) -> None:
    best = {**EQUAL, "keras": 0.9}
    three = ("mnist-cnn", "cifar10-cnn", "cifar100-cnn")
    made = [cell for w in three for cell in cells(w, best, "accuracy", spread=0.002)]
    assert intended(on(results_of(tmp_path / "a", made), "37")).word is Word.SUPPORTED
    ended = [Outcome.TIMEOUT] * 4 + [Outcome.OK] * 6
    some = [
        replace(c, outcomes=ended)
        if (c.release, c.workload) == (RELEASES["keras"], "mnist-cnn") else c
        for c in made
    ]  # fmt: skip
    verdict = intended(on(results_of(tmp_path / "b", some), "37"))
    assert verdict.word is Word.CANNOT_TELL
    assert verdict.beside == ("4 runs failed and count as worse",)
    all_but_two = [Outcome.TIMEOUT] * 8 + [Outcome.OK] * 2
    most = [replace(c, outcomes=all_but_two) if c.outcomes else c for c in some]
    verdict = intended(on(results_of(tmp_path / "c", most), "37"))
    assert verdict.word is Word.CONTRADICTED
    assert "where they finished" in verdict.difference
    assert verdict.tau is not None and verdict.tau.words == "Kendall's tau -1.00 [-1.00, -1.00]"


def test_where_less_is_no_merit_failed_runs_are_left_out(tmp_path: Path) -> None:
    made = cells("cifar100-cnn", dict.fromkeys(RELEASES, 100.0))
    ended = [Outcome.TIMEOUT] + [Outcome.OK] * 9
    some = [replace(made[0], outcomes=ended), *made[1:]]
    verdict = intended(on(results_of(tmp_path, some), "43"))  # the use of the processor
    assert verdict.beside == ("1 run failed and is left out: neither more nor less would be worse",)


def test_another_recipe_is_not_the_studys(tmp_path: Path) -> None:
    made = cells("cifar10-cnn", PUBLISHED, "accuracy", spread=0.002, changes=("batch=8",),
                 point="batch=8")  # fmt: skip
    verdict = intended(on(results_of(tmp_path / "a", made), "02"))
    assert verdict.words == "cannot tell; at this scale supported"
    assert verdict.takes == ("the whole scale (another recipe: batch=8 here)",)
    # where the study's own recipe ran, too, that speaks
    own = cells("cifar10-cnn", EQUAL, "accuracy", spread=0.002, runs=8)
    verdict = intended(on(results_of(tmp_path / "b", [*made, *own]), "02"))
    assert verdict.word is Word.CONTRADICTED


def test_a_sample_says_so_beside_its_rows(tmp_path: Path) -> None:
    made = cells("cifar10-cnn", PUBLISHED, "accuracy", spread=0.002, source="sample", epochs=3)
    few = [replace(c, metrics={"samples": 3e4, "epochs": 3.0}) for c in made]
    words = "the whole scale (3 of 100 epochs, 10,000 of 50,000 rows and a sample of the data here)"
    assert intended(on(results_of(tmp_path, few), "02")).takes == (words,)


def test_speed_ups_and_a_magnitude(tmp_path: Path) -> None:
    made = cells("imdb-lstm", {"theano": 1100.0, "keras": 100.0})
    made += cells("imdb-lstm", {"theano": 100.0, "keras": 120.0}, device="gpu")
    results = results_of(tmp_path, made)
    verdict = intended(on(results, "71"))
    assert verdict.word is Word.SUPPORTED
    assert verdict.difference.startswith("11; with our own spread a new measurement would lie from")
    assert intended(on(results, "22")).word is Word.SUPPORTED  # the CPU beats the GPU for Keras
    far = cells("imdb-lstm", {"theano": 300.0}) + cells(
        "imdb-lstm", {"theano": 100.0}, device="gpu"
    )
    verdict = intended(on(results_of(tmp_path / "b", far), "71"))
    assert verdict.word is Word.CONTRADICTED


def test_longer_training_need_not_be_better(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    made = []
    for i, name in enumerate(RELEASES):
        times = (100 * (1 + i) * np.exp(rng.normal(0, 0.01, 12))).tolist()
        made.append(
            Cell(RELEASES[name], times, workload="mnist-cnn", epochs=15,
                 metrics={"accuracy": 0.98 - 0.02 * i, "samples": 900_000.0, "epochs": 15.0})
        )  # fmt: skip
    verdict = intended(on(results_of(tmp_path, made), "40"))
    assert verdict.word is Word.SUPPORTED
    assert verdict.tau is not None and verdict.tau.estimate == -1.0


def test_a_detector_is_judged_by_its_mean_average_precision(tmp_path: Path) -> None:
    values = {**dict.fromkeys(RELEASES, 0.63), "pytorch": 0.51, "chainer": 0.53}
    made = [
        Cell(RELEASES[name], [v + 0.0001 * i for i in range(10)], "map", "voc2012-faster-rcnn",
             epochs=100, metrics={"samples": 571_700.0, "epochs": 100.0})
        for name, v in values.items()
    ]  # fmt: skip
    results = results_of(tmp_path, made)
    assert intended(on(results, "36")).word is Word.SUPPORTED
    assert "pytorch 51.0" in intended(on(results, "09")).measured[0]


def test_what_no_campaign_has(tmp_path: Path) -> None:
    results = results_of(tmp_path, cells("cifar10-cnn", EQUAL, "accuracy"))
    assert intended(on(results, "94")).takes == ("Auto-Keras, which is not among the releases",)


def as_published(workload: str, values: dict[str, float], metric: str) -> list[Cell]:
    """Trials with just what the study's code had in each framework."""
    return [
        replace(cell, confounds=ELSHAWI.confounds_of(name, workload), certified=False)
        for name, cell in zip(
            values, cells(workload, values, metric, spread=0.002), strict=True
        )
    ]  # fmt: skip


def test_trials_with_confounds_are_the_second_column(tmp_path: Path) -> None:
    """They are never mixed with the intended ones, and need no certificate."""
    plain = cells("cifar10-cnn", EQUAL, "accuracy", spread=0.002)
    marked = as_published("cifar10-cnn", PUBLISHED, "accuracy")
    judged = on(results_of(tmp_path, [*plain, *marked]), "02")
    assert intended(judged).word is Word.CONTRADICTED
    assert all("80" in line for line in intended(judged).measured)
    published = judged.verdicts[As.PUBLISHED]
    assert published is not None and published.word is Word.SUPPORTED
    assert "pytorch 71.88" in published.measured[0] and "keras 79.91" in published.measured[0]


def test_the_gap_between_the_two_is_said_with_what_was_put_back(tmp_path: Path) -> None:
    plain = cells("cifar10-cnn", EQUAL, "accuracy", spread=0.002)
    marked = as_published("cifar10-cnn", PUBLISHED, "accuracy")
    results = results_of(tmp_path, [*plain, *marked])
    judged = on(results, "02")
    assert judged.gap.startswith("with equal models: contradicted; with ")
    assert "dropout that never ran (pytorch)" in judged.gap
    assert "evaluation in training mode (chainer)" in judged.gap
    assert judged.gap.endswith(": supported")
    study = judge(ELSHAWI, results)
    assert any("1 claim is supported in one way and contradicted" in text for text in study.summary)
    alike = results_of(
        tmp_path / "alike", [*plain, *as_published("cifar10-cnn", EQUAL, "accuracy")]
    )
    assert on(alike, "02").gap == ""


def test_what_cannot_be_told_in_either_way_is_no_gap(tmp_path: Path) -> None:
    """Whether for too few runs, or because only one way has trials of all that it needs."""
    few = cells("cifar10-cnn", EQUAL, "accuracy", runs=1, epochs=3)
    marked = [
        replace(cell, confounds=ELSHAWI.confounds_of(name, "cifar10-cnn"), certified=False)
        for name, cell in list(zip(EQUAL, few, strict=True))[:3]
    ]
    study = judge(ELSHAWI, results_of(tmp_path, [*few, *marked]))
    assert not any(claim.gap for claim in study.claims)
    assert not any("supported in one way" in text for text in study.summary)


def test_a_confound_alone_is_not_the_study_as_published(tmp_path: Path) -> None:
    plain = cells("cifar10-cnn", EQUAL, "accuracy", spread=0.002)
    alone = [
        replace(cell, confounds=("no-dropout",), certified=False)
        for cell in cells("cifar10-cnn", PUBLISHED, "accuracy", spread=0.002)
    ]
    judged = on(results_of(tmp_path, [*plain, *alone]), "02")
    assert intended(judged).word is Word.CONTRADICTED
    assert judged.verdicts[As.PUBLISHED] is None
    assert judged.gap == ""


def test_the_family_is_what_is_judged_together(tmp_path: Path) -> None:
    results = results_of(tmp_path, cells("cifar10-cnn", EQUAL, "accuracy", spread=0.002))
    whole = judge(ELSHAWI, results)
    assert 1 < whole.families[As.INTENDED] < 94
    assert whole.summary[1] == "As published: not run."
    assert "is at most 5 % (Holm)" in whole.summary[2]
    assert not any("smaller than the study's" in text for text in whole.summary)
    alone = judge(ELSHAWI, results, only=[ELSHAWI.claims[1]])
    assert alone.families[As.INTENDED] == 1 and alone.exit_code == 1


def test_nothing_of_the_study_was_run(tmp_path: Path) -> None:
    results = open_results(write(tmp_path / "c", [Cell("jax@0.12.0.1", [1.0, 2.0])]))
    judged = judge(SOHAIL, results)
    assert judged.summary == ("As intended: not run.", "As published: not run.")
    assert judged.exit_code == 3


DESIGNS = [
    ("elshawi2021-02", False, "5 pairs cannot reach 0.05: their least p is 0.0625"),
    ("elshawi2021-03", False, "a test that finds no difference shows no equality"),
    ("gupta2023-01", True, "5 runs of each can, before any correction for many claims"),
    ("gupta2023-08", True, "a count needs no repeats"),
    ("tian2020-01", False, "one run of each: no spread is known"),
    ("zvyagin2021-04", False, "one run of each: no spread is known"),
]


@pytest.mark.parametrize(("name", "could", "why"), DESIGNS)
def test_whether_the_design_could_have_shown_it(name: str, could: bool, why: str) -> None:
    study = reading.find(name.partition("-")[0])
    claim = next(one for one in study.claims if one.id == name)
    assert could_show(study, claim) == (could, why)


def test_the_point_of_a_sweep_is_said(tmp_path: Path) -> None:
    made = [
        Cell(release, [middle * epochs + i / 100 for i in range(8)], workload="mnist-mlp",
             variant=variant, epochs=epochs,
             point=f"epochs={epochs}", changes=(f"epochs={epochs}",),
             metrics={"samples": 60_000.0 * epochs, "epochs": float(epochs)})
        for release, variant, middle in (
            ("tensorflow@2.10.1", "fit", 2.0), ("pytorch@1.13.1", "eager", 3.0),
        )
        for epochs in (5, 20)
    ]  # fmt: skip
    results = open_results(write(tmp_path / "campaign", made, name="sohail2022"))
    judged = judge(SOHAIL, results, only=SOHAIL.claims[:1])
    verdict = judged.claims[0].verdicts[As.INTENDED]
    assert verdict is not None
    (line,) = verdict.measured
    assert line.startswith("mnist-mlp (epochs=20): keras 40") and "pytorch 60" in line
