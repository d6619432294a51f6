"""`dlbench list workloads` and `dlbench show workload NAME`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dlbench.cli.workload_table import recipe_words, short_count
from dlbench.workloads import find, workloads
from tests.orchestrator.command import Command


def test_every_workload_is_listed_with_its_size(command: Command) -> None:
    printed = command("list", "workloads")
    assert printed.code == 0
    (line,) = [line for line in printed.out.splitlines() if line.startswith("mnist-cnn ")]
    for words in ("image classification", "mnist", "1,199,882", "24.1 M"):
        assert words in line
    assert "sgd lr 0.01 momentum 0.5, batch 128, 15 epochs" in line
    listed = {row["name"]: row for row in command("list", "workloads", "--json").json}
    assert listed.keys() == workloads().keys()
    assert listed["mnist-cnn"]["flops"] == 24_139_018
    assert listed["jarvis-fcrn-10"]["aliases"] == ["enthalpy-fcrn-10"]


def test_the_layers_of_a_workload(command: Command) -> None:
    printed = command("show", "workload", "mnist-mlp")
    assert printed.code == 0
    cells = [line.split() for line in printed.out.splitlines()]
    assert ["dense1", "dense", "flatten1", "128", "100,480", "201", "k"] in cells
    assert ["flatten1", "flatten", "image", "784", "-", "-"] in cells
    assert ["total", "118,282", "237", "k"] in cells
    content = command("show", "workload", "mnist-mlp", "--json").json
    assert sum(layer["parameters"] for layer in content["layers"]) == content["parameters"]
    assert sum(layer["flops"] for layer in content["layers"]) == content["flops"]
    assert content["flops_formulas"]["relu"] == "values"
    assert content["recipe"]["batch"] == 32


@pytest.mark.parametrize("name", sorted(workloads()))
def test_the_table_of_layers_fits_80_columns(command: Command, name: str) -> None:
    lines = command("show", "workload", name).out.splitlines()
    table = lines[next(k for k, line in enumerate(lines) if line.startswith("layer ")) :]
    assert max(map(len, table)) <= 80


def test_wrong_names(command: Command) -> None:
    printed = command("show", "workload", "mnist-clp")
    assert printed.code == 2
    assert "Did you mean 'mnist-mlp'" in printed.err
    printed = command("show", "results", "mnist-mlp")
    assert printed.code == 2
    assert "`dlbench show workload NAME`" in printed.err


def test_counts_have_three_digits() -> None:
    numbers = (0, 7, 999, 999.6, 1000, 41_694_858, 3_977_730_024, 2.5e15)
    assert [short_count(n) for n in numbers] == [
        "0", "7", "999", "1 k", "1 k", "41.7 M", "3.98 G", "2,500 T",
    ]  # fmt: skip


def test_what_a_recipe_is_said_to_be() -> None:
    assert recipe_words(find("voc2012-faster-rcnn")) == (
        "adam lr 0.0001 weight decay 0.0005, batch 1, 12 epochs"
    )
    assert recipe_words(find("cifar10-resnet50")).endswith("50 epochs, not shuffled")
    recipe = find("mnist-cnn").recipe
    other = recipe | {
        "optimizer": {**recipe["optimizer"], "nesterov": True},
        "schedule": {"name": "cosine", "least": 0.0, "warmup": 0},
        "clip": 0.5,
        "stopping": {"patience": 3, "validation": 0.1},
        "augment": {"flip": True, "crop": 4},
    }
    assert recipe_words(replace(find("mnist-cnn"), recipe=other)) == (
        "sgd lr 0.01 momentum 0.5 (Nesterov's), batch 128, 15 epochs, cosine schedule,"
        " clipped at 0.5, patience 3, augmented"
    )


def test_every_workload_that_trains_says_where_its_model_is_from() -> None:
    for workload in workloads().values():
        assert workload.source or workload.only_proof, workload.name
