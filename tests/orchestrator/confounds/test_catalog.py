"""Each confound on graphs that nobody foresaw, and on the workload that it comes from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.ops import shapes_of
from bench.reference.model import Reference
from dlbench import datasets, workloads
from dlbench.confounds import catalog
from dlbench.confounds.confound import AlreadySo, Altered, DoesNotApply
from dlbench.confounds.rebuilding import rebuilt
from dlbench.errors import UserError
from dlbench.planning import recipes
from dlbench.planning.altered import check, model_of
from dlbench.planning.changes import workload_of
from dlbench.planning.graph import Graph, count_parameters
from dlbench.studies import reading
from tests.bench.random_graphs import Dice, arrays_for, drawn

Json = dict[str, Any]
GIVEN = {
    "hidden-units": "hidden-units:units=5-3",
    "recurrent-units": "recurrent-units:embedding=6,units=5",
    "other-optimizer": "other-optimizer:to=adadelta",
    "other-batch": "other-batch:batch=3",
    "images-reshaped": "images-reshaped:stored=channels-last",
    "rate-decay": "rate-decay:decay=0.01",
}
TEXTS = [GIVEN.get(one.name, one.name) for one in catalog.CONFOUNDS]


def plain(name: str) -> Altered:
    own = workloads.find(name)
    return Altered(own.graph, own.recipe, dict(datasets.find(own.dataset).divide))


def nodes(graph: Json, op: str) -> list[Json]:
    return [node for node in graph["nodes"] if node["op"] == op]


@pytest.mark.parametrize("name", sorted(workloads.workloads()))
def test_a_graph_built_again_is_the_same_graph(name: str) -> None:
    own = workloads.find(name)
    for graph in (own.graph, own.proof_graph):
        assert rebuilt(graph, lambda node: node) == graph


@pytest.mark.parametrize("seed", range(40))
def test_on_random_graphs_it_makes_a_model_that_trains_or_says_why_not(seed: int) -> None:
    graph, recipe = drawn(Dice(seed))
    assert rebuilt(graph, lambda node: node) == graph
    arrays = arrays_for(graph, recipe, rows=recipe["batch"] + 1, seed=seed)
    model = Altered(graph, recipe, {})
    before = repr((graph, recipe))
    for text in TEXTS:
        try:
            altered = catalog.apply(model, (text,), strict=True)
        except DoesNotApply as error:
            assert str(error) and not str(error).endswith("."), text
            continue
        assert repr((graph, recipe)) == before, "what it was given is as it was"
        assert (altered.graph, altered.recipe, altered.in_bench) != (graph, recipe, ()), text
        assert len(altered.graph["outputs"]) == len(graph["outputs"])
        assert text == "softmax-twice" or set(altered.graph["outputs"]) == set(graph["outputs"])
        if text in ("recurrent-units:embedding=6,units=5", "no-padding", "kernel-1x1"):
            continue  # what losses read has other shapes: the targets drawn above do not fit
        reference = Reference(altered.graph, altered.recipe, seed, np.float64)
        batch = {k: v[: altered.recipe["batch"]] for k, v in arrays.items()}
        assert np.isfinite(reference.train_step(batch)), text


@pytest.mark.parametrize("seed", range(40, 70))
def test_what_each_does_to_every_node_of_a_random_graph(seed: int) -> None:
    graph, recipe = drawn(Dice(seed), ops=14)
    model = Altered(graph, recipe, {})

    def made(text: str) -> Json | None:
        try:
            return catalog.apply(model, (text,), strict=True).graph
        except DoesNotApply:
            return None

    if (dry := made("no-dropout")) is not None:
        left = nodes(dry, "dropout")
        assert all(node["rate"] == 0 and node["name"] in dry["outputs"] for node in left)
        gone = {n["name"] for n in nodes(graph, "dropout")} - {n["name"] for n in left}
        read = {name for node in dry["nodes"] for name in node["inputs"]}
        assert (gone or left) and not gone & read
        assert count_parameters(dry) == count_parameters(graph)
    if (bare := made("no-padding")) is not None:
        assert all(node["padding"] == [[0, 0], [0, 0]] for node in nodes(bare, "conv2d"))
        assert [n["padding"] for n in nodes(bare, "maxpool")] == [
            n["padding"] for n in nodes(graph, "maxpool")
        ], "pooling is as it was"
    if (dots := made("kernel-1x1")) is not None:
        for node in nodes(dots, "conv2d"):
            assert node["parameters"]["kernel"]["shape"][:2] == [1, 1]
    if (biased := made("convolution-biases")) is not None:
        without = sum(n["filters"] for n in nodes(graph, "conv2d") if not n["bias"])
        frozen = sum(n["filters"] for n in nodes(graph, "conv2d")
                     if not n["bias"] and n.get("frozen"))  # fmt: skip
        assert count_parameters(biased) == count_parameters(graph) + without - frozen
    if (norm := made("batchnorm-keep")) is not None:
        assert {node["keep"] for node in nodes(norm, "batchnorm")} == {0.99}
        assert shapes_of(norm) == shapes_of(graph)


def test_dropout_that_is_an_output_keeps_its_name_and_drops_nothing() -> None:
    g = Graph("odd")
    x = g.dropout(g.dropout(g.input("x", (3,)), 0.5, name="first"), 0.5, name="second")
    g.outputs(g.dense(x, 2, name="y"), "second")
    recipe = recipes.recipe(
        batch=2, epochs=1, optimizer=recipes.sgd(0.1),
        losses=[recipes.loss("mean-squared-error", "y", "t")], metrics=[],
    )  # fmt: skip
    made = catalog.apply(Altered(g.to_json(), recipe, {}), ("no-dropout",)).graph
    assert made["outputs"] == ["y", "second"]
    assert [(n["name"], n["rate"], n["inputs"]) for n in nodes(made, "dropout")] == [
        ("second", 0.0, ["x"])
    ]


def test_a_second_softmax_stands_between_the_logits_and_all_that_is_measured() -> None:
    g = Graph("heads")
    x = g.dense(g.input("x", (3,)), 4, name="y")
    g.dense(x, 4, name="y_softmax")
    g.outputs("y", g.dense(x, 2, name="place"), "y_softmax")
    recipe = recipes.recipe(
        batch=2, epochs=1, optimizer=recipes.sgd(0.1),
        metrics=[recipes.metric("accuracy", "y", "t")],
        losses=[
            recipes.loss("softmax-cross-entropy", "y", "t"),
            recipes.loss("mean-squared-error", "place", "p"),
            recipes.loss("mean-squared-error", "y_softmax", "q"),
        ],
    )  # fmt: skip
    plain = Altered(g.to_json(), recipe, {})
    made = catalog.apply(plain, ("softmax-twice",), strict=True)
    assert made.graph["outputs"] == ["y_softmax_", "place", "y_softmax"]
    assert [node["inputs"] for node in nodes(made.graph, "softmax")] == [["y"]]
    assert [one["output"] for one in made.recipe["losses"]] == ["y_softmax_", "place", "y_softmax"]
    assert made.recipe["metrics"][0]["output"] == "y_softmax_"
    batch = {"x": np.ones((2, 3), np.float32), "t": np.array([0, 3], np.int32),
             "p": np.zeros((2, 2), np.float32), "q": np.zeros((2, 4), np.float32)}  # fmt: skip
    once, twice = (Reference(one.graph, one.recipe, 1, np.float64) for one in (plain, made))
    logits, shares = once.predict(batch)["y"], twice.predict(batch)["y_softmax_"]
    powers = np.exp(logits)
    np.testing.assert_allclose(shares, powers / powers.sum(axis=1, keepdims=True), rtol=1e-12)
    with pytest.raises(AlreadySo):
        catalog.apply(made, ("softmax-twice",), strict=True)


def test_sizes_of_the_studies_code() -> None:
    """Parameter counts that can be worked out by hand, or are published."""

    def count(name: str, *texts: str) -> int:
        return count_parameters(model_of(name, (), catalog.canonical(texts)).graph)

    units = "hidden-units:units=64-32-16"
    assert count("mnist-mlp", units) == 785 * 64 + 65 * 32 + 33 * 16 + 17 * 10
    assert count("petrol-mlp", "hidden-units:units=none") == 5
    assert count("ptb-lstm", "recurrent-units:embedding=200,units=200") == count("ptb-lstm-small")
    resnet = model_of("cifar10-resnet18", (), ("convolution-biases",)).graph
    filters = sum(node["filters"] for node in nodes(resnet, "conv2d"))
    assert count_parameters(resnet) == 11_173_962 + filters
    vgg = model_of("imagenet80-vgg16", (), ("kernel-1x1",)).graph
    pixels = sum(n["filters"] * n["parameters"]["kernel"]["shape"][2] for n in nodes(vgg, "conv2d"))
    assert pixels == 1_634_496 - 192 + 3 * 64
    # the study's own count, whose last pooling rounds up: 3x3 places instead of 2x2 before the
    # first dense layer
    assert round((count_parameters(vgg) + 5 * 512 * 4096) / 1e6, 1) == 41.4
    small = model_of("cifar10-cnn", (), ("no-padding",)).graph
    (flat,) = nodes(small, "flatten")
    assert flat["shape"] == [5 * 5 * 64]
    third = model_of("cifar10-cnn", (), ("no-padding:convolution=3",)).graph
    padded = [any(map(any, node["padding"])) for node in nodes(third, "conv2d")]
    assert padded == [True, False, False, False]
    assert nodes(third, "flatten")[0]["shape"] == [5 * 5 * 64]


def test_strides_of_bottleneck_blocks_move_to_the_1x1_in_front_and_nothing_else_changes() -> None:
    own = workloads.find("cifar10-resnet50").graph
    made = model_of("cifar10-resnet50", (), ("early-strides",)).graph
    strides = [[(n["kernel"], n["stride"]) for n in nodes(g, "conv2d")] for g in (own, made)]
    moved = [pair for pair in zip(*strides, strict=True) if pair[0] != pair[1]]
    early = (([1, 1], [1, 1]), ([1, 1], [2, 2])), (([3, 3], [2, 2]), ([3, 3], [1, 1]))
    assert moved == [*early] * 3, "three stages begin with a stride"
    assert count_parameters(made) == count_parameters(own)
    ends = [[n["shape"] for n in nodes(g, "add")] for g in (own, made)]
    assert ends[0] == ends[1]


def test_recipes() -> None:
    def made(name: str, *texts: str) -> Altered:
        return catalog.apply(plain(name), catalog.canonical(texts), strict=True)

    sgd = made("mnist-mlp", "other-optimizer:to=sgd,lr=0.4").recipe["optimizer"]
    assert sgd == recipes.sgd(0.4)
    adam = made("manythings-lstm", "other-optimizer:to=adam,lr=0.0001").recipe["optimizer"]
    assert adam == recipes.adam(1e-4)
    assert made("mnist-mlp", "adam-epsilon").recipe["optimizer"]["epsilon"] == 1e-7
    hat = made("mnist-mlp", "hat-epsilon").recipe["optimizer"]
    assert hat == {**recipes.adam(1e-3), "hat_epsilon": True}
    decayed = made("voc2012-faster-rcnn", "rate-decay").recipe
    assert decayed["optimizer"]["weight_decay"] == 0
    assert decayed["schedule"] == recipes.inverse(5e-4)
    both = made("mnist-mlp", "summed-gradient", "other-batch:batch=7").recipe
    assert both["losses"][0]["weight"] == both["batch"] == 7, "whatever the order of the texts"
    assert made("cifar10-cnn", "unscaled-images").divide == {}
    chosen = made("mnist-cnn", "chosen-on-test")
    assert chosen.recipe["stopping"] == {"patience": 10**9, "validation": None}
    stopped = made("jarvis-fcn-10", "chosen-on-test").recipe["stopping"]
    assert stopped == {"patience": 100, "validation": None}
    shifted = made("manythings-lstm", "unshifted-decoder").in_bench
    assert shifted == ({"name": "unshifted-decoder", "arrays": {"target_in": "target_out"}},)


REFUSED = [
    ("no-padding", "cifar10-resnet18", "at node 'add1', add needs two or more equal shapes"),
    ("no-padding", "mnist-cnn", "no convolution of it is padded"),
    ("no-padding:convolution=2", "cifar10-cnn", "it has no padding"),
    ("no-padding:convolution=9", "cifar10-cnn", "it has 4 convolutions"),
    ("early-strides", "cifar10-resnet18", "no convolution with a stride has a 1x1 in front of it"),
    ("no-dropout", "mnist-mlp", "it has no dropout"),
    ("convolution-biases", "mnist-cnn", "all its convolutions have biases"),
    ("images-reshaped:stored=channels-last", "mnist-cnn", "its images have one channel"),
    ("unscaled-images", "imdb-lstm", "it reads no images"),
    ("softmax-twice", "imdb-lstm", "no loss of it takes a softmax"),
    ("unshifted-decoder", "imdb-lstm", "no loss of it asks for a word at each place"),
    ("broadcast-loss", "mnist-cnn", "it has no squared error, without a mask"),
    ("evaluation-in-training-mode", "mnist-mlp", "both modes are the same"),
    ("rate-decay", "mnist-cnn", "its recipe has no weight decay; say how much"),
    ("hidden-units:units=3", "mnist-cnn", "it is not a chain of dense layers"),
    ("adam-epsilon", "mnist-cnn", "its optimiser is sgd, not adam"),
    ("hat-epsilon", "mnist-cnn", "its optimiser is sgd, not adam"),
    ("summed-gradient", "voc2012-faster-rcnn", "in a batch of one row"),
    ("other-batch:batch=2", "voc2012-faster-rcnn", "needs a batch of 1"),
]


@pytest.mark.parametrize(("text", "name", "why"), REFUSED)
def test_where_it_does_not_apply_it_says_why(text: str, name: str, why: str) -> None:
    said = check(name, (), (text,))
    assert said.startswith(f"{text} does not apply to {name}: ") and why in said
    assert said.endswith(".") and not said.endswith("..")


WRONG = [
    ("gremlins", "There is no confound 'gremlins'"),
    ("batchnorm-keep:keep=much", "keep='much' is not possible, a number from 0 is expected"),
    ("batchnorm-keep:kept=1", "'kept=1' is no parameter of batchnorm-keep; it has keep"),
    ("no-dropout:rate=1", "'rate=1' is no parameter of no-dropout; it has none"),
    ("other-batch", "other-batch needs batch: a whole number from 1"),
    ("other-batch:batch=0", "batch='0' is not possible"),
    ("images-reshaped:stored=sideways", "channels-first or channels-last is expected"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_is_misspelt_is_refused_with_what_is_possible(text: str, said: str) -> None:
    with pytest.raises(UserError) as wrong:
        catalog.canonical([text])
    assert said in str(wrong.value)


def test_values_that_only_the_model_can_refuse() -> None:
    for text, said in (
        ("batchnorm-keep:keep=2", "a number from 0 to 1"),
        ("hidden-units:units=0", "widths such as 64-32-16, or none"),
        ("other-optimizer:to=adam,momentum=0.5", "adam has no momentum"),
    ):
        name = {"batchnorm-keep": "svhn-cnn"}.get(text.partition(":")[0], "mnist-mlp")
        with pytest.raises(UserError) as wrong:
            model_of(name, (), (text,))
        assert said in str(wrong.value)


def test_one_set_is_written_in_one_way() -> None:
    texts = ["timed-evaluation:rows=test,batch=1", "no-dropout", "batchnorm-keep:keep=0.990"]
    assert catalog.canonical(texts) == ("no-dropout", "batchnorm-keep", "timed-evaluation:batch=1")
    with pytest.raises(UserError, match="named twice"):
        catalog.canonical(["no-dropout", "no-dropout"])


def test_what_is_so_already_is_refused_alone_and_left_in_a_study() -> None:
    changes = ("optimizer.name=adam",)
    text = ("other-optimizer:to=adam",)
    assert "its optimiser is adam" in check("cifar10-resnet18", changes, text)
    model = model_of("cifar10-resnet18", changes, text)
    assert model.recipe == workload_of("cifar10-resnet18", changes).recipe
    with pytest.raises(AlreadySo):
        own = Altered(workloads.find("cifar10-resnet18").graph, model.recipe, {})
        catalog.apply(own, text, strict=True)


@pytest.mark.parametrize("study", reading.studies(), ids=lambda study: study.name)
def test_all_that_a_study_had_can_be_put_back(study: Any) -> None:
    for framework in study.frameworks:
        for workload in study.workloads:
            had = study.confounds_of(framework, workload)
            assert set(catalog.canonical(had)) == set(had), "as results will have it"
            if had:
                assert check(workload, (), catalog.canonical(had)) == ""
                model_of(workload, (), catalog.canonical(had))
    for one in study.confounds:
        if one.confound:
            catalog.read(one.confound)
        if not one.put_back:
            assert one.note, "why it is not"


def test_every_confound_has_a_source_and_a_sentence() -> None:
    sources = {one.confound.partition(":")[0] for s in reading.studies() for one in s.confounds}
    for one in catalog.CONFOUNDS:
        assert one.name in sources
        assert one.about[0].isupper() and one.about.endswith(".")
