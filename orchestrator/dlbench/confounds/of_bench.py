"""Confounds of data, loss, evaluation and time, most of which bench does (`bench/confounds.py`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dlbench.confounds.confound import AlreadySo, Altered, DoesNotApply
from dlbench.planning.greedy_decoding import readers_place_by_place
from dlbench.planning.regions import proposals_of


def images_reshaped(model: Altered, stored: str) -> Altered:
    images = _images(model)
    if all(1 in (spec["shape"][2], spec["shape"][0] * spec["shape"][1]) for spec in images):
        raise DoesNotApply("its images have one channel: a reshape leaves them as they are")
    names = [spec["name"] for spec in images]
    return _bench(model, "images-reshaped", stored=stored, inputs=names)


def unscaled_images(model: Altered) -> Altered:
    names = {spec["name"] for spec in _images(model)}
    left = {name: by for name, by in model.divide.items() if name not in names}
    if left == dict(model.divide):
        raise AlreadySo("its images are not scaled")
    return replace(model, divide=left)


def unshifted_decoder(model: Altered) -> Altered:
    """Where a word is read and the next one is to be said, the word to be said is read."""
    arrays: dict[str, str] = {}
    for loss in model.recipe["losses"]:
        if loss["name"] != "softmax-cross-entropy":
            continue
        for name in readers_place_by_place(model.graph, loss["output"]):
            arrays[name] = loss["target"]
    if not arrays:
        raise DoesNotApply(
            "no loss of it asks for a word at each place of a row of words that it reads"
        )
    return _bench(model, "unshifted-decoder", arrays=arrays)


def split_by_row(model: Altered) -> Altered:
    if proposals_of(model.graph):
        raise DoesNotApply("its photographs are not read all at once")
    return _bench(model, "split-by-row")


def test_is_training(model: Altered) -> Altered:
    return _bench(model, "test-is-training")


def broadcast_loss(model: Altered) -> Altered:
    """(B,1) against (B): every prediction of a batch is held against every target."""
    shapes = {node["name"]: node["shape"] for node in model.graph["nodes"]}
    targets = [
        loss["target"]
        for loss in model.recipe["losses"]
        if loss["name"] == "mean-squared-error"
        and shapes.get(loss["output"]) == [1]
        and loss["mask"] is None
    ]
    if not targets:
        raise DoesNotApply("it has no squared error, without a mask, of one number a row")
    if model.recipe["batch"] == 1:
        raise AlreadySo("in a batch of one row there is nothing to stretch")
    return _bench(model, "broadcast-loss", targets=sorted(set(targets)))


def evaluation_in_training_mode(model: Altered) -> Altered:
    if proposals_of(model.graph):
        raise DoesNotApply("a detector finds other numbers of regions in training")
    if not any(node["op"] in ("dropout", "batchnorm") for node in model.graph["nodes"]):
        raise DoesNotApply(
            "it has neither dropout nor batch normalisation: both modes are the same"
        )
    return _bench(model, "evaluation-in-training-mode")


def timed_evaluation(model: Altered, rows: str, batch: int | None = None) -> Altered:
    if proposals_of(model.graph) and (batch or 1) != 1:
        raise DoesNotApply("a detector takes one image at a time")
    return _bench(model, "timed-evaluation", rows=rows, batch=batch)


def _images(model: Altered) -> list[dict[str, Any]]:
    """The inputs that are images, of one size each."""
    if proposals_of(model.graph):
        raise DoesNotApply("a detector's images have boxes and many sizes")
    images = [s for s in model.graph["inputs"] if len(s["shape"]) == 3 and s["dtype"] == "float32"]
    if not images:
        raise DoesNotApply("it reads no images")
    return images


def _bench(model: Altered, name: str, **values: Any) -> Altered:
    return replace(model, in_bench=(*model.in_bench, {"name": name, **values}))
