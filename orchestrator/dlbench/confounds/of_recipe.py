"""Confounds of the recipe: another optimiser, batch, decay or weight of the loss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dlbench.confounds.confound import AlreadySo, Altered, DoesNotApply, WrongParameter
from dlbench.planning import recipes

_NEVER = 10**9
"""A patience that no training outlasts."""


def other_optimizer(model: Altered, to: str, **coefficients: float) -> Altered:
    old = model.recipe["optimizer"]
    given: dict[str, Any] = {"lr": old["lr"], "weight_decay": old["weight_decay"], **coefficients}
    try:
        new = recipes.OPTIMIZERS[to](**given)
    except TypeError:
        wrong = ", ".join(key for key in coefficients if key != "lr")
        raise WrongParameter(f"{to} has no {wrong}") from None
    if new == old:
        raise AlreadySo(f"its optimiser is {to} with the same coefficients")
    if old["name"] == to and not coefficients:
        raise AlreadySo(f"its optimiser is {to}")
    return _with(model, optimizer=new)


def other_batch(model: Altered, batch: int) -> Altered:
    if model.recipe["batch"] == batch:
        raise AlreadySo(f"its batches have {batch} rows")
    return _with(model, batch=batch)


def adam_epsilon(model: Altered, epsilon: float) -> Altered:
    optimizer = model.recipe["optimizer"]
    if optimizer["name"] != "adam":
        raise DoesNotApply(f"its optimiser is {optimizer['name']}, not adam")
    if optimizer["epsilon"] == epsilon:
        raise AlreadySo(f"its epsilon is {epsilon:g}")
    return _with(model, optimizer={**optimizer, "epsilon": epsilon})


def hat_epsilon(model: Altered) -> Altered:
    """The other form of Adam, in which epsilon is added before the bias correction."""
    optimizer = model.recipe["optimizer"]
    if optimizer["name"] != "adam":
        raise DoesNotApply(f"its optimiser is {optimizer['name']}, not adam")
    return _with(model, optimizer={**optimizer, "hat_epsilon": True})


def rate_decay(model: Altered, decay: float | None = None) -> Altered:
    """What was meant as weight decay lowers the learning rate instead."""
    optimizer = model.recipe["optimizer"]
    if model.recipe.get("schedule"):
        raise DoesNotApply("its learning rate follows a schedule of its own")
    decay = optimizer["weight_decay"] if decay is None else decay
    if not decay:
        raise DoesNotApply("its recipe has no weight decay; say how much: rate-decay:decay=1e-6")
    return _with(
        model,
        optimizer={**optimizer, "weight_decay": 0.0},
        schedule=recipes.inverse(decay),
    )


def summed_gradient(model: Altered) -> Altered:
    batch = model.recipe["batch"]
    if batch == 1:
        raise AlreadySo("in a batch of one row, sum and mean are the same")
    losses = [{**loss, "weight": loss["weight"] * batch} for loss in model.recipe["losses"]]
    return _with(model, losses=losses)


def augmented_images(model: Altered, flip: bool, crop: int) -> Altered:
    if not (flip or crop):
        raise WrongParameter("images are flipped, or cropped by 1 or more, or both")
    images = [spec["shape"] for spec in model.graph["inputs"] if len(spec["shape"]) == 3]
    if not images:
        raise DoesNotApply("it reads no images")
    if crop > min(min(shape[:2]) for shape in images):
        raise DoesNotApply(f"an image of it is smaller than a crop of {crop}")
    augment = recipes.augmentation(flip=flip, crop=crop)
    if model.recipe.get("augment") == augment:
        raise AlreadySo("its images are augmented just so")
    return _with(model, augment=augment)


def chosen_on_test(model: Altered) -> Altered:
    """The epoch that is best on the test rows is the result; a recipe that stops, stops by them."""
    if not model.recipe["metrics"]:
        raise DoesNotApply("its recipe has no metric to choose by")
    patience = (model.recipe.get("stopping") or {}).get("patience", _NEVER)
    chosen = _with(model, stopping=recipes.stopping(patience, validation=None))
    return replace(chosen, in_bench=(*chosen.in_bench, {"name": "chosen-on-test"}))


def _with(model: Altered, **changes: Any) -> Altered:
    return replace(model, recipe={**model.recipe, **changes})
