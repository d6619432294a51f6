"""Each kind of claim, judged where it is true, where it is not, and where nothing can be told."""

from __future__ import annotations

import numpy as np
import pytest

from dlbench.studies import reading
from dlbench.studies.judging import Word
from dlbench.studies.runs import StudyRuns
from tests.orchestrator.studies.in_memory import Key, group, runs_of, verdict_on

ELSHAWI, GUPTA = reading.find("elshawi2021"), reading.find("gupta2023")
TIAN, ZVYAGIN = reading.find("tian2020"), reading.find("zvyagin2021")


def about(middle: float, spread: float = 0.001, seed: int = 1, runs: int = 10) -> list[float]:
    noise = np.random.default_rng([seed, int(1000 * abs(middle))]).normal(0, spread, runs)
    return [float(x) for x in middle + noise]


@pytest.mark.parametrize(
    ("early", "late", "word"),
    [((0.70, 0.60), (0.72, 0.79), Word.SUPPORTED), ((0.60, 0.60), (0.72, 0.79), Word.CONTRADICTED)],
)
def test_ahead_at_first_and_overtaken(
    early: tuple[float, float], late: tuple[float, float], word: Word
) -> None:
    columns: dict[Key, dict[str, list[float]]] = {
        ("cifar10-resnet18", "gpu", name): {
            "early_accuracy": about(early[i]), "accuracy": about(late[i]),
        }
        for i, name in enumerate(("model.fit", "tensorflow"))
    }  # fmt: skip
    assert verdict_on(TIAN, "07", runs_of(TIAN, columns)).word is word


def test_the_excess_of_a_first_epoch_may_be_negative() -> None:
    columns: dict[Key, dict[str, list[float]]] = {
        ("cifar10-resnet18", "gpu", "pytorch"): {"first_epoch_excess_s": about(-0.1, 0.05)},
        ("cifar10-resnet18", "gpu", "tensorflow"): {"first_epoch_excess_s": about(6.0, 0.05)},
    }
    verdict = verdict_on(TIAN, "10", runs_of(TIAN, columns))
    assert verdict.word is Word.SUPPORTED
    assert verdict.difference.startswith("difference pytorch to tensorflow -6.")


@pytest.mark.parametrize(
    ("gap", "points", "word"),
    [
        (0.3, 2, Word.SUPPORTED),
        (0.0, 6, Word.CONTRADICTED),
        (0.0, 5, Word.CANNOT_TELL),  # it may differ at the point of the table that was not run
    ],
)
def test_a_difference_at_any_of_the_points(gap: float, points: int, word: Word) -> None:
    """A point is a set of conditions of its own; at the last of them they differ by the gap."""
    groups = {}
    for name, own in (("pytorch", 0.0), ("tensorflow", 1.0)):
        key = ("cifar10-vgg16", "gpu", name)
        groups[key] = tuple(
            group(
                ZVYAGIN,
                key,
                {"accuracy": about(0.5 + own * gap * (i == points - 1))},
                f"lr={i}",
                point=f"optimizer.lr={i} epochs=2",
            )
            for i in range(points)
        )
    verdict = verdict_on(ZVYAGIN, "01", StudyRuns(ZVYAGIN, groups))
    assert verdict.word is word


def materials(
    column: str, values: dict[str, float], spread: float = 0.0001
) -> dict[Key, dict[str, list[float]]]:
    return {
        (workload, "gpu", name): {column: about(values[name], spread, seed)}
        for seed, workload in enumerate(GUPTA.workloads)
        for name in GUPTA.contenders
    }


def test_on_most_workloads() -> None:
    usual = materials("mae", {"TF-1": 0.05, "TF-2": 0.048, "PyTorch": 0.056})
    assert verdict_on(GUPTA, "02", runs_of(GUPTA, usual)).word is Word.SUPPORTED
    # worse in 4 of 18 is still most
    for workload in list(GUPTA.workloads)[:4]:
        usual[workload, "gpu", "TF-1"] = {"mae": about(0.07, 0.0001)}
    assert verdict_on(GUPTA, "02", runs_of(GUPTA, usual)).word is Word.SUPPORTED
    for workload in list(GUPTA.workloads)[:12]:
        usual[workload, "gpu", "TF-1"] = {"mae": about(0.07, 0.0001)}
    assert verdict_on(GUPTA, "02", runs_of(GUPTA, usual)).word is Word.CONTRADICTED


def test_one_seed_again_and_again() -> None:
    def runs(values: list[float], device: str = "gpu") -> StudyRuns:
        groups = {
            (workload, device, "PyTorch"): (
                group(GUPTA, (workload, device, "PyTorch"), {"mae": values}, seed=1234567),
            )
            for workload in GUPTA.workloads
        }
        return StudyRuns(GUPTA, groups)

    assert verdict_on(GUPTA, "03", runs([0.05] * 5)).word is Word.SUPPORTED
    assert verdict_on(GUPTA, "03", runs([0.05, 0.05, 0.05, 0.05, 0.0501])).word is Word.CONTRADICTED
    assert verdict_on(GUPTA, "03", runs([0.05] * 2)).word is Word.CANNOT_TELL
    # a CPU may repeat itself where a GPU does not
    assert verdict_on(GUPTA, "03", runs([0.05] * 5, "cpu")).word is Word.CANNOT_TELL


def test_a_count_needs_no_test() -> None:
    same = {key: {"parameters": [100, 100]} for key in materials("mae", dict.fromkeys(
        GUPTA.contenders, 0.1))}  # fmt: skip
    assert verdict_on(GUPTA, "08", runs_of(GUPTA, same)).word is Word.SUPPORTED
    first = next(iter(same))
    same[first] = {"parameters": [101, 101]}
    assert verdict_on(GUPTA, "08", runs_of(GUPTA, same)).word is Word.CONTRADICTED


@pytest.mark.parametrize(("factor", "word"), [(1.0, Word.SUPPORTED), (2.0, Word.CONTRADICTED)])
def test_the_data_do_not_change_the_memory(factor: float, word: Word) -> None:
    columns = materials("gpu_memory_peak_bytes", dict.fromkeys(GUPTA.contenders, 1e9), 1e6)
    columns["oqmd-fcn-10", "gpu", "PyTorch"] = {
        "gpu_memory_peak_bytes": about(1e9 * factor, 1e6)
    }  # fmt: skip
    assert verdict_on(GUPTA, "12", runs_of(GUPTA, columns)).word is word


def test_more_parameters_need_not_be_better() -> None:
    flat = runs_of(GUPTA, materials("mae", dict.fromkeys(GUPTA.contenders, 0.05)))
    verdict = verdict_on(GUPTA, "11", flat)
    assert verdict.word is Word.SUPPORTED


def elshawi(column: str, value: float, runs: int) -> StudyRuns:
    claims = {one.id: one for one in ELSHAWI.claims}
    workloads = claims["elshawi2021-30"].workloads
    return runs_of(
        ELSHAWI,
        {
            (workload, "cpu", name): {column: about(value, 0.01, i, runs)}
            for i, workload in enumerate(workloads)
            for name in ELSHAWI.contenders
        },
    )


@pytest.mark.parametrize(
    ("number", "column", "value", "word"),
    [
        ("30", "epoch_tau", 0.0, Word.SUPPORTED),
        ("30", "epoch_tau", 0.7, Word.CONTRADICTED),
        ("58", "epoch_time_growth", 1.0, Word.SUPPORTED),
        ("58", "epoch_time_growth", 1.3, Word.CONTRADICTED),
    ],
)
def test_how_quantities_go_together(number: str, column: str, value: float, word: Word) -> None:
    assert verdict_on(ELSHAWI, number, elshawi(column, value, 14)).word is word


def test_to_refute_a_claim_of_many_parts_takes_more_runs() -> None:
    verdict = verdict_on(ELSHAWI, "30", elshawi("epoch_tau", 0.7, 10))
    assert verdict.word is Word.CANNOT_TELL
    assert verdict.takes == ("12 repeats of each (here 10)",)


def test_no_framework_is_the_best_everywhere() -> None:
    workloads = next(c for c in ELSHAWI.claims if c.id == "elshawi2021-39").workloads

    def runs(best: list[str]) -> StudyRuns:
        return runs_of(
            ELSHAWI,
            {
                (workload, "cpu", name): {"accuracy": about(0.9 if name == winner else 0.8)}
                for workload, winner in zip(workloads, best, strict=True)
                for name in ELSHAWI.contenders
            },
        )

    different = ["keras", "chainer", *["keras"] * (len(workloads) - 2)]
    assert verdict_on(ELSHAWI, "39", runs(different)).word is Word.SUPPORTED
    assert verdict_on(ELSHAWI, "39", runs(["keras"] * len(workloads))).word is Word.CONTRADICTED


@pytest.mark.parametrize(("keras", "word"), [(0.9, Word.SUPPORTED), (0.6, Word.CONTRADICTED)])
def test_on_average_over_the_workloads(keras: float, word: Word) -> None:
    """Keras may be behind on one of them."""
    columns: dict[Key, dict[str, list[float]]] = {
        (workload, "cpu", name): {"accuracy": about(keras if name == "keras" else 0.7)}
        for workload in ("mnist-cnn", "cifar10-cnn", "cifar100-cnn")
        for name in ELSHAWI.contenders
    }
    columns["mnist-cnn", "cpu", "keras"] = {"accuracy": about(0.69)}
    assert verdict_on(ELSHAWI, "37", runs_of(ELSHAWI, columns)).word is word
