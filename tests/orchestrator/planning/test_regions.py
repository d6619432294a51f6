"""Graphs with regions of an image: what the builder and the recipes refuse, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from dlbench.planning import recipes
from dlbench.planning.detectors import detector
from dlbench.planning.flops import flops_by_node
from dlbench.planning.graph import Graph, GraphError, count_parameters

NUMBERS = detector(3, scales=(8, 16), ratios=(1,), rois=4, proposals_evaluation=5, pool=2)


def _begun(**inputs: Any) -> tuple[Graph, list[str]]:
    """A graph up to what proposals read."""
    g = Graph("detector")
    x = g.conv2d(g.input("image", (32, 48, 3), sizes=((32, 48), (48, 32))), 4, 3, stride=16)
    scores = g.conv2d(x, 2, 1, name="rpn_scores")
    deltas = g.conv2d(x, 8, 1, name="rpn_moves")
    truth = [
        g.input("boxes", inputs.get("boxes", (5, 4))),
        g.input("classes", inputs.get("classes", (5,)), "int32"),
        g.input("size", (2,)),
        g.input("seed", (), "int32"),
    ]
    return g, [scores, deltas, *truth]


def _graph() -> dict[str, Any]:
    g, read = _begun()
    rois = g.proposals(*read, detector=NUMBERS, name="rois")
    y = g.globalavgpool(g.roialign("conv2d1", "rois:wy", "rois:wx"))
    g.outputs(g.dense(y, 4, name="kinds"), g.dense(y, 12, name="moves"), rois, *read[:2])
    return g.to_json()


def _recipe(**changed: Any) -> dict[str, Any]:
    losses = [
        recipes.loss("sigmoid-cross-entropy", "rpn_scores", "rpn_labels"),
        recipes.loss("smooth-l1", "rpn_moves", "rpn_deltas"),
        recipes.loss("softmax-cross-entropy", "kinds", "rois:labels", mask="rois:label_weights",
                     divisor=4),
    ]  # fmt: skip
    metrics = [recipes.metric("average-precision", "kinds", "boxes", deltas="moves")]
    given = {"batch": 1, "losses": losses, "metrics": metrics, **changed}
    return recipes.recipe(epochs=1, optimizer=recipes.adam(1e-4), **given)


def test_a_detector_is_legal_and_its_shapes_are_known() -> None:
    graph = _graph()
    recipes.check(graph, _recipe())
    (node,) = [node for node in graph["nodes"] if node["op"] == "roialign"]
    assert node["shape"] == [2, 2, 4]
    # a dense layer on 5 regions, and two products for each of them on a map of 2 x 3
    arithmetic = flops_by_node(graph)
    assert arithmetic["kinds"] == 5 * 4 * (2 * 4 + 1)
    assert arithmetic["roialign1"] == 5 * 2 * 2 * 3 * 4 * (2 + 2)


def test_constants_are_no_parameters_to_train() -> None:
    g = Graph("frozen")
    x = g.affine(g.conv2d(g.input("image", (4, 4, 1)), 2, 3, frozen=True))
    g.outputs(g.dense(g.flatten(x), 1, name="y"))
    graph = g.to_json()
    assert count_parameters(graph) == 2 * 2 * 2 + 1
    assert [node.get("frozen") for node in graph["nodes"]] == [True, None, None, None]
    frozen = Graph("all")
    frozen.outputs(frozen.dense(frozen.input("x", (2,)), 1, frozen=True, name="y"))
    recipe = _recipe(losses=[recipes.loss("mean-squared-error", "y", "t")], metrics=[])
    with pytest.raises(GraphError, match="No loss of 'all' depends on a parameter to train"):
        recipes.check(frozen.to_json(), recipe)


@pytest.mark.parametrize(
    ("number", "value", "words"),
    [
        ("pool", 0, "pool must be a whole number from 1, not 0"),
        ("rois", 2.5, "rois must be a whole number from 1, not 2.5"),
        ("foreground", 1.5, r"foreground must be in 0..1, not 1.5"),
        ("scales", [], "scales must list some numbers above 0"),
        ("weights", [1.0, 1.0], "weights must list 4 numbers above 0"),
        ("rpn_negative", 0.8, "rpn_negative must not be above rpn_positive"),
        ("smallest", -1, "smallest must be 0 or more, not -1"),
        ("ratios", [1.0, 2.0], "'rpn_scores' has 2 channels; 2 scales x 2 ratios need one each"),
    ],
)
def test_numbers_that_no_detector_can_have(number: str, value: Any, words: str) -> None:
    g, read = _begun()
    with pytest.raises(GraphError, match=words):
        g.proposals(*read, detector={**NUMBERS, number: value})


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({**NUMBERS, "more": 1}, "there is no 'more'"),
        ({"rois": 3}, "the number of classes is missing"),
        ({**NUMBERS, "scales": 3}, "scales must list numbers, not 3"),
        ({**NUMBERS, "smallest": "x"}, "not all of these are numbers"),
    ],
)
def test_numbers_that_are_none(numbers: Any, words: str) -> None:
    g, read = _begun()
    with pytest.raises(GraphError, match=words):
        g.proposals(*read, detector=numbers)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"boxes": (5, 3)}, r"'boxes' must be an input of float32 \[5, 4\]"),
        ({"classes": (6,)}, r"'classes' must be an input of int32 \[5\]"),
    ],
)
def test_inputs_of_another_shape(inputs: Any, words: str) -> None:
    g, read = _begun(**inputs)
    with pytest.raises(GraphError, match=words):
        g.proposals(*read, detector=NUMBERS)


def test_rows_of_regions_and_of_images_do_not_mix() -> None:
    g, read = _begun()
    g.proposals(*read, detector=NUMBERS, name="rois")
    regions = g.globalavgpool(g.roialign("conv2d1", "rois:wy", "rois:wx"))
    with pytest.raises(GraphError, match="rows of regions and rows of images together"):
        g.add(regions, g.globalavgpool("conv2d1"))
    with pytest.raises(GraphError, match="a second node of proposals; one is allowed"):
        g.proposals(*read, detector=NUMBERS, name="more")
    with pytest.raises(GraphError, match="comes in several sizes"):
        g.flatten("conv2d1")
    with pytest.raises(GraphError, match="reads an image and NAME:wy, NAME:wx"):
        g.roialign("conv2d1", "rois:wx", "rois:wy")


@pytest.mark.parametrize(
    "sizes", [((48, 32),), ((32, 48), (32, 48)), ((32, 48), (0, 3)), ((32, 48), (3,))]
)
def test_sizes_that_an_image_can_not_have(sizes: Any) -> None:
    with pytest.raises(GraphError, match=r"'image' can't have the sizes|sizes must be a list"):
        Graph("sized").input("image", (32, 48, 3), sizes=sizes)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"batch": 2}, "'rois' finds regions of one image: 'detector' needs a batch of 1"),
        ({"losses": [recipes.loss("smooth-l1", "moves", "t")]}, "one has a row for each region"),
        ({"losses": [recipes.loss("smooth-l1", "rpn_moves", "rois:deltas")]},
         "one has a row for each region"),
        ({"losses": [recipes.loss("softmax-cross-entropy", "kinds", "other:labels")]},
         "'other:labels' is not made by a node of proposals"),
        ({"losses": [recipes.loss("smooth-l1", "kinds", "rois:deltas")]},
         r"needs the shape \[4\]; 'rois:deltas' has \[12\]"),
        ({"losses": [recipes.loss("softmax-cross-entropy", "kinds", "rois:label_weights")]},
         "can't be taken of 'rois:label_weights'"),
        ({"losses": _recipe()["losses"][2:]}, "can't learn: no gradient passes through 'rois'"),
        ({"metrics": [recipes.metric("accuracy", "kinds", "label")]},
         "The metric accuracy can't be taken of 'kinds'"),
        ({"metrics": [recipes.metric("boxes-found", "kinds", "boxes")]},
         "needs the output that moves the regions"),
        ({"losses": [recipes.loss("smooth-l1", "rpn_moves", "t", divisor=3)]}, "needs a mask"),
        ({"losses": [recipes.loss("smooth-l1", "rpn_moves", "t", mask="m", divisor=0)]},
         "must be from 1e-09"),
        ({"augment": recipes.augmentation(flip=True)}, "boxes would not move along"),
    ],
)  # fmt: skip
def test_recipes_that_are_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(GraphError, match=words):
        recipes.check(_graph(), _recipe(**changed))


_FITTING = {"image": (9, 60, 60, 3), "size": (9, 2), "boxes": (9, 7, 4), "classes": (9, 7),
            "difficult": (9, 7)}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"difficult": None}, "no array 'difficult'"),
        ({"boxes": (9, 7, 5)}, r"'boxes' has rows of the shape \[7, 5\].* needs \[7, 4\]"),
        ({"image": (9, 60, 60, 1)}, r"'image' has rows .* needs \['any', 'any', 3\]"),
        ({"classes": (9, 6)}, r"'classes' has rows of the shape \[6\]"),
    ],
)
def test_data_without_boxes_are_refused(changed: dict[str, Any], words: str) -> None:
    recipes.check_data(_graph(), _recipe(), _FITTING)
    shapes = {k: v for k, v in {**_FITTING, **changed}.items() if v}
    with pytest.raises(GraphError, match=words):
        recipes.check_data(_graph(), _recipe(), shapes)
