"""All confounds, and models with some of them put back.

A set of confounds is a tuple of texts in the order of this list, each once: the same set is always
written in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dlbench.confounds import of_bench, of_graph, of_recipe
from dlbench.confounds.confound import (
    AlreadySo,
    Altered,
    Confound,
    DoesNotApply,
    Parameter,
    Value,
    WrongParameter,
)
from dlbench.errors import UserError, unknown
from dlbench.planning import recipes
from dlbench.planning.graph import GraphError
from dlbench.shapes import LONGEST_NAME

_OPTIMIZERS = tuple(recipes.OPTIMIZERS)
_WHOLE = Parameter(int, low=1)
_ABOVE = Parameter(float, optional=True, low=0.0)

CONFOUNDS = (
    # what sizes depend on comes first: later ones see the batch and the graph of earlier ones
    Confound(
        "hidden-units",
        "The hidden layers of a perceptron have other widths; none: it has no hidden layer.",
        "graph", of_graph.hidden_units, {"units": Parameter(str)},
    ),
    Confound(
        "recurrent-units",
        "All embeddings and LSTMs have other sizes.",
        "graph", of_graph.recurrent_units, {"embedding": _WHOLE, "units": _WHOLE},
    ),
    Confound(
        "no-dropout",
        "Dropout never runs: every dropout layer is taken out.",
        "graph", of_graph.no_dropout,
    ),
    Confound(
        "no-padding",
        "Convolutions are not padded, or one of them, so that everything behind them is smaller.",
        "graph", of_graph.no_padding, {"convolution": Parameter(int, optional=True, low=1)},
    ),
    Confound(
        "early-strides",
        "The stride of a bottleneck block is in its 1x1 convolution, not in the larger one behind"
        " it, which sees a quarter of the pixels.",
        "graph", of_graph.early_strides,
    ),
    Confound(
        "kernel-1x1",
        "Every convolution looks at single pixels: its window is 1x1.",
        "graph", of_graph.kernel_1x1,
    ),
    Confound(
        "convolution-biases",
        "Every convolution has a bias, also in front of a batch normalisation.",
        "graph", of_graph.convolution_biases,
    ),
    Confound(
        "batchnorm-keep",
        "Batch normalisations keep another share of their running statistics in each step.",
        "graph", of_graph.batchnorm_keep, {"keep": Parameter(float, 0.99, low=0.0)},
    ),
    Confound(
        "softmax-twice",
        "The model ends in a softmax, and the loss takes the softmax of it once more.",
        "graph", of_graph.softmax_twice,
    ),
    Confound(
        "other-optimizer",
        "Another optimiser trains, with its usual coefficients where none are given.",
        "recipe", of_recipe.other_optimizer,
        {"to": Parameter(str, choices=_OPTIMIZERS), "lr": _ABOVE, "momentum": _ABOVE,
         "epsilon": _ABOVE},
    ),
    Confound(
        "adam-epsilon",
        "Adam's epsilon is another one.",
        "recipe", of_recipe.adam_epsilon, {"epsilon": Parameter(float, 1e-7, low=0.0)},
    ),
    Confound(
        "hat-epsilon",
        "Adam's epsilon is added before the bias correction, not after it: as if it were larger,"
        " 32 times in the first step, twice after 288.",
        "recipe", of_recipe.hat_epsilon,
    ),
    Confound(
        "rate-decay",
        "The learning rate decays in place of the weights: it is divided by 1 + decay * step.",
        "recipe", of_recipe.rate_decay, {"decay": _ABOVE},
    ),
    Confound(
        "other-batch",
        "Batches have another number of rows.",
        "recipe", of_recipe.other_batch, {"batch": _WHOLE},
    ),
    Confound(
        "summed-gradient",
        "The gradient is the sum over a batch's rows, not the mean; a smaller last batch counts"
        " like a whole one.",
        "recipe", of_recipe.summed_gradient,
    ),
    Confound(
        "augmented-images",
        "Training images are flipped and cut out at random.",
        "recipe", of_recipe.augmented_images,
        {"flip": Parameter(bool, True), "crop": Parameter(int, 4, low=0)},
    ),
    Confound(
        "unscaled-images",
        "Images keep their raw values, such as 0 to 255, instead of 0 to 1.",
        "data", of_bench.unscaled_images,
    ),
    Confound(
        "images-reshaped",
        "Images are reshaped to another layout instead of transposed, which scrambles them.",
        "data", of_bench.images_reshaped,
        {"stored": Parameter(str, choices=("channels-first", "channels-last"))}, in_bench=True,
    ),
    Confound(
        "unshifted-decoder",
        "A decoder reads the very word that it has to say, not the one before it.",
        "data", of_bench.unshifted_decoder, in_bench=True,
    ),
    Confound(
        "split-by-row",
        "Rows are drawn for training, validation and test one by one: what belongs together, like"
        " materials of one formula, is on both sides.",
        "data", of_bench.split_by_row, in_bench=True,
    ),
    Confound(
        "test-is-training",
        "The test rows are the training rows.",
        "data", of_bench.test_is_training, in_bench=True,
    ),
    Confound(
        "broadcast-loss",
        "Predictions (B,1) meet targets (B) in the squared error, so that each is held against all"
        " targets of its batch; the loss that is told lacks the targets' variance.",
        "loss", of_bench.broadcast_loss, in_bench=True,
    ),
    Confound(
        "chosen-on-test",
        "The epoch that is best on the test rows is the result, and training that stops early"
        " stops by them.",
        "evaluation", of_recipe.chosen_on_test, in_bench=True,
    ),
    Confound(
        "evaluation-in-training-mode",
        "Evaluation runs in training mode: dropout drops, batch normalisation takes the batch's"
        " own statistics.",
        "evaluation", of_bench.evaluation_in_training_mode, in_bench=True,
    ),
    Confound(
        "timed-evaluation",
        "Training time includes an evaluation after each epoch, in batches of the recipe's size or"
        " of another; rows=both: of the training rows, too.",
        "time", of_bench.timed_evaluation,
        {"batch": Parameter(int, optional=True, low=1),
         "rows": Parameter(str, "test", choices=("test", "both"))}, in_bench=True,
    ),
)  # fmt: skip
_BY_NAME = {each.name: each for each in CONFOUNDS}
_PLACE = {each.name: place for place, each in enumerate(CONFOUNDS)}


def find(name: str) -> Confound:
    if name not in _BY_NAME:
        raise unknown("confound", name, _BY_NAME, "dlbench list confounds")
    return _BY_NAME[name]


def read(text: str) -> tuple[Confound, dict[str, Value]]:
    """A confound and its parameters from `batchnorm-keep:keep=0.99`."""
    name, _, values = text.partition(":")
    confound = find(name)
    try:
        return confound, confound.read(values)
    except WrongParameter as error:
        raise _wrong(text, error) from error


def canonical(texts: Iterable[str]) -> tuple[str, ...]:
    """The set in the one way that it is written."""
    every = [read(text) for text in texts]
    names = [confound.name for confound, _ in every]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"The confound {name} is named twice.", "Name it once.")
    every.sort(key=lambda one: _PLACE[one[0].name])
    written = tuple(confound.text(values) for confound, values in every)
    if len(" ".join(written)) > LONGEST_NAME:
        raise UserError("So many confounds have no readable name.", "Put back fewer at once.")
    return written


def apply(model: Altered, texts: Sequence[str], *, strict: bool = False) -> Altered:
    """The model with these confounds, in this order, checked like one that somebody wrote.

    `strict`: also a confound that changes nothing, because it is so already, does not apply."""
    altered = model
    for text in texts:
        confound, values = read(text)
        before = altered
        try:
            altered = confound.act(before, **values)
            if altered == before:
                raise AlreadySo("it would change nothing")
        except AlreadySo:
            if strict:
                raise
        except WrongParameter as error:
            raise _wrong(text, error) from error
    try:
        recipes.check(altered.graph, altered.recipe)
    except GraphError as error:
        raise DoesNotApply(str(error).rstrip(".")) from error
    if any(not math.isfinite(loss["weight"]) for loss in altered.recipe["losses"]):
        raise DoesNotApply("a weight of its losses would not be a number")
    return altered


def in_job(texts: Iterable[str], altered: Altered) -> list[dict[str, object]]:
    """The entries of a job's `confounds`: what bench does, and what the job has in it already."""
    done = {str(each["name"]): each for each in altered.in_bench}
    entries: list[dict[str, object]] = []
    for text in texts:
        confound, values = read(text)
        if confound.name in done:
            entries.append({"in": "bench", **done[confound.name]})
        else:
            entries.append({"name": confound.name, "in": "job", **values})
    return entries


def of_model(texts: Iterable[str]) -> tuple[str, ...]:
    """Those that change the model or its recipe: a proof of the altered model needs them."""
    return tuple(text for text in texts if not read(text)[0].in_bench)


def _wrong(text: str, error: WrongParameter) -> UserError:
    return UserError(
        f"The confound {text[:60]} can't be: {error}.",
        "`dlbench list confounds` shows what each takes.",
    )
