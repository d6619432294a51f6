"""`dlbench list confounds`, and what `dlbench show suite` says of a study's own."""

from __future__ import annotations

from dlbench.confounds.catalog import CONFOUNDS
from tests.orchestrator.command import Command


def test_each_is_listed_with_what_it_does_and_who_had_it(command: Command) -> None:
    said = command("list", "confounds").out
    for one in CONFOUNDS:
        assert f"{one.name}" in said and one.about in said
    assert "no-padding[:convolution=…] (graph). Convolutions are not padded" in said
    assert "Seen in elshawi2021 (mxnet, theano, chainer)." in said
    assert "batchnorm-keep[:keep=0.99] (graph)" in said
    assert "other-optimizer:to=…[,lr=…]" in said
    assert said.count("Seen in ") == len(CONFOUNDS)


def test_for_machines_with_every_source(command: Command) -> None:
    listed = {one["name"]: one for one in command("list", "confounds", "--json").json}
    assert set(listed) == {one.name for one in CONFOUNDS}
    dry = listed["no-dropout"]
    assert dry["acts_on"] == "graph" and "altered just so" in dry["proof"]
    source = next(each for each in dry["sources"] if each["study"] == "elshawi2021")
    assert source["frameworks"] == ["pytorch"] and "mnist-cnn" in source["workloads"]
    assert "F.dropout" in source["place"] and source["put_back"] is True
    timed = listed["timed-evaluation"]
    assert "proven as intended" in timed["proof"]
    assert timed["parameters"]["rows"] == {
        "expects": "test or both", "default": "test", "optional": False,
    }  # fmt: skip


def test_a_suite_says_what_is_put_back_and_what_is_not(command: Command) -> None:
    said = command("show", "suite", "tian2020").out
    put_back, not_put_back = said.split("Known and not put back:")
    assert "With --as published:" in put_back
    assert "1x1 convolutions by a swapped argument" in put_back and ": kernel-1x1" in put_back
    assert "softmax twice" in put_back and ": softmax-twice" in put_back
    assert "another stem pool" in not_put_back and "not recorded here" in not_put_back
    assert "With --as published" not in command("show", "suite", "quick").out
    content = command("show", "suite", "tian2020", "--json").json
    assert {one["confound"] for one in content["confounds"]} >= {"kernel-1x1", "unscaled-images"}
