"""Changes of a recipe: put in, checked like a recipe that somebody wrote, written in one way."""

from __future__ import annotations

import pytest

from dlbench import workloads
from dlbench.errors import UserError
from dlbench.planning.changes import (
    changed,
    parsed,
    proven,
    read_value,
    texts_of,
    workload_of,
)
from dlbench.suites.extent import Value

MNIST = "mnist-cnn"


def test_what_is_changed_is_changed_and_nothing_else() -> None:
    before = workloads.find(MNIST).recipe
    after = changed(MNIST, {"batch": 8, "optimizer.lr": 1, "stopping.patience": 3}).recipe
    assert after["batch"] == 8
    assert after["optimizer"] == {**before["optimizer"], "lr": 1.0}
    assert after["stopping"] == {"patience": 3, "validation": 0.1}
    assert {k: v for k, v in after.items() if k not in ("batch", "optimizer", "stopping")} == {
        k: v for k, v in before.items() if k not in ("batch", "optimizer", "stopping")
    }
    assert workloads.find(MNIST).recipe == before, "the workload itself was changed"
    assert changed(MNIST, {}) is workloads.find(MNIST)


def test_another_optimiser_keeps_the_rate_and_has_its_own_coefficients() -> None:
    recipe = changed(MNIST, {"optimizer.beta1": 0.5, "optimizer.name": "adam"}).recipe
    assert recipe["optimizer"]["name"] == "adam"
    assert recipe["optimizer"]["lr"] == 0.01
    assert recipe["optimizer"]["beta1"] == 0.5
    assert "momentum" not in recipe["optimizer"]


def test_a_size_brings_its_graph_and_recipe_under_the_same_name() -> None:
    large, small = (workloads.find(f"voc2012-faster-rcnn{end}") for end in ("", "-small"))
    found = workload_of(large.name, ["size=small", "optimizer.lr=0.002"])
    assert found.name == large.name
    assert found.graph is small.graph
    assert found.recipe == {**small.recipe, "optimizer": {**small.recipe["optimizer"], "lr": 0.002}}
    assert workload_of(large.name, []).graph is large.graph
    assert proven(["size=small", "optimizer.lr=0.002"]) == ("size=small",)


@pytest.mark.parametrize(
    ("workload", "size", "words"),
    [
        ("voc2012-faster-rcnn", "tiny", r"has no size 'tiny'\. Its sizes: small\."),
        ("voc2012-faster-rcnn", 3, r"has no size '3'\. Its sizes: small\."),
        (MNIST, "small", r"has no size 'small'\. Its sizes: none but its own\."),
    ],
)
def test_a_size_that_a_workload_does_not_have(workload: str, size: Value, words: str) -> None:
    with pytest.raises(UserError, match=words):
        changed(workload, {"size": size})


def test_parts_come_and_go() -> None:
    assert changed("jarvis-fcn-10", {"stopping": None}).recipe["stopping"] is None
    cosine = changed(MNIST, {"schedule.name": "cosine"}).recipe["schedule"]
    assert cosine == {"name": "cosine", "least": 0.0, "warmup": 0}
    assert changed(MNIST, {"augment.flip": True}).recipe["augment"] == {"flip": True, "crop": 0}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"batch": 0}, r"`batch` must be at least 1\. It is 0"),
        ({"batch": -3}, "`batch` must be at least 1"),
        ({"batch": 1.5}, "`batch` must be a whole number. It is 1.5"),
        ({"batch": "many"}, "`batch` must be a whole number. It is 'many'"),
        ({"batch": True}, "`batch` must be a whole number"),
        ({"batch": None}, "`batch` is missing"),
        ({"optimizer.lr": 0}, "lr of 0.0 is outside its range, from 1e-20"),
        ({"optimizer.lr": float("inf")}, "lr of inf is outside its range"),
        ({"optimizer.momentum": 1.0}, "momentum of 1.0 is outside its range, from 0 to 0.999999"),
        ({"optimizer.beta1": 0.9}, "`optimizer.beta1` is not known here"),
        ({"optimizer.name": "adm"}, "must be one of sgd, adam, adadelta. Did you mean 'adam'"),
        ({"optimizer": 3}, "no field 'optimizer'. Did you mean 'optimizer.lr'"),
        ({"stopping": 3}, "stopping=3 is not possible. Write stopping=none .* stopping.patience"),
        ({"bach": 8}, "no field 'bach'. Did you mean 'batch'"),
        ({"losses": 1}, "no field 'losses'"),
        ({"schedule.every": 3}, "`schedule.name` is missing"),
        ({"schedule.name": "step"}, "`schedule.every` is missing"),
        ({"clip": -1}, "clip of -1.0 is not a norm from"),
        ({"stopping.patience": 0}, "patience from 1"),
        ({"warmup": -1}, "`warmup` must be at least 0"),
        ({"augment.crop": 0}, "augment must flip, or crop"),
    ],
)
def test_what_is_not_possible_is_refused_by_name(changes: dict[str, Value], words: str) -> None:
    with pytest.raises(UserError, match=words) as refused:
        changed(MNIST, changes)
    assert str(refused.value).startswith("--sweep: ")


def test_what_does_not_fit_the_model_is_refused() -> None:
    with pytest.raises(
        UserError, match=r"batch=1 is not possible on cifar10-densenet121.*variance"
    ):
        changed("cifar10-densenet121", {"batch": 1})
    with pytest.raises(UserError, match="has no image to augment"):
        changed("jarvis-fcn-10", {"augment.flip": True})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8), ("+8", 8), ("-1", -1), ("1e-3", 0.001), (".5", 0.5), ("True", True),
        ("none", None), ("adam", "adam"), ("1e999", float("inf")), ("0x10", "0x10"),
        ("1_000", "1_000"), ("nan", "nan"), ("9" * 40, float("9" * 40)),
    ],
)  # fmt: skip
def test_values_are_read_as_they_are_meant(text: str, value: Value) -> None:
    assert read_value(text) == value
    assert type(read_value(text)) is type(value)


def test_changes_are_written_in_one_way_and_read_back() -> None:
    changes: dict[str, Value] = {
        "batch": 8, "optimizer.lr": 1e-08, "shuffle": False, "stopping": None, "clip": 1.0,
        "optimizer.name": "adam", "optimizer.epsilon": 0.19658,
    }  # fmt: skip
    assert texts_of(changes)[:3] == ("batch=8", "optimizer.lr=1e-08", "shuffle=false")
    assert parsed(texts_of(changes)) == changes
    assert texts_of({"optimizer.lr": 0.10}) == texts_of({"optimizer.lr": 1e-1})
    assert workload_of(MNIST, texts_of(changes)) == changed(MNIST, changes)
    with pytest.raises(UserError, match=r"plan.jsonl: a recipe has no field"):
        workload_of(MNIST, ["x"])


def test_another_formula_needs_its_own_proof_and_another_number_does_not() -> None:
    assert proven(["optimizer.lr=0.5", "shuffle=false", "warmup=3"]) == ()
    assert proven(["batch=8", "optimizer.lr=0.5"]) == ("batch=8",)
    assert proven(["optimizer.name=adam", "optimizer.lr=0.5", "warmup=8"]) == (
        "optimizer.name=adam", "optimizer.lr=0.5",
    )  # fmt: skip
    assert proven(["clip=1", "schedule.name=cosine", "stopping.patience=3"]) == (
        "clip=1", "schedule.name=cosine",
    )  # fmt: skip
