"""A workload in TOML is the same as one in Python; what is wrong in it is named with its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.errors import UserError
from dlbench.toml_file import Table
from dlbench.workloads import _toml, find, workloads
from dlbench.workloads._recipe import read_recipe
from dlbench.workloads._toml_graph import _OPS

DIGITS = """
name = "digits-cnn"
task = "image classification"
dataset = "digits"
outputs = ["logits"]

[inputs]
image = [8, 8, 1]

[[layers]]
op = "conv2d"
filters = 32
kernel = 3
[[layers]]
op = "relu"
[[layers]]
op = "conv2d"
filters = 64
kernel = [3, 3]
stride = 1
padding = "valid"
[[layers]]
op = "relu"
[[layers]]
op = "maxpool"
size = 2
[[layers]]
op = "dropout"
rate = 0.25
[[layers]]
op = "flatten"
[[layers]]
op = "dense"
units = 128
[[layers]]
op = "relu"
[[layers]]
op = "dropout"
rate = 0.5
[[layers]]
op = "dense"
name = "logits"
units = 10

[recipe]
batch = 32
epochs = 15
optimizer = { name = "sgd", lr = 0.02, momentum = 0.9 }
losses = [{ name = "softmax-cross-entropy", output = "logits", target = "label" }]
metrics = [{ name = "accuracy", output = "logits", target = "label" }]
"""

BRANCHES = """
task = "all sorts"
dataset = "toy-pairs"
outputs = ["answer", "both"]

[inputs]
tokens = { shape = [9], dtype = "int32" }
length = { shape = [], dtype = "int32" }
image = [6, 6, 2]

[[layers]]
op = "embedding"
input = "tokens"
vocabulary = 30
units = 4
[[layers]]
op = "lstm"
name = "encoder"
units = 5
lengths = "length"
[[layers]]
op = "lstm"
name = "decoder"
input = "embedding1"
units = 5
initial = ["encoder:h", "encoder:c"]
output = "sequence"
[[layers]]
op = "dense"
name = "answer"
units = 3
bias = false
[[layers]]
op = "avgpool"
input = "image"
size = [3, 3]
stride = 1
padding = [[1, 1], [1, 1]]
[[layers]]
op = "add"
inputs = ["avgpool1", "image"]
[[layers]]
op = "batchnorm"
keep = 0.99
epsilon = 1
[[layers]]
op = "globalavgpool"
[[layers]]
op = "concat"
name = "both"
inputs = ["globalavgpool1", "encoder"]

[recipe]
batch = 8
epochs = 1
shuffle = false
warmup = 0
optimizer = { name = "adam", lr = 1, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 }

[[recipe.losses]]
name = "softmax-cross-entropy"
output = "answer"
target = "target_out"
mask = "mask"
weight = 2
[[recipe.metrics]]
name = "accuracy"
output = "answer"
target = "target_out"
mask = "mask"
"""


def load(folder: Path, text: str):
    path = folder / "mine.toml"
    path.write_text(text)
    return _toml.load(path)


def test_it_is_the_same_as_in_python(tmp_path: Path) -> None:
    written, built = load(tmp_path, DIGITS), find("digits-cnn")
    assert written.graph == built.graph
    assert written.recipe == built.recipe
    assert (written.name, written.task, written.dataset) == (built.name, built.task, built.dataset)


def test_branches_states_and_masks(tmp_path: Path) -> None:
    workload = load(tmp_path, BRANCHES)
    assert workload.name == "mine"
    nodes = {node["name"]: node for node in workload.graph["nodes"]}
    assert nodes["encoder"]["inputs"] == ["embedding1"]
    assert nodes["encoder"]["lengths"] == "length"
    assert nodes["decoder"]["initial"] == ["encoder:h", "encoder:c"]
    assert nodes["answer"]["inputs"] == ["decoder"]
    assert nodes["answer"]["shape"] == [9, 3]
    assert "bias" not in nodes["answer"]["parameters"]
    assert nodes["avgpool1"]["padding"] == [[1, 1], [1, 1]]
    assert nodes["both"]["shape"] == [7]
    assert workload.graph["outputs"] == ["answer", "both"]
    assert [spec["dtype"] for spec in workload.graph["inputs"]] == ["int32", "int32", "float32"]
    assert workload.recipe["losses"][0]["mask"] == "mask"
    assert workload.recipe["losses"][0]["weight"] == 2.0
    assert workload.recipe["optimizer"]["weight_decay"] == 0.0
    assert (workload.recipe["shuffle"], workload.recipe["warmup"]) == (False, 0)


@pytest.mark.parametrize("name", sorted(workloads()))
def test_every_recipe_of_ours_could_be_written(name: str) -> None:
    workload = find(name)
    table = Table(Path(name), "recipe.", workload.recipe)
    assert read_recipe(table, workload.graph["outputs"]) == workload.recipe


def test_every_op_of_the_builder_can_be_written() -> None:
    used = {node["op"] for name in ("imdb-lstm", "proof-two-branch", "proof-encoder-decoder")
            for node in find(name).graph["nodes"]}  # fmt: skip
    assert used <= set(_OPS)


def test_the_smaller_model_for_the_certificate(tmp_path: Path) -> None:
    smaller = '[proof]\ninputs = { image = [8, 8, 1] }\n[[proof.layers]]\nop = "flatten"\n'
    workload = load(tmp_path, DIGITS + smaller)
    assert [node["op"] for node in workload.proof_graph["nodes"]] == ["flatten"]
    assert workload.proof_graph["name"] == "digits-cnn-proof"
    with pytest.raises(UserError, match=r"`proof.layer` is not known here.*'layers'"):
        load(tmp_path, DIGITS + smaller.replace("proof.layers", "proof.layer"))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('task = "image classification"', "", "`task` is missing"),
        ('task = "image classification"', "task = 3", "`task` must be a string"),
        ('dataset = "digits"', 'datasets = "digits"', "`datasets` is not known here"),
        ("image = [8, 8, 1]", 'image = [8, "8", 1]', "`inputs.image.shape` must list whole"),
        ("image = [8, 8, 1]", "image = [8, 8]", "`layers[1].op` can't be built (conv2d): 'image'"),
        ("image = [8, 8, 1]", "image = { shape = [8, 8, 1], type = 1 }", "`inputs.image.type`"),
        ("image = [8, 8, 1]", "image = [8, 8, 1]\nmore = [1]", "`layers[1].input` is missing"),
        ('op = "flatten"', 'op = "flaten"', "`layers[7].op` names no layer: 'flaten'"),
        ("filters = 32", "", "`layers[1].op` can't be built (conv2d): missing a required argument"),
        ("filters = 32", "filters = 3.2", "`layers[1].filters` must be a whole number"),
        ("filters = 32", "filters = true", "`layers[1].filters` must be a whole number"),
        ("filters = 32", "filter = 32", "`layers[1].filter` is not known here"),
        ("kernel = [3, 3]", "kernel = [3, 3, 3]", "must be a whole number or [a whole number, a"),
        ('padding = "valid"', 'padding = "full"', "`layers[3].padding` must be"),
        ('padding = "valid"', "padding = [[1, 0]]", "`layers[3].padding` must be"),
        ('padding = "valid"', "padding = [[1], [1]]", "`layers[3].padding` must be"),
        ("size = 2", "size = 2\ninputs = ['x']\ninput = 'x'", "stands beside `input`"),
        ("size = 2", "size = 2\nstrides = 2", "`layers[5].strides` is not known here"),
        ("size = 2", "size = 2\nstride = 2.5", "`layers[5].stride` must be"),
        ("size = 2", "size = 2\ninput = 'images'", "`layers[5].op` can't be built (maxpool)"),
        ('outputs = ["logits"]', 'outputs = ["logit"]', "`outputs` is wrong: 'logit'"),
        ("batch = 32", "batch = 0", "`recipe.batch` must be at least 1"),
        ("batch = 32", "batches = 32", "`recipe.batches` is not known here"),
        ("batch = 32", "", "`recipe.batch` is missing"),
        ('name = "sgd"', 'name = "sdg"', "`recipe.optimizer.name` must be one of sgd, adam"),
        ('name = "sgd", lr = 0.02', 'name = "sgd"', "`recipe.optimizer.lr` is missing"),
        ('name = "sgd"', 'name = "adam"', "`recipe.optimizer.momentum` is not known here"),
        ("momentum = 0.9", 'momentum = "0.9"', "`recipe.optimizer.momentum` must be a number"),
        ('accuracy", output = "logits"', 'accuracy", output = "relu1"', "must be one of logits"),
        ('name = "accuracy"', 'name = "top-5"', "`recipe.metrics[1].name` must be one of accuracy"),
        ("batch = 32", 'batch = 32\nevaluate = "train"', "`recipe.evaluate` must be a list"),
        ("batch = 32", "batch = 32\nevaluate = [1]", "`recipe.evaluate` must be a list of strings"),
        ('name = "accuracy"', 'name = "accuracy", input = 3', "`recipe.metrics[1].input` must be"),
        ("metrics = [", "metrics = []\nm = [", "`recipe.m` is not known here"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in DIGITS
    with pytest.raises(UserError) as caught:
        load(tmp_path, DIGITS.replace(old, new, 1))
    assert str(tmp_path / "mine.toml") in caught.value.problem
    assert words in caught.value.problem
    assert caught.value.remedy
