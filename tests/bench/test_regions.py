"""Regions in the reference: RoI align and its gradient, weighted losses, what rounding decides."""

from __future__ import annotations

import numpy as np
import pytest

from bench import host
from bench.ops import at_size, host_nodes, open_shapes, shapes_of, trained_nodes, values_of
from bench.proof import drawn
from bench.proof.kinks import regions_at_ties
from bench.reference.layers import Context, roialign, roialign_backward
from bench.reference.losses import loss_and_gradient
from bench.reference.model import Reference
from dlbench.workloads import find

WORKLOAD = find("voc2012-faster-rcnn")
GRAPH, RECIPE = WORKLOAD.proof_graph, WORKLOAD.recipe


def test_roi_align_is_two_products_and_its_gradient_their_transpose() -> None:
    random = np.random.RandomState(1)
    image, wy, wx = random.normal(size=(1, 4, 5, 3)), *random.normal(size=(2, 6, 2, 5))
    wy = wy[:, :, :4]
    y, cache = roialign({}, [image, wy, wx], {}, Context())
    assert np.allclose(y, np.einsum("rih,hwc,rjw->rijc", wy, image[0], wx))
    gradient = random.normal(size=y.shape)
    (found, *others), parameters = roialign_backward({}, cache, gradient)
    assert np.allclose(found[0], np.einsum("rih,rijc,rjw->hwc", wy, gradient, wx))
    assert others == [None, None]
    assert parameters == {}


@pytest.mark.parametrize(
    ("error", "value", "slope"),
    [(0.0, 0.0, 0.0), (0.5, 0.125, 0.5), (1.0, 0.5, 1.0), (-1.0, 0.5, -1.0), (-3.0, 2.5, -1.0)],
)
def test_smooth_l1(error: float, value: float, slope: float) -> None:
    output, target = np.array([[2.0 + error]]), np.array([[2.0]])
    assert loss_and_gradient("smooth-l1", output, target) == (value, slope)


def test_a_weighted_loss_is_a_sum_over_a_constant() -> None:
    output, target = np.array([[1.0], [3.0], [5.0]]), np.zeros((3, 1))
    weights = np.array([[0.5], [0.0], [2.0]])
    loss, gradient = loss_and_gradient("mean-squared-error", output, target, weights, 0.0, 4.0)
    assert loss == pytest.approx((0.5 * 1 + 2 * 25) / 4)
    assert gradient.ravel().tolist() == pytest.approx([0.5 * 2 / 4, 0, 2 * 10 / 4])
    nothing = np.zeros_like(weights)
    assert loss_and_gradient("mean-squared-error", output, target, nothing, 0.0, 4.0)[0] == 0


def test_shapes_follow_the_size_of_the_image() -> None:
    other = shapes_of(at_size(GRAPH, [80, 64]))
    assert shapes_of(GRAPH)["rpn_scores"] == [4, 5, 15]
    assert other["rpn_scores"] == [5, 4, 15]
    assert other["rois:wy"], other["rois:wx"] == ([7, 5], [7, 4])
    assert other["scores"] == [21]
    shapes = open_shapes(GRAPH)
    assert shapes["image"] == [None, None, 3]
    assert shapes["rois:wx"] == [7, None]
    assert shapes["roialign1"] == [7, 7, 32]


def _values(training: bool) -> tuple[dict, dict]:
    batch = drawn.Batches(GRAPH, RECIPE, 3).rows(1)
    reference = Reference(GRAPH, RECIPE, 1, np.float64, drawn.weights(GRAPH, 11))
    return batch, reference.activations(batch, training)


@pytest.mark.parametrize(("training", "rows"), [(True, 16), (False, 24)])
def test_rows_behind_the_host_node_are_regions(training: bool, rows: int) -> None:
    batch, values = _values(training)
    shapes = shapes_of(at_size(GRAPH, batch["image"].shape[1:3]))
    assert set(values_of(GRAPH)) == set(values)
    for name in ("rois", "rois:wy", "rois:labels", "rois:deltas", "roialign1", "scores", "moves"):
        assert values[name].shape == (rows, *shapes[name])
    assert values["rois:labels"].any() == training


def test_no_gradient_passes_through_the_host_node() -> None:
    """Without the RPN's own losses nothing before its scores would learn."""
    batch = drawn.Batches(GRAPH, RECIPE, 3).rows(1)
    silent = [
        dict(s, weight=s["weight"] * (not s["output"].startswith("rpn"))) for s in RECIPE["losses"]
    ]
    model = Reference(GRAPH, dict(RECIPE, losses=silent), 1, np.float64, drawn.weights(GRAPH, 11))
    _, gradients = model.gradients(batch)
    assert not gradients["rpn_scores"]["kernel"].any()
    assert not gradients["rpn_moves"]["kernel"].any()
    assert gradients["scores"]["kernel"].any()
    assert "affine1" not in gradients  # constants
    assert "conv2d1" not in gradients
    assert host_nodes(GRAPH)[0] in trained_nodes(GRAPH, RECIPE)


def test_scores_that_are_nearly_equal_are_a_matter_of_rounding() -> None:
    batch, values = _values(True)
    assert not regions_at_ties(GRAPH, values, batch)
    scores = values["rpn_scores"]
    for apart, tied in ((1e-9, True), (0.0, False)):  # what is equal is told apart by its place
        scores[:] = 1 + apart * np.arange(scores.size).reshape(scores.shape)
        assert regions_at_ties(GRAPH, values, batch) == tied


def test_the_time_of_the_host_node_is_kept_in_training_alone() -> None:
    host.take_seconds()
    _values(False)
    assert host.take_seconds() == []
    _values(True)
    (seconds,) = host.take_seconds()
    assert seconds > 0
    assert host.take_seconds() == []
