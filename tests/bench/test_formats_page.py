"""FORMATS.md names every key that is written, and no other: the page can't go stale."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

from bench import confounds, stack
from bench import formats as bench_formats
from bench.adapters import numpy as numpy_adapter
from dlbench.campaigns.campaign_file import CampaignAbout
from dlbench.campaigns.certificate_file import Certificate, Check
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.trial_result import Scale, TrialResult, measure
from dlbench.datasets import find as find_dataset
from dlbench.datasets import store
from dlbench.event_fields import EVENTS, PHASES
from dlbench.formats import Event, Job
from dlbench.host.machine import Machine
from dlbench.monitor.gpu import GpuCard
from dlbench.monitor.resources import PhaseUse, Resources
from dlbench.monitor.samples import GpuSample, Sample, Totals, header_line
from dlbench.planning import recipes
from dlbench.planning.choices import Choices
from dlbench.planning.recipes import METRICS
from dlbench.planning.trial import Trial
from dlbench.running.origins import Origin
from dlbench.workloads import workloads

PAGE = (Path(__file__).resolve().parents[2] / "bench" / "FORMATS.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text under a heading, up to the next one."""
    start = re.search(rf"^##+ {re.escape(title)}\n", PAGE, re.MULTILINE)
    assert start, f"FORMATS.md has no section {title!r}"
    return re.split(r"^##", PAGE[start.end() :], maxsplit=1, flags=re.MULTILINE)[0]


def rows(title: str) -> list[tuple[str, str]]:
    """(first cell, the others) of each row of the section's table."""
    cells = [line.split("|")[1:-1] for line in section(title).splitlines() if line[:1] == "|"]
    return [(first, "|".join(others)) for first, *others in cells[2:]]


def keys(title: str) -> list[str]:
    return sorted(key for first, _ in rows(title) for key in re.findall(r"`(\w+)`", first))


def written(*kinds: type, extra: tuple[str, ...] = ()) -> list[str]:
    return sorted({each.name for kind in kinds for each in fields(kind)} | set(extra))


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Job", sorted(get_type_hints(Job))),
        ("First line", sorted(json.loads(header_line("", 1.0, 1.0, ())))),
        ("Sample", written(Sample)),
        ("GPU of a sample", written(GpuSample)),
        ("Last line", written(Totals, extra=("totals",))),
        ("campaign.json", written(CampaignAbout, extra=("v",))),
        ("Choices", written(Choices)),
        ("Origin", written(Origin)),
        ("Machine", written(Machine, extra=("digest",))),
        ("plan.jsonl", written(Trial, extra=("v", "campaign"))),
        ("trial.json", written(TrialResult, extra=("v",))),
        ("Resources", written(Resources)),
        ("Scale", written(Scale)),
        ("certificates/KEY.json", written(Certificate, extra=("v",))),
        ("Check", written(Check)),
    ],
)
def test_every_key_is_named_once_and_no_other(title: str, expected: list[str]) -> None:
    assert keys(title) == expected


@pytest.mark.parametrize(
    ("title", "key", "kind"), [("Machine", "gpus", GpuCard), ("Resources", "per_phase", PhaseUse)]
)
def test_what_is_inside_of_a_key_is_named(title: str, key: str, kind: type) -> None:
    meaning = dict(rows(title))[f" `{key}` "]
    assert {f"`{each.name}`" for each in fields(kind)} <= set(re.findall(r"`\w+`", meaning))


def test_every_confound_that_bench_does_is_named() -> None:
    assert [first.strip() for first, _ in rows("Confounds")] == list(confounds.NAMES)


def test_every_attribute_and_parameter_of_a_node_is_named() -> None:
    table = {op: text for ops, text in rows("Graph") for op in re.findall(r"\w+", ops)}
    for workload in workloads().values():
        for node in workload.graph["nodes"]:
            own = set(node) - {"name", "op", "inputs", "shape", "parameters"}
            assert own | set(node["parameters"]) <= set(re.findall(r"\w+", table[node["op"]]))


def test_every_key_of_a_recipe_is_named() -> None:
    words = set(re.findall(r"\w+", section("Recipe")))
    one = {"output": "logits", "target": "label"}
    losses, metrics = [recipes.loss("l", **one)], [recipes.metric("m", **one)]
    for name, make in recipes.OPTIMIZERS.items():
        optimizer = make(0.1)
        recipe = recipes.recipe(
            batch=1, epochs=1, optimizer=optimizer, losses=losses, metrics=metrics
        )
        for part in (recipe, optimizer, *losses, *metrics):
            assert set(part) <= words, name
    assert all(f"`{name}`" in section("Recipe") for name in (*recipes.LOSSES, *METRICS))
    assert all(f"`{name}`" in section("Recipe") for name in recipes.OPTIMIZERS)


def test_every_event_is_there_with_every_key_that_the_host_checks() -> None:
    table = {first.strip(): others for first, others in rows("Events")}
    assert list(table) == list(EVENTS)
    for event, expected in EVENTS.items():
        assert set(expected) <= set(re.findall(r"\w+", table[event])), event
    described = stack.describe(numpy_adapter)
    assert set(described) <= set(re.findall(r"\w+", table["stack"]))
    assert all(f"`{phase}`" in section("Events") for phase in bench_formats.PHASES)
    assert PHASES == bench_formats.PHASES


def test_every_metric_of_a_trial_is_named() -> None:
    phases = dict.fromkeys(bench_formats.PHASES, 1.0)
    del phases["verify"]
    names = set()
    result = {
        "samples": 3, "decoded_rows": 2, "inference_ms": [1.0], "inference_rows": 2,
        "latency_ms": [1.0] * 100, "forward_ms": [1.0], "backward_ms": [2.0],
        "metrics": dict.fromkeys(METRICS, 0.5),
        "model_bytes": 7, "model_with_optimizer_bytes": 21,
    }  # fmt: skip
    for first in (
        "accuracy", "average-precision", "mean-absolute-error", "mean-squared-error", "perplexity",
    ):  # fmt: skip
        epoch = {"epoch": 1, "loss": 1.0, "steps_ms": [2.0, 1.0, 1.0], "first": 1, "train_s": 1.0,
                 "metrics": {first: 0.5}, "host_ms": 1.0}  # fmt: skip
        events = [Event(1.0, "epoch", epoch), Event(2.0, "epoch", {**epoch, "epoch": 2})]
        path = {"path": {"image sizes": 2, "padding": 0.1}}
        events = [Event(0.5, "model", path), *events, Event(2.0, "result", result)]
        names |= set(measure(events, phases, 1))
    of_recipe = {"accuracy", "mae", "mse", "perplexity", "greedy_accuracy", "map", "map_11",
                 "boxes_found"}  # fmt: skip
    assert names - of_recipe == set(keys("Metrics"))
    assert all(f"`{name}`" in section("Metrics") for name in names & of_recipe)
    assert of_recipe <= names


def test_every_outcome_is_named() -> None:
    (text,) = re.findall(r"^Outcomes: .*?\.$", section("trial.json"), re.MULTILINE | re.DOTALL)
    assert re.findall(r"`([\w-]+)`", text) == [outcome.value for outcome in Outcome]


def test_every_key_of_a_manifest_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path))
    prepared = store.prepare_proof(find_dataset("digits"))
    manifest = json.loads((prepared.folder / "manifest.json").read_text(encoding="utf-8"))
    assert keys("Prepared data") == sorted(manifest)
    (entry, *_) = manifest["files"].values()
    assert {f"`{key}`" for key in entry} <= set(re.findall(r"`\w+`", section("Prepared data")))
