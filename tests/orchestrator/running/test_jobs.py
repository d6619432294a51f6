"""A trial's job, its identity and its request."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dlbench import formats, workloads
from dlbench.datasets import find as find_dataset
from dlbench.datasets import store
from dlbench.datasets.store import PreparedData
from dlbench.formats import digest
from dlbench.planning.choices import Choices
from dlbench.planning.plan import draft
from dlbench.planning.trial import Trial
from dlbench.running.jobs import identified, job_of, request_of

NUMPY = Choices(frameworks=("numpy",), repeats=1)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PreparedData:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))
    return store.prepare(find_dataset("digits"))


def trial(choices: Choices = NUMPY, engine: str = "process") -> Trial:
    (only,) = draft(choices, engine).trials
    return only


def test_the_id_tells_apart_all_that_matters(
    data: PreparedData, monkeypatch: pytest.MonkeyPatch
) -> None:
    def id_of(one: Trial, source: PreparedData = data) -> str:
        (named,) = identified([one], {"digits-cnn": source})
        return named.id

    plain = id_of(trial())
    assert id_of(trial()) == plain
    gpu = replace(trial(replace(NUMPY, frameworks=("pytorch",), devices=("gpu",))), gpus=("0",))
    others = [
        id_of(trial(replace(NUMPY, frameworks=("pytorch",)))),
        id_of(trial(replace(NUMPY, frameworks=("pytorch:compile",)))),
        id_of(trial(replace(NUMPY, seed=2))),
        id_of(trial(replace(NUMPY, epochs=3))),
        id_of(trial(replace(NUMPY, steps=3))),
        id_of(trial(replace(NUMPY, settings=("native",)))),
        id_of(trial(replace(NUMPY, threads="1"))),
        id_of(trial(replace(NUMPY, memory="1g"))),
        id_of(trial(replace(NUMPY, cpus=1))),
        id_of(trial(replace(NUMPY, time_limit="1h"))),
        id_of(trial(replace(NUMPY, save=True))),
        id_of(trial(replace(NUMPY, inference=True))),
        id_of(trial(replace(NUMPY, deterministic=True))),
        id_of(trial(engine="docker")),
        id_of(replace(trial(), repeat=1)),
        id_of(gpu),
        id_of(replace(gpu, gpus=("1",))),
        id_of(replace(trial(), weights="a" * 64)),
        id_of(replace(trial(), weights="b" * 64)),
        id_of(trial(), store.prepare(find_dataset("digits"), "synthetic")),
    ]
    assert len({plain, *others}) == 1 + len(others)
    assert id_of(replace(trial(), weights_file="another name")) == plain
    monkeypatch.setattr("dlbench.running.jobs.bench_digest", lambda _: "another")
    assert id_of(trial()) != plain


@pytest.mark.parametrize("part", ["graph", "recipe"])
def test_another_model_is_another_trial(
    part: str, data: PreparedData, monkeypatch: pytest.MonkeyPatch
) -> None:
    (before,) = identified([trial()], {"digits-cnn": data})
    workload = workloads.find("digits-cnn")
    changed = replace(workload, **{part: {**getattr(workload, part), "batch": 7}})
    monkeypatch.setattr(workloads, "find", lambda _: changed)
    (after,) = identified([trial()], {"digits-cnn": data})
    assert after.id != before.id


def test_ids_do_not_depend_on_the_other_trials(data: PreparedData) -> None:
    several = draft(replace(NUMPY, frameworks=("numpy", "pytorch"), repeats=3), "process").trials
    together = identified(several, {"digits-cnn": data})
    apart = [one for each in several for one in identified([each], {"digits-cnn": data})]
    assert together == apart
    assert len({each.id for each in together}) == 6


def test_the_job_says_what_to_do(data: PreparedData) -> None:
    train, verify = job_of(trial(), data), job_of(trial(), data, "verify")
    assert (train["action"], verify["action"]) == ("train", "verify")
    assert train["data"]["digest"] == data.digest
    assert train["budget"] == {"epochs": trial().epochs, "steps": None}
    assert str(Path.home()) not in json.dumps(train)


def test_a_large_model_is_verified_in_its_smaller_size(data: PreparedData) -> None:
    large = trial(replace(NUMPY, workloads=("cifar10-cnn",)))
    workload = workloads.find("cifar10-cnn")
    assert job_of(large, data)["graph"] == workload.graph
    assert job_of(large, data, "verify")["graph"] == workload.proof != workload.graph


def test_the_request_finds_its_files_in_place(data: PreparedData, tmp_path: Path) -> None:
    limited = replace(trial(replace(NUMPY, cpus=1, memory="1g")), id="named")
    job = job_of(limited, data)
    request = request_of(
        limited, job, data, folder=tmp_path / "own", environment="python", campaign="c",
        variables={"OMP_WAIT_POLICY": "PASSIVE"},
    )  # fmt: skip
    assert json.loads(request.job.read_text()) == job
    assert request.out.is_dir()
    assert (request.trial, request.campaign, request.data) == ("named", "c", data.folder)
    assert (request.limits.cpus, request.limits.memory_bytes) == (1, 1 << 30)
    assert request.variables["OMP_WAIT_POLICY"] == "PASSIVE"
    assert (request.bench / "__main__.py").is_file()


def test_five_repeats_of_one_seed_are_five_trials(data: PreparedData) -> None:
    choices = replace(NUMPY, repeats=None, seeds=",".join(["1234567"] * 5))
    named = identified(draft(choices, "process").trials, {"digits-cnn": data})
    assert [one.seed for one in named] == [1234567] * 5
    assert len({one.id for one in named}) == 5


@pytest.mark.parametrize(
    ("choices", "cores"),
    [
        (Choices(threads="3"), 3),
        (Choices(threads="3", cpus=1.5), 2),
        (Choices(cpus=0.5, settings=("native",)), 1),
        (Choices(settings=("native",)), None),
    ],
)
def test_a_trial_is_pinned_to_as_many_cores_as_it_has_threads(
    choices: Choices, cores: int | None, data: PreparedData, tmp_path: Path
) -> None:
    one = replace(trial(replace(choices, frameworks=("numpy",), repeats=1)), id="named")
    request = request_of(
        one, job_of(one, data), data, folder=tmp_path / "own", environment="python", campaign="c"
    )
    assert request.cores == cores


def test_a_model_is_digested_once_for_all_its_trials(
    data: PreparedData, monkeypatch: pytest.MonkeyPatch
) -> None:
    digested: list[object] = []

    def counting(content: object) -> str:
        digested.append(content)
        return digest(content)

    monkeypatch.setattr(formats, "digest", counting)
    identified(draft(replace(NUMPY, repeats=20), "process").trials, {"digits-cnn": data})
    graph = workloads.find("digits-cnn").graph
    assert [content for content in digested if content is graph] == [graph]
    assert all(len(formats.canonical(content)) < 2000 for content in digested[3:])
