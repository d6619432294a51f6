"""Tensors of other programs as canonical parameters: the same model, or a refusal that says why."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.adapters.numpy import Reference
from bench.weights import initial_weights
from dlbench.errors import UserError
from dlbench.planning import recipes
from dlbench.planning.graph import Graph
from dlbench.weights.canonical import shapes_of
from dlbench.weights.convert import Conversion, convert
from dlbench.weights.tensor_files import read_tensors
from dlbench.weights.tensors import Tensor, TensorFile
from dlbench.workloads import find
from dlbench.workloads._densenet import densenet121
from dlbench.workloads._resnet import resnet18, resnet50
from tests.orchestrator.running.test_named_releases import environment_of

WRITER = Path(__file__).with_name("torch_writer.py")
RANDOM = np.random.RandomState(4)


def graph_of_the_writer() -> dict[str, Any]:
    """The model that torch_writer.py has in PyTorch."""
    g = Graph("written")
    image, words = g.input("image", (3, 2, 2)), g.input("words", (4,), "int32")
    x = g.relu(g.batchnorm(g.conv2d(image, 4, 3, padding="same", name="stem"), name="stem_norm"))
    h = g.lstm(g.embedding(words, 9, 5, name="table"), 6, name="memory")
    hidden = g.dense(g.concat(g.flatten(x), h), 7, name="hidden")
    g.outputs(g.dense(g.batchnorm(hidden, name="norm"), 3, name="logits"))
    return g.to_json()


def predicted(graph: dict[str, Any], made: Conversion, batch: dict[str, Any]) -> np.ndarray:
    recipe = recipes.recipe(
        batch=8,
        epochs=1,
        optimizer=recipes.sgd(0.1),
        losses=[recipes.loss("softmax-cross-entropy", "logits", "label")],
        metrics=[recipes.metric("accuracy", "logits", "label")],
    )
    weights = initial_weights(graph, 1)
    for name, values in made.arrays.items():
        node, parameter = name.split("/")
        weights[node][parameter] = values
    return Reference(graph, recipe, 1, np.float64, weights).predict(batch)["logits"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    python = environment_of("pytorch@2.13.0")
    subprocess.run([python, WRITER, folder], check=True, capture_output=True, timeout=300)
    return folder


@pytest.mark.parametrize(
    ("file", "tolerance"),
    [
        ("model.pt", 1e-5),
        ("legacy.pt", 1e-5),
        ("wrapped.pt", 1e-5),
        ("half.pt", 3e-2),
        ("checkpoint.pt", 1e-5),
        ("legacy_checkpoint.pt", 1e-5),
        ("strided.pt", 1e-5),
    ],
)
def test_a_model_of_pytorch_computes_the_same_here(
    file: str, tolerance: float, written: Path
) -> None:
    graph = graph_of_the_writer()
    made = convert(read_tensors(written / file), graph)
    assert (made.unfilled, made.unused) == ((), ())
    assert "2 counters of batches (num_batches_tracked) left out." in made.notes
    assert any("became float32" in note for note in made.notes) == (file == "half.pt")
    assert made.sources["memory/bias"] == ("memory.bias_ih_l0", "memory.bias_hh_l0")
    with np.load(written / "batch.npz") as arrays:
        batch, wanted = {n: arrays[n] for n in ("image", "words")}, arrays["output"]
    error = np.abs(predicted(graph, made, batch) - wanted).max() / np.abs(wanted).max()
    assert error < tolerance


def test_a_whole_model_of_pytorch_is_refused(written: Path) -> None:
    with pytest.raises(UserError, match=r"not a state_dict.*model\.state_dict\(\)"):
        read_tensors(written / "whole.pt")


# ---- by hand ------------------------------------------------------------------------------------


def file_of(**arrays: Any) -> TensorFile:
    values = {name.replace("__", "."): np.asarray(v) for name, v in arrays.items()}
    return TensorFile("test", {n: Tensor(n, str(v.dtype), v) for n, v in values.items()})


def drawn(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def two_layers() -> dict[str, Any]:
    g = Graph("two")
    x = g.relu(g.conv2d(g.input("image", (4, 4, 3)), 3, 3, name="first"))
    g.outputs(g.dense(g.globalavgpool(x), 5, name="logits"))
    return g.to_json()


def resnet_tensors(widths: tuple[int, ...], blocks: tuple[int, ...], stem: int) -> dict[str, Any]:
    """Tensors with torchvision's names: bottleneck blocks, or basic ones of two convolutions."""
    tensors: dict[str, Any] = {}

    def unit(conv: str, norm: str, out: int, into: int, kernel: int) -> None:
        tensors[f"{conv}.weight"] = drawn(out, into, kernel, kernel)
        tensors[f"{norm}.weight"], tensors[f"{norm}.bias"] = drawn(out), drawn(out)
        tensors[f"{norm}.running_mean"] = drawn(out)
        tensors[f"{norm}.running_var"] = np.abs(drawn(out)) + 0.5
        tensors[f"{norm}.num_batches_tracked"] = np.array(9, np.int64)

    basic = stem == 3
    unit("conv1", "bn1", widths[0], 3, 7)
    into = widths[0]
    for stage, (width, count) in enumerate(zip(widths, blocks, strict=True), 1):
        out = width if basic else 4 * width
        for block in range(count):
            name = f"layer{stage}.{block}"
            shapes = [(width, into, 3), (out, width, 3)] if basic else [
                (width, into, 1), (width, width, 3), (out, width, 1)]  # fmt: skip
            for k, (wide, deep, kernel) in enumerate(shapes, 1):
                unit(f"{name}.conv{k}", f"{name}.bn{k}", wide, deep, kernel)
            if into != out:
                unit(f"{name}.downsample.0", f"{name}.downsample.1", out, into, 1)
            into = out
    tensors["fc.weight"], tensors["fc.bias"] = drawn(1000, into), drawn(1000)
    return tensors


def test_torchvisions_resnet_becomes_the_backbone_of_the_detector() -> None:
    graph = find("voc2012-faster-rcnn").proof_graph
    tensors = resnet_tensors((4, 6, 8, 8), (1, 2, 1, 1), 7)
    made = convert(file_of(**tensors), graph)
    assert made.map_name == "torchvision-resnet"
    assert made.unused == ("fc.weight", "fc.bias")
    heads = {name.split("/")[0] for name in made.unfilled}
    assert {"rpn_scores", "rpn_moves", "scores", "moves"} < heads
    assert len(heads) == 5  # and the convolution in front of the two of the RPN
    affine = next(n for n in graph["nodes"] if n["op"] == "affine")
    conv = next(n for n in graph["nodes"] if n["op"] == "conv2d")
    kernel = tensors["conv1.weight"].transpose(2, 3, 1, 0)
    np.testing.assert_array_equal(made.arrays[f"{conv['name']}/kernel"], kernel)
    scale = tensors["bn1.weight"] / np.sqrt(tensors["bn1.running_var"] + 1e-5)
    offset = tensors["bn1.bias"] - tensors["bn1.running_mean"] * scale
    np.testing.assert_allclose(made.arrays[f"{affine['name']}/scale"], scale, rtol=1e-6)
    np.testing.assert_allclose(made.arrays[f"{affine['name']}/offset"], offset, rtol=1e-5)
    last = [node["name"] for node in graph["nodes"] if node["op"] == "affine"][-1]
    assert made.sources[f"{last}/scale"][0] == "layer4.0.bn3.weight"


def test_what_does_not_fit_of_a_resnet_is_said() -> None:
    graph = resnet18("small", 10, (4, 6, 8, 10))
    made = convert(file_of(**resnet_tensors((4, 6, 8, 10), (2, 2, 2, 2), 3)), graph)
    first = next(node["name"] for node in graph["nodes"] if node["op"] == "conv2d")
    assert made.unfilled == (f"{first}/kernel", "logits/kernel", "logits/bias")
    assert made.unused == ("conv1.weight", "fc.weight", "fc.bias")
    assert any(f"Node {first!r} is not filled" in note for note in made.notes)
    norms = [n for n in made.arrays if n.endswith("/variance")]
    assert len(norms) == 20


def in_order_of_names(tensors: dict[str, Any]) -> TensorFile:
    """As safetensors files have them."""
    return replace(file_of(**dict(sorted(tensors.items()))), as_saved=False)


def hugging_face(name: str) -> str:
    """What Hugging Face calls a tensor of torchvision's ResNet."""
    layer, _, leaf = name.rpartition(".")
    kind = "normalization" if "bn" in layer or layer.endswith("downsample.1") else "convolution"
    if layer in ("conv1", "bn1"):
        return f"resnet.embedder.embedder.{kind}.{leaf}"
    if layer == "fc":
        return f"classifier.1.{leaf}"
    stage, block, part, *_ = layer.removeprefix("layer").split(".")
    inner = "shortcut" if part == "downsample" else f"layer.{int(part[-1]) - 1}"
    return f"resnet.encoder.stages.{int(stage) - 1}.layers.{block}.{inner}.{kind}.{leaf}"


@pytest.mark.parametrize("sorted_by_name", [False, True])
@pytest.mark.parametrize("renamed", [hugging_face, "backbone.body.{}".format, "model.{}".format])
def test_a_resnet_is_known_by_other_names(renamed: Any, sorted_by_name: bool) -> None:
    graph = resnet50("small", 10, (4, 6, 8, 10), (2, 1, 1, 1))
    tensors = resnet_tensors((4, 6, 8, 10), (2, 1, 1, 1), 7)
    wanted = convert(file_of(**tensors), graph)
    # a shortcut has the shape of the third convolution, and Hugging Face saves it first
    first = sorted(tensors, key=lambda name: "downsample" not in name)
    other = {renamed(name): tensors[name] for name in first} | {"more.weight": drawn(3, 3)}
    made = convert(in_order_of_names(other) if sorted_by_name else file_of(**other), graph)
    assert made.unfilled == wanted.unfilled == ("logits/kernel", "logits/bias")
    for name, values in wanted.arrays.items():
        np.testing.assert_array_equal(made.arrays[name], values)


def densenet_tensors(growth: int, blocks: tuple[int, ...]) -> dict[str, Any]:
    """As torchvision names and saves them."""
    tensors: dict[str, Any] = {}

    def norm(name: str, wide: int) -> None:
        for leaf in ("weight", "bias", "running_mean"):
            tensors[f"features.{name}.{leaf}"] = drawn(wide)
        tensors[f"features.{name}.running_var"] = np.abs(drawn(wide)) + 0.5

    wide = 2 * growth
    tensors["features.conv0.weight"] = drawn(wide, 3, 7, 7)
    norm("norm0", wide)
    for block, layers in enumerate(blocks, 1):
        for layer in range(1, layers + 1):
            start = f"denseblock{block}.denselayer{layer}"
            norm(f"{start}.norm1", wide)
            tensors[f"features.{start}.conv1.weight"] = drawn(4 * growth, wide, 1, 1)
            norm(f"{start}.norm2", 4 * growth)
            tensors[f"features.{start}.conv2.weight"] = drawn(growth, 4 * growth, 3, 3)
            wide += growth
        if block < len(blocks):
            norm(f"transition{block}.norm", wide)
            tensors[f"features.transition{block}.conv.weight"] = drawn(wide // 2, wide, 1, 1)
            wide //= 2
    norm("norm5", wide)
    tensors["classifier.weight"], tensors["classifier.bias"] = drawn(10, wide), drawn(10)
    return tensors


def test_a_densenet_in_the_order_of_names_is_the_same_model() -> None:
    graph = densenet121("small", 10, 2, (2, 11, 1, 2))  # denselayer11 stands before denselayer2
    tensors = densenet_tensors(2, (2, 11, 1, 2))
    as_saved, by_name = (
        convert(file_of(**tensors), graph),
        convert(in_order_of_names(tensors), graph),
    )
    assert as_saved.unfilled == as_saved.unused == ()
    assert as_saved.sources["batchnorm1/gamma"] == ("features.norm0.weight",)
    assert by_name.sources == as_saved.sources


def test_what_an_order_of_names_does_not_say_is_refused() -> None:
    g = Graph("four")
    x = g.input("x", (3,))
    for name in ("in", "mid", "more", "out"):
        x = g.dense(x, 3, name=name)
    g.outputs(x)
    graph = g.to_json()

    def named(*names: str) -> dict[str, Any]:
        return {f"{n}.{leaf}": v for n in names
                for leaf, v in (("weight", drawn(3, 3)), ("bias", drawn(3)))}  # fmt: skip

    tensors = named("net.8", "net.9", "net.10", "net.11")
    for file in (file_of(**tensors), in_order_of_names(tensors)):
        made = convert(file, graph, layout="torch")
        assert [made.sources[f"{node}/bias"][0] for node in ("in", "mid", "more", "out")] == [
            "net.8.bias", "net.9.bias", "net.10.bias", "net.11.bias"
        ]  # fmt: skip
    tensors = named("stem", "block.1", "block.2", "head")
    assert convert(file_of(**tensors), graph, layout="torch").unfilled == ()
    with pytest.raises(UserError, match=r"order of their names, not in that of the model.*\.pth"):
        convert(in_order_of_names(tensors), graph, layout="torch")


def test_the_canonical_file_converts_to_itself() -> None:
    graph = graph_of_the_writer()
    weights = initial_weights(graph, 3)
    arrays = {f"{n}/{p}": v for n, own in weights.items() for p, v in own.items()}
    made = convert(file_of(**arrays), graph)
    assert made.unfilled == made.unused == ()
    for name, values in arrays.items():
        np.testing.assert_array_equal(made.arrays[name], values)


def test_kerass_arrays_without_names_are_taken_in_order() -> None:
    graph = graph_of_the_writer()
    weights = initial_weights(graph, 3)
    order = list(shapes_of(graph))
    arrays = {f"arr_{k}": weights[n.split("/")[0]][n.split("/")[1]] for k, n in enumerate(order)}
    made = convert(file_of(**arrays), graph, layout="keras")
    assert [made.sources[name] for name in order] == [(f"arr_{k}",) for k in range(len(order))]
    with pytest.raises(UserError, match="17 arrays whose names say nothing; the graph has 18"):
        convert(file_of(**dict(list(arrays.items())[:-1])), graph)


def test_an_ambiguous_layout_is_refused() -> None:
    arrays = {
        "arr_0": drawn(3, 3, 3, 3),
        "arr_1": drawn(3),
        "arr_2": drawn(3, 5),
        "arr_3": drawn(5),
    }
    with pytest.raises(UserError, match=r"first/kernel.*fits in PyTorch's and in Keras' layout"):
        convert(file_of(**arrays), two_layers())
    made = convert(file_of(**arrays), two_layers(), layout="keras")
    np.testing.assert_array_equal(made.arrays["first/kernel"], arrays["arr_0"])


def test_layers_that_can_not_be_told_apart_are_refused() -> None:
    tensors = {"a__weight": drawn(5, 3), "a__bias": drawn(5), "b__weight": drawn(5, 3),
               "b__bias": drawn(5)}  # fmt: skip
    with pytest.raises(UserError, match=r"node 'logits' can't be told: 2 layers.*Give a map"):
        convert(file_of(**tensors), two_layers())


def test_a_users_map(tmp_path: Path) -> None:
    tensors = {"net__c__weight": drawn(3, 3, 3, 3).astype(np.float64), "net__c__bias": drawn(3),
               "net__head__w": drawn(5, 3), "net__head__b1": drawn(5), "net__head__b2": drawn(5),
               "net__more__weight": drawn(2, 2)}  # fmt: skip
    path = tmp_path / "mine.toml"
    path.write_text(
        'prefix = "net."\nlayout = "torch"\n[nodes]\nfirst = "c"\n[parameters]\n'
        '"logits/kernel" = "head.w"\n"logits/bias" = ["head.b1", "head.b2"]\n'
    )
    made = convert(file_of(**tensors), two_layers(), str(path))
    assert made.unused == ("more.weight",)
    assert made.unfilled == ()
    assert "1 tensor of float64 became float32." in made.notes
    np.testing.assert_array_equal(made.arrays["logits/kernel"], tensors["net__head__w"].T)
    np.testing.assert_allclose(
        made.arrays["logits/bias"], tensors["net__head__b1"] + tensors["net__head__b2"], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[nodes]\nnothing = "c"', "names node 'nothing', which is not in the graph"),
        ('[nodes]\nfirst = "d"', "names 'd' for node 'first', which is not in the file"),
        ('[nodes]\nlogits = "c"', "logits can't be filled: 'c.weight' would be"),
        (
            '[parameters]\n"first/gamma" = "c.bias"',
            "names 'first/gamma', which is not in the graph",
        ),
        ('[parameters]\n"first/bias" = "x"', "names tensor 'x', which is not in the file"),
        ('[parameters]\n"first/bias" = "n"', "first/bias can't be filled: 'n' holds int64"),
        ("nodes = 3", "`nodes` must be a table"),
        ("[nodes]\nfirst = 3", "`nodes.first` must be"),
        ("nods = 3", "`nods` is not known here"),
        ('[parameters]\n"first/bias" = [3]', "`parameters.first/bias` must be a list of strings"),
        ('gates = "abcd"', "`gates` must be"),
        ("epsilon = 2", "`epsilon` must be between"),
        ('layout = "caffe"', "`layout` must be torch or keras"),
        ("[[", "can't be read"),
    ],
)
def test_a_wrong_map_is_refused_by_what_is_wrong(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(text)
    tensors = {"c__weight": drawn(3, 3, 3, 3), "c__bias": drawn(3), "n": np.arange(3)}
    with pytest.raises(UserError) as caught:
        convert(file_of(**tensors), two_layers(), str(tmp_path / "m.toml"))
    assert words in str(caught.value)


def test_gates_in_another_order(tmp_path: Path) -> None:
    g = Graph("lstm")
    g.outputs(g.lstm(g.input("x", (2, 3)), 2, name="memory"))
    graph = g.to_json()
    gate = {k: drawn(3, 2) for k in "ifgo"}
    (tmp_path / "m.toml").write_text('gates = "iogf"\n[nodes]\nmemory = "m"')
    tensors = {"m/kernel": np.concatenate([gate[k] for k in "iogf"], 1),
               "m/recurrent_kernel": drawn(2, 8), "m/bias": drawn(16)}  # fmt: skip
    made = convert(file_of(**tensors), graph, str(tmp_path / "m.toml"))
    wanted = np.concatenate([gate[k] for k in "ifgo"], 1)
    np.testing.assert_array_equal(made.arrays["memory/input_kernel"], wanted)
    both = tensors["m/bias"][:8] + tensors["m/bias"][8:]
    np.testing.assert_allclose(made.arrays["memory/bias"][:2], both[:2], rtol=1e-6)


def test_values_that_are_not_finite_are_refused() -> None:
    tensors = {"c__weight": np.full((3, 3, 3, 3), 1e300), "c__bias": drawn(3),
               "h__weight": drawn(5, 3), "h__bias": drawn(5)}  # fmt: skip
    made = convert(file_of(**tensors), two_layers())
    assert made.unfilled == ("first/kernel", "first/bias")
    assert made.unused == ("c.weight", "c.bias")
    with pytest.raises(UserError, match="None of the file's tensors"):
        convert(file_of(x__weight=drawn(7, 7), y__weight=drawn(6, 6)), two_layers())
