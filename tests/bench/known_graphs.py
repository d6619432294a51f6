"""Well-known architectures in small, and odd corners of what the formats allow.

    for name, (graph, recipe) in KNOWN.items(): …

Each is a graph that somebody could hand in. `scripts/prove_graphs.py RELEASE --known` certifies
them all in a release.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dlbench.planning import recipes
from dlbench.planning.graph import Graph

Json = dict[str, Any]
Pair = tuple[Json, Json]

_MOMENTUM = recipes.sgd(0.05, momentum=0.9, weight_decay=5e-4)
_ADAM = recipes.adam(1e-3)


def _head(graph: Graph, output: str, target: str = "label", **of_loss: Any) -> dict[str, Any]:
    return recipes.loss("softmax-cross-entropy", output, target, **of_loss)


def _pair(
    g: Graph,
    *outputs: str,
    losses: list[dict[str, Any]] | None = None,
    optimizer: dict[str, Any] = _MOMENTUM,
    batch: int = 8,
    metrics: list[dict[str, Any]] | None = None,
    **of_recipe: Any,
) -> Pair:
    """The graph with a recipe; without losses a softmax over the first output."""
    g.outputs(*outputs)
    if losses is None:
        losses = [_head(g, outputs[0])]
        if metrics is None:
            metrics = [recipes.metric("accuracy", outputs[0], "label")]
    graph = g.to_json()
    recipe = recipes.recipe(
        batch=batch, epochs=1, warmup=1, optimizer=optimizer, losses=losses, metrics=metrics or [],
        **of_recipe,
    )  # fmt: skip
    recipes.check(graph, recipe)
    return graph, recipe


# ---- architectures -----------------------------------------------------------------------------


def lenet() -> Pair:
    g = Graph("lenet")
    x = g.input("image", (12, 12, 1))
    x = g.avgpool(g.tanh(g.conv2d(x, 4, 5, padding="same")), 2)
    x = g.avgpool(g.tanh(g.conv2d(x, 6, 3)), 2)
    x = g.tanh(g.dense(g.tanh(g.dense(g.flatten(x), 12)), 8))
    return _pair(g, g.dense(x, 10), optimizer=recipes.sgd(0.1))


def alexnet() -> Pair:
    g = Graph("alexnet")
    x = g.relu(g.conv2d(g.input("image", (19, 19, 3)), 6, 5, stride=2, padding=((2, 1), (2, 1))))
    x = g.maxpool(x, 3, stride=2)
    x = g.maxpool(g.relu(g.conv2d(x, 8, 3, padding="same")), 3, stride=1)
    x = g.relu(g.conv2d(g.relu(g.conv2d(x, 8, 3, padding="same")), 6, 3, padding="same"))
    x = g.dropout(g.flatten(x), 0.5)
    x = g.dropout(g.relu(g.dense(x, 16)), 0.5)
    return _pair(g, g.dense(g.relu(g.dense(x, 16)), 10))


def vgg() -> Pair:
    g = Graph("vgg-bn")
    x = g.input("image", (16, 16, 3))
    for filters, depth in ((4, 1), (6, 2), (8, 2)):
        for _ in range(depth):
            x = g.relu(g.batchnorm(g.conv2d(x, filters, 3, padding="same")))
        x = g.maxpool(x, 2)
    x = g.dropout(g.relu(g.dense(g.flatten(x), 16)), 0.5)
    return _pair(g, g.dense(x, 10))


def resnet18() -> Pair:
    g = Graph("resnet18")
    x = g.relu(g.batchnorm(g.conv2d(g.input("image", (16, 16, 3)), 4, 3, padding="same",
                                    bias=False)))  # fmt: skip
    for stage, width in enumerate((4, 6, 8, 10)):
        for block in range(2):
            stride = 2 if stage and not block else 1
            y = g.conv2d(x, width, 3, stride=stride, padding=((1, 1), (1, 1)), bias=False)
            y = g.conv2d(g.relu(g.batchnorm(y)), width, 3, padding="same", bias=False)
            if stride != 1:
                x = g.batchnorm(g.conv2d(x, width, 1, stride=stride, bias=False))
            x = g.relu(g.add(g.batchnorm(y), x))
    return _pair(g, g.dense(g.globalavgpool(x), 10))


def preactivation_bottlenecks() -> Pair:
    g = Graph("bottlenecks")
    x = g.conv2d(g.input("image", (10, 10, 3)), 8, 3, padding="same", bias=False)
    for stride in (1, 2, 1):
        y = g.relu(g.batchnorm(x))
        short = g.conv2d(y, 8, 1, stride=stride, bias=False) if stride > 1 else x
        y = g.relu(g.batchnorm(g.conv2d(y, 3, 1, bias=False)))
        y = g.conv2d(y, 3, 3, stride=stride, padding="same", bias=False)
        x = g.add(g.conv2d(g.relu(g.batchnorm(y)), 8, 1, bias=False), short)
    return _pair(g, g.dense(g.globalavgpool(g.relu(g.batchnorm(x))), 5), clip=1.0,
                 schedule=recipes.cosine(least=0.01, warmup=3))  # fmt: skip


def densenet() -> Pair:
    g = Graph("densenet")
    x = g.conv2d(g.input("image", (8, 8, 3)), 6, 3, padding="same", bias=False)
    for block in range(2):
        for _ in range(3):
            y = g.conv2d(g.relu(g.batchnorm(x)), 8, 1, bias=False)
            y = g.dropout(g.conv2d(g.relu(g.batchnorm(y)), 3, 3, padding="same"), 0.2)
            x = g.concat(x, y)
        if not block:
            x = g.avgpool(g.conv2d(g.relu(g.batchnorm(x)), 7, 1, bias=False), 2)
    return _pair(g, g.dense(g.globalavgpool(g.relu(g.batchnorm(x))), 10))


def inception() -> Pair:
    g = Graph("inception")
    x = g.relu(g.conv2d(g.input("image", (9, 9, 3)), 4, 3))
    for _ in range(2):
        one = g.relu(g.conv2d(x, 3, 1))
        three = g.relu(g.conv2d(g.relu(g.conv2d(x, 2, 1)), 3, (1, 3), padding="same"))
        three = g.relu(g.conv2d(three, 3, (3, 1), padding="same"))
        five = g.relu(g.conv2d(g.relu(g.conv2d(x, 2, 1)), 2, 5, padding="same"))
        pool = g.conv2d(g.maxpool(x, 3, stride=1, padding="same"), 2, 1)
        x = g.concat(one, three, five, pool)
    side = g.dense(g.flatten(g.avgpool(x, 3, stride=2)), 6, name="auxiliary")
    logits = g.dense(g.dropout(g.globalavgpool(x), 0.4), 6, name="logits")
    losses = [_head(g, "logits"), _head(g, "auxiliary", weight=0.3)]
    return _pair(g, logits, side, losses=losses,
                 metrics=[recipes.metric("accuracy", "logits", "label")])  # fmt: skip


def squeezenet() -> Pair:
    g = Graph("squeezenet")
    x = g.maxpool(g.relu(g.conv2d(g.input("image", (13, 13, 3)), 6, 3, stride=2)), 3, stride=2)
    for _ in range(2):
        x = g.relu(g.conv2d(x, 3, 1))
        x = g.concat(g.relu(g.conv2d(x, 4, 1)), g.relu(g.conv2d(x, 4, 3, padding="same")))
    return _pair(g, g.globalavgpool(g.relu(g.conv2d(g.dropout(x, 0.5), 7, 1))), optimizer=_ADAM)


def unet_without_upsampling() -> Pair:
    g = Graph("segmentation")
    x = g.input("image", (8, 8, 2))
    first = g.relu(g.batchnorm(g.conv2d(x, 4, 3, padding="same")))
    wide = g.relu(g.conv2d(first, 5, 7, padding="same"))
    deep = g.maxpool(g.relu(g.conv2d(wide, 6, 3, padding="same")), 3, stride=1, padding="same")
    x = g.concat(first, g.concat(wide, deep))
    logits = g.conv2d(g.relu(g.conv2d(x, 6, 3, padding="same")), 4, 1, name="logits")
    edges = g.conv2d(x, 1, 1, name="edges")
    losses = [
        _head(g, "logits", mask="known"),
        recipes.loss("sigmoid-cross-entropy", "edges", "edge", mask="weights", weight=0.5,
                     divisor=7.0),
    ]  # fmt: skip
    metrics = [recipes.metric("accuracy", "logits", "label", mask="known")]
    return _pair(g, logits, edges, losses=losses, metrics=metrics, optimizer=_ADAM)


def mixer() -> Pair:
    """Convolutions over a column mix places, dense layers over the last axis mix channels."""
    g = Graph("mixer")
    x = g.dense(g.input("patches", (6, 5)), 8)
    for _ in range(2):
        y = g.dense(g.relu(g.dense(g.batchnorm(x), 12)), 8)
        x = g.add(x, y)
    return _pair(g, g.dense(g.flatten(x), 5), optimizer=_ADAM)


def encoder_decoder() -> Pair:
    g = Graph("translator")
    source, target = g.input("source", (7,), "int32"), g.input("target_in", (6,), "int32")
    length = g.input("source_length", (), "int32")
    g.lstm(g.embedding(source, 20, 5), 6, lengths=length, name="encoder")
    g.lstm(g.embedding(target, 11, 5), 6, initial=("encoder:h", "encoder:c"), output="sequence",
           name="decoder")  # fmt: skip
    logits = g.dense("decoder", 11, name="logits")
    losses = [_head(g, "logits", "target_out", mask="mask")]
    metrics = [
        recipes.metric("perplexity", "logits", "target_out", mask="mask"),
        recipes.metric("greedy-accuracy", "logits", "target_out", mask="mask", input="target_in"),
    ]
    return _pair(g, logits, losses=losses, metrics=metrics, optimizer=_ADAM)


def two_towers() -> Pair:
    g = Graph("towers")
    left, right = g.input("left", (9, 9, 1)), g.input("right", (9, 9, 1))
    towers = [g.globalavgpool(g.relu(g.conv2d(x, 5, 3, stride=2))) for x in (left, right)]
    x = g.relu(g.dense(g.concat(*towers), 8))
    out = g.dense(x, 1, name="distance")
    losses = [recipes.loss("smooth-l1", "distance", "distance_true")]
    metrics = [recipes.metric("mean-absolute-error", "distance", "distance_true")]
    return _pair(g, out, losses=losses, metrics=metrics)


def many_heads() -> Pair:
    g = Graph("heads")
    x = g.relu(g.dense(g.input("x", (7,)), 9))
    for number, units in enumerate((1, 2, 5)):
        g.dense(x, units, name=f"head{number}")
    losses = [
        recipes.loss("mean-squared-error", "head0", "y0", weight=0.0),
        recipes.loss("mean-absolute-error", "head0", "y0"),
        recipes.loss("sigmoid-cross-entropy", "head1", "y1", weight=2.0),
        _head(g, "head2", "y2", mask="m2", weight=0.1),
    ]
    metrics = [recipes.metric("accuracy", "head2", "y2", mask="m2")]
    return _pair(g, "head2", "head0", "head1", losses=losses, metrics=metrics)


def language_model() -> Pair:
    g = Graph("words")
    x = g.dropout(g.embedding(g.input("words", (8,), "int32"), 30, 6), 0.3)
    for _ in range(2):
        x = g.dropout(g.lstm(x, 7, output="sequence"), 0.3)
    losses = [_head(g, "logits", "next")]
    metrics = [recipes.metric("perplexity", "logits", "next")]
    return _pair(g, g.dense(x, 30, name="logits"), losses=losses, metrics=metrics, clip=0.25,
                 optimizer=recipes.sgd(1.0), schedule=recipes.step(1, 0.5))  # fmt: skip


def wide_and_deep() -> Pair:
    g = Graph("wide-deep")
    user, item = g.input("user", (), "int32"), g.input("item", (), "int32")
    numbers, bag = g.input("numbers", (5,)), g.input("bag", (4,), "int32")
    deep = g.concat(g.embedding(user, 15, 4), g.embedding(item, 9, 3), numbers,
                    g.flatten(g.embedding(bag, 6, 2)))  # fmt: skip
    deep = g.relu(g.batchnorm(g.dense(g.relu(g.dense(deep, 12)), 6)))
    wide = g.add(g.dense(numbers, 1), g.embedding(user, 15, 1), g.embedding(item, 9, 1))
    out = g.add(wide, g.dense(deep, 1), name="logit")
    losses = [recipes.loss("sigmoid-cross-entropy", "logit", "clicked")]
    metrics = [recipes.metric("binary-accuracy", "logit", "clicked")]
    return _pair(g, out, losses=losses, metrics=metrics, optimizer=_ADAM)


# ---- corners -----------------------------------------------------------------------------------


def one_node() -> Pair:
    g = Graph("one-node")
    return _pair(g, g.dense(g.input("x", (1,)), 1), batch=1, metrics=[])


def one_pixel() -> Pair:
    g = Graph("one-pixel")
    x = g.input("image", (1, 1, 1))
    x = g.conv2d(x, 1, (7, 5), padding=((3, 3), (2, 2)))
    x = g.maxpool(x, 4, stride=5, padding=((3, 0), (1, 3)))
    x = g.avgpool(g.conv2d(x, 2, 1, padding=((3, 4), (0, 6)), stride=(5, 4)), 2, stride=3,
                  padding=((1, 1), (1, 1)))  # fmt: skip
    return _pair(g, g.flatten(x), batch=1)


def one_class_one_word_one_step() -> Pair:
    g = Graph("ones")
    x = g.embedding(g.input("words", (1,), "int32"), 1, 1)
    x = g.lstm(x, 1, lengths=g.input("length", (), "int32"), output="sequence")
    return _pair(g, g.dense(x, 1), batch=1)


def repeated_readers() -> Pair:
    g = Graph("again")
    x = g.dense(g.input("x", (3,)), 3)
    x = g.add(x, x, x)
    x = g.concat(x, x)
    x = g.add(x, x, x, x, x, x)
    x = g.concat(g.relu(x), g.tanh(x), g.sigmoid(x), g.relu(x), x, x, x)
    return _pair(g, g.concat(g.dense(x, 3)))


def image_read_by_many() -> Pair:
    """Whose gradients come from many places, one of them a flattened copy."""
    g = Graph("crowd")
    x = g.conv2d(g.input("image", (3, 4, 2)), 3, 2)
    summed = g.avgpool(g.add(*[x] * 12), 2)
    flat = g.flatten(x)
    kinds = ("mean-squared-error", "sigmoid-cross-entropy", "smooth-l1", "mean-absolute-error")
    losses = [recipes.loss(kind, flat, f"flat{number}") for number, kind in enumerate(kinds)]
    losses += [recipes.loss("smooth-l1", summed, "sum", weight=0.01), _head(g, flat)]
    return _pair(g, flat, summed, losses=losses)


def norms_and_pools_read_with_many() -> Pair:
    """Values that a norm, a flattening and pools read, each beside many others."""
    g = Graph("norm-crowd")
    x = g.conv2d(g.input("image", (4, 3, 2)), 3, 1)
    summed = g.add(g.batchnorm(x), *[x] * 12)
    pooled = g.concat(g.globalavgpool(x), g.globalmaxpool(x), g.flatten(g.maxpool(x, (4, 3))))
    out = g.dense(g.concat(pooled, g.flatten(summed), g.flatten(x)), 3)
    words = g.embedding(g.input("words", (2,), "int32"), 5, 4)
    crowd = g.add(*[words] * 8, g.batchnorm(words))
    return _pair(g, out, crowd, losses=[_head(g, out), recipes.loss("smooth-l1", crowd, "target")])


def maxima_beside_everything() -> Pair:
    """A maximum over an image, of which somebody else reads all."""
    g = Graph("beside")
    x = g.conv2d(g.input("image", (6, 5, 3)), 40, 3, padding="same")
    x = g.add(x, g.conv2d(x, 40, 3, padding="same"))
    return _pair(g, g.dense(g.concat(g.globalmaxpool(x), g.flatten(x)), 3))


def states_everywhere() -> Pair:
    g = Graph("states")
    x, length = g.input("x", (5, 2)), g.input("length", (), "int32")
    start = g.tanh(g.dense(g.input("start", (3,)), 4))
    g.lstm(x, 4, lengths=length, initial=(start, start), output="sequence", name="first")
    g.lstm("first", 4, lengths=length, initial=("first:c", "first:h"), output="last", name="second")
    g.lstm(x, 4, initial=("second:h", "second"), output="sequence", name="third")
    out = g.dense(g.concat("third:h", "third:c", "second", "first:c"), 3, name="out")
    losses = [_head(g, "out"), recipes.loss("mean-squared-error", "first:c", "state", weight=0.2)]
    return _pair(g, out, "first:c", "third", losses=losses, optimizer=_ADAM)


def nothing_needs_it() -> Pair:
    """Nodes that no output needs, inputs that no node reads, outputs without a loss."""
    g = Graph("spare")
    x = g.input("x", (4, 4, 2))
    g.input("spare", (3,))
    g.input("tokens", (2,), "int32")
    y = g.batchnorm(g.conv2d(x, 3, 3))
    g.batchnorm(g.dense(g.flatten(y), 5))
    shown = g.batchnorm(g.dense(g.flatten(g.batchnorm(y)), 2), name="shown")
    return _pair(g, g.dense(g.globalmaxpool(g.relu(y)), 3, name="out"), shown, batch=2)


def all_weights_zero() -> Pair:
    g = Graph("zero")
    x = g.dense(g.batchnorm(g.dense(g.input("x", (3,)), 4)), 2, name="out")
    losses = [_head(g, "out", weight=0.0)]
    return _pair(g, x, losses=losses, optimizer=recipes.adam(1e-2, weight_decay=0.1))


def large_logits() -> Pair:
    """Rows whose loss is in the hundreds."""
    g = Graph("large")
    x = g.dense(g.input("x", (6,)), 5)
    for _ in range(3):
        x = g.add(x, x, x, x, x)
    mapped = g.conv2d(g.input("image", (3, 3, 2)), 4, 1)
    for _ in range(3):
        mapped = g.add(mapped, mapped, mapped, mapped, mapped)
    losses = [_head(g, x), _head(g, mapped, "labels", mask="mask", weight=0.1),
              recipes.loss("sigmoid-cross-entropy", x, "chance", weight=0.1)]  # fmt: skip
    return _pair(g, x, mapped, losses=losses, optimizer=recipes.adam(1e-4))


def autoencoder() -> Pair:
    g = Graph("autoencoder")
    x = g.input("x", (6,))
    out = g.dense(g.tanh(g.dense(x, 2)), 6, name="out")
    losses = [recipes.loss("mean-squared-error", "out", "x")]
    return _pair(g, out, losses=losses, metrics=[recipes.metric("mean-squared-error", "out", "x")])


def board() -> Pair:
    g = Graph("board")
    stones = g.input("stones", (5, 4), "int32")
    x = g.concat(g.embedding(stones, 3, 3), g.embedding(stones, 7, 2))
    x = g.relu(g.conv2d(x, 4, (5, 4), padding="same", stride=(3, 1)))
    return _pair(g, g.dense(g.flatten(x), 3))


def one_filter_one_row() -> Pair:
    g = Graph("one-filter")
    x = g.conv2d(g.input("image", (5, 4, 3)), 1, (3, 2), padding="same")
    x = g.conv2d(g.concat(x, "image"), 1, 1, stride=(2, 1))
    return _pair(g, g.flatten(x), batch=1, optimizer=_ADAM)


def names() -> Pair:
    """Names of which some mean something to a framework, or differ by their case alone."""
    g = Graph("names")
    x = g.input("input", (4,))
    for name in ("Dense", "dense", "DENSE", "dense_1", "training", "self", "T", "n" * 200, "None"):
        x = g.tanh(g.dense(x, 4, name=name))
    losses = [_head(g, x, "Dense")]  # a data array with the name of a node
    return _pair(g, x, losses=losses)


def frozen_trunk() -> Pair:
    g = Graph("frozen")
    x = g.affine(g.conv2d(g.input("image", (6, 6, 2)), 3, 3, bias=False, frozen=True))
    x = g.relu(g.conv2d(g.relu(x), 3, 3, frozen=True))
    x = g.dense(g.dense(g.flatten(x), 4, frozen=True), 3)
    return _pair(g, x, optimizer=recipes.sgd(0.1, momentum=0.9, nesterov=True, weight_decay=0.1))


def flattened_everything() -> Pair:
    g = Graph("flat")
    image, row, x = g.input("image", (3, 2, 2)), g.input("row", (3, 2)), g.input("x", (5,))
    flat = g.concat(g.flatten(image), g.flatten(row), g.flatten(g.flatten(x)))
    mapped = g.flatten(g.maxpool(g.conv2d(image, 2, 2, padding="same"), 2, stride=1))
    return _pair(g, g.dense(g.concat(flat, mapped), 4))


def long_chain() -> Pair:
    g = Graph("chain")
    x = g.input("x", (5,))
    for _ in range(60):
        x = g.tanh(g.dense(x, 5))
    return _pair(g, g.dense(x, 3), optimizer=_ADAM)


def norms_of_two_values() -> Pair:
    """Normalised, two values are always -1 and 1: the true gradient before a norm is nothing."""
    g = Graph("two-values")
    x = g.conv2d(g.input("image", (2, 1, 3)), 4, 1)
    for _ in range(3):
        x = g.batchnorm(x)
    return _pair(g, g.dense(g.flatten(g.conv2d(x, 3, 1)), 5), batch=1)


def norms_of_close_values() -> Pair:
    """Of values that are nearly equal, what float32 has as their mean is not in the middle."""
    g = Graph("close")
    x = g.batchnorm(g.batchnorm(g.dense(g.input("x", (2, 3)), 3), epsilon=1e-8), epsilon=1e-5)
    x = g.batchnorm(g.batchnorm(g.batchnorm(g.add(x, x), epsilon=1e-3), epsilon=1e-2))
    return _pair(g, g.dense(g.flatten(x), 2), batch=1, optimizer=_ADAM, clip=1.0)


def norm_of_equal_rows() -> Pair:
    """At the kinks all inputs are zero and all rows equal: only rounding is left of them."""
    g = Graph("equal")
    x = g.dense(g.sigmoid(g.input("x", (7,))), 101)
    x = g.relu(g.dense(g.batchnorm(x, epsilon=1e-12), 1))
    return _pair(g, g.dense(x, 3), batch=3)


def norms_in_a_row() -> Pair:
    g = Graph("norms")
    x = g.dense(g.input("x", (5,)), 4)
    for _ in range(25):
        x = g.batchnorm(x)
    return _pair(g, g.dense(x, 3), batch=6)


def extreme_attributes() -> Pair:
    g = Graph("extremes")
    x = g.conv2d(g.input("image", (9, 2, 1)), 3, (1, 2), stride=(1, 2))
    x = g.batchnorm(x, keep=0.0, epsilon=1e-8, unbiased=False)
    x = g.batchnorm(g.conv2d(x, 4, 1, stride=(5, 1)), keep=1.0, epsilon=3.0)
    x = g.dropout(g.dropout(g.flatten(x), 0.99), 0.0)
    return _pair(g, g.dense(x, 33), batch=16, optimizer=recipes.adam(0.01, beta1=0.0, beta2=0.5))


def one_value_before_a_norm() -> Pair:
    """Every row is the same: no variance, no true gradient, and all that is left is rounding."""
    g = Graph("one-value")
    x = g.dense(g.embedding(g.input("word", (), "int32"), 1, 1), 6)
    y = g.concat(g.relu(g.batchnorm(x, epsilon=1e-5)), g.batchnorm(g.tanh(x)))
    losses = [
        recipes.loss("mean-absolute-error", y, "target", weight=2.5),
        _head(g, y, weight=2.5),
    ]
    return _pair(g, y, losses=losses, optimizer=recipes.adadelta(0.7, rho=0.85, epsilon=1e-3),
                 clip=0.5)  # fmt: skip


def steep_beside_flat() -> Pair:
    """Gradients of very different sizes: steps that suit the one make the other diverge."""
    g = Graph("steep")
    steep, flat = g.dense(g.input("x", (4,)), 4), g.dense(g.input("z", (2,)), 2)
    for _ in range(4):
        flat = g.tanh(g.dense(flat, 2))
    for _ in range(8):
        steep = g.add(steep, steep, steep)
    steep = g.dense(steep, 4)
    heads = [recipes.loss("mean-squared-error", x, f"true_{x}") for x in (steep, flat)]
    return _pair(g, steep, flat, losses=heads)


def large_from_the_start() -> Pair:
    """A loss of 1e13 that no step of training made."""
    g = Graph("huge")
    x = g.dense(g.input("x", (4,)), 4)
    for _ in range(14):
        x = g.add(x, x, x)
    return _pair(g, x, losses=[recipes.loss("mean-squared-error", x, "target")])


def small_dropout() -> Pair:
    """Rates far from those that people usually write."""
    g = Graph("small-dropout")
    x = g.dropout(g.relu(g.dense(g.input("x", (7,)), 9)), 0.03)
    return _pair(g, g.dense(g.dropout(g.tanh(g.dense(x, 8)), 0.85), 3))


def dropout_between_relus() -> Pair:
    """What is dropped passes no gradient in any case: the relu behind it is at zero there."""
    g = Graph("dropout-relu")
    x = g.relu(g.dropout(g.relu(g.dense(g.input("x", (7,)), 9)), 0.4))
    return _pair(g, g.dense(x, 3))


def uneven_paddings() -> Pair:
    g = Graph("uneven")
    x = g.conv2d(g.input("image", (7, 6, 2)), 3, (3, 2), padding=((0, 2), (1, 0)))
    x = g.maxpool(x, (3, 2), stride=(2, 1), padding=((2, 0), (0, 1)))
    x = g.avgpool(x, (2, 3), stride=1, padding=((0, 1), (2, 1)))
    x = g.conv2d(x, 3, (2, 2), stride=(2, 2), padding=((1, 2), (3, 0)))
    left, right = (
        g.dense(g.flatten(x), 3, name="left"),
        g.dense(g.globalmaxpool(x), 3, name="right"),
    )
    return _pair(g, left, right)


def small_gradients_clipped() -> Pair:
    """A norm that is not far from what frameworks add to it."""
    g = Graph("small-clip")
    x = g.dense(g.tanh(g.dense(g.input("x", (4,)), 5)), 3)
    return _pair(g, x, losses=[_head(g, x, weight=1e-4)], clip=1e-5)


def narrow_shortcuts() -> Pair:
    """1x1 convolutions that leave pixels out, of a few channels."""
    g = Graph("narrow")
    x = g.relu(g.conv2d(g.input("image", (32, 32, 3)), 4, 3, padding="same"))
    for width in (6, 8):
        y = g.conv2d(x, width, 3, stride=2, padding=((1, 1), (1, 1)))
        x = g.relu(g.batchnorm(g.add(y, g.conv2d(x, width, 1, stride=2))))
    return _pair(g, g.dense(g.globalavgpool(x), 3), optimizer=_ADAM)


def narrow_concatenations() -> Pair:
    """Images of a few channels beside each other, read by convolutions."""
    g = Graph("narrow-beside")
    x = g.input("image", (8, 8, 3))
    for widths in ((12, 4), (20, 12)):
        beside = g.concat(*(g.conv2d(x, width, 3, padding="same") for width in widths))
        x = g.relu(g.conv2d(beside, 16, 1))
    return _pair(g, g.dense(g.globalavgpool(x), 3))


def image_captions() -> Pair:
    """What a picture shows is the state that a sentence begins with."""
    g = Graph("captions")
    seen = g.globalavgpool(g.relu(g.conv2d(g.input("image", (6, 6, 3)), 8, 3)))
    start = (g.tanh(g.dense(seen, 6)), g.dense(seen, 6))
    words, length = g.input("words", (5,), "int32"), g.input("length", (), "int32")
    x = g.lstm(g.embedding(words, 12, 4), 6, initial=start, lengths=length, output="sequence")
    losses = [_head(g, "logits", "next", mask="mask")]
    return _pair(g, g.dense(x, 12, name="logits"), losses=losses, optimizer=_ADAM)


def coefficients_next_to_one() -> Pair:
    """Of which float32 knows the distance from 1 to a few digits."""
    g = Graph("next-to-one")
    x = g.dropout(g.tanh(g.dense(g.input("x", (4,)), 5)), 0.999)
    return _pair(g, g.add(g.dense(x, 3), g.dense("x", 3)),
                 optimizer=recipes.adam(1, beta1=0.999, beta2=0.99999), clip=1e-7)  # fmt: skip


def images_of_several_sizes() -> Pair:
    g = Graph("sizes")
    x = g.input("image", (6, 7, 2), sizes=((6, 7), (9, 5), (4, 12)))
    x = g.relu(g.batchnorm(g.conv2d(x, 4, 3, padding=((1, 1), (1, 1)))))
    x = g.add(x, g.conv2d(x, 4, 1))
    return _pair(g, g.dense(g.concat(g.globalavgpool(x), g.globalmaxpool(x)), 3))


def arrays_with_two_uses() -> Pair:
    """Inputs that are targets or masks, too; lengths that are embedded; an input none reads."""
    g = Graph("two-uses")
    words, length = g.input("words", (4,), "int32"), g.input("length", (), "int32")
    known = g.input("known", (4,))
    g.input("label", (), "int32")
    start = g.tanh(g.add(g.dense(known, 3), g.embedding(length, 5, 3)))
    x = g.lstm(g.embedding(words, 6, 2), 3, lengths=length, initial=(start, start),
               output="sequence", name="steps")  # fmt: skip
    g.dense(x, 6, name="again")
    g.dense("steps:c", 4, name="out")
    losses = [_head(g, "again", "words", mask="known"), _head(g, "out"),
              recipes.loss("smooth-l1", "out", "known", weight=0.3)]  # fmt: skip
    return _pair(g, "out", "again", losses=losses, optimizer=_ADAM)


def weights_that_are_an_input() -> Pair:
    """Of any size, as whole numbers and as real ones, for a loss and for a norm's branch."""
    g = Graph("weighed")
    g.input("often", (), "int32")
    x = g.dense(g.input("x", (4,)), 3, name="out")
    g.batchnorm(g.dense(g.tanh(x), 4), name="again")
    losses = [_head(g, "out", mask="often", divisor=5.0),
              recipes.loss("smooth-l1", "again", "y", mask="x", divisor=2.5)]  # fmt: skip
    return _pair(g, "out", "again", losses=losses)


def sigmoid_of_a_sigmoid() -> Pair:
    """Logits that are themselves made by a sigmoid."""
    g = Graph("sigmoids")
    out = g.sigmoid(g.dense(g.input("x", (4,)), 3), name="out")
    return _pair(
        g, out, losses=[recipes.loss("sigmoid-cross-entropy", "out", "y"), _head(g, "out")]
    )


def softmaxes() -> Pair:
    """Of images, sequences and vectors, one of a single value, and logits made by one."""
    g = Graph("softmaxes")
    image = g.softmax(g.conv2d(g.input("image", (4, 3, 2)), 5, 2))
    pooled = g.dense(g.softmax(g.flatten(image)), 4)
    words = g.softmax(g.lstm(g.input("rows", (6, 3)), 4, output="sequence"))
    state = g.softmax(g.lstm(words, 4))
    single = g.softmax(g.dense(pooled, 1))
    mixed = g.add(pooled, state, g.concat(single, g.dense(single, 3)))
    out = g.softmax(g.dense(g.softmax(mixed), 5), name="out")
    return _pair(g, out, words, image, losses=[
        _head(g, out), recipes.loss("sigmoid-cross-entropy", words, "y"),
        recipes.loss("softmax-cross-entropy", image, "classes")])  # fmt: skip


def maxima_behind_activations() -> Pair:
    """Maxima that are predicted, of values that only they read."""
    g = Graph("maxima")
    x = g.input("image", (4, 3, 2))
    outputs = []
    for activation in (g.relu, g.tanh, g.sigmoid):
        outputs.append(g.globalmaxpool(activation(g.conv2d(x, 2, 2))))
        outputs.append(g.maxpool(activation(g.conv2d(x, 2, 2)), (3, 2)))
    losses = [recipes.loss("smooth-l1", name, f"true_{name}") for name in outputs]
    return _pair(g, *outputs, losses=losses)


def maps_of_several_sizes() -> Pair:
    """Losses of maps whose size varies, with and without a mask, beside one that does not vary."""
    g = Graph("sized-maps")
    x = g.input("image", (5, 5, 2), sizes=((5, 5), (3, 8)))
    start = g.dense(g.globalavgpool(x), 3)
    g.lstm(g.input("rows", (3, 2)), 3, initial=(start, start), output="sequence", name="steps")
    g.conv2d(x, 3, 3, padding="same", name="kinds")
    g.conv2d(x, 1, 2, name="heights")
    losses = [_head(g, "kinds", mask="known"), _head(g, "kinds", "kind"), _head(g, "steps", "said"),
              recipes.loss("smooth-l1", "heights", "height")]  # fmt: skip
    return _pair(g, "kinds", "heights", "steps", losses=losses)


def odd_ends() -> Pair:
    """Names made of other nodes' names and of their parameters'; lengths of two stacks of different
    steps, which are embedded, too; windows far apart, and larger than the image; outputs without
    parameters, and metrics of what no loss reads; inputs none reads; extremes of norms."""
    g = Graph("odd-ends")
    image, length = g.input("image", (5, 7, 2)), g.input("lstm_length", (), "int32")
    words, rows = g.input("words", (4,), "int32"), g.input("rows", (6, 3))
    known = g.input("file", (4,), "int32")
    g.input("unread", (2, 2, 1))
    g.lstm(g.embedding(words, 9, 3), 4, lengths=length, output="sequence", name="lstm")
    g.lstm(rows, 4, lengths=length, initial=("lstm:c", "lstm:h"), name="lstm_h")
    said = g.dense("lstm", 5, name="lstm_input")
    x = g.batchnorm(g.concat("lstm_h", g.embedding(length, 5, 2), "lstm_h:c"), epsilon=1e9, keep=1,
                    name="norm")  # fmt: skip
    x = g.dense(g.dense(x, 4, name="norm_running"), 4, name="norm_running_kernel")
    wide = g.conv2d(image, 3, (9, 4), padding=((6, 5), (3, 0)), stride=(40, 3), name="conv")
    apart = g.maxpool(g.conv2d(image, 3, 1, stride=(9, 2), name="conv_kernel"), (1, 2), stride=9)
    flat = g.concat(x, g.flatten(wide), g.flatten(apart), g.globalmaxpool(image))
    out = g.dense(g.batchnorm(flat, epsilon=1e-12, keep=0, unbiased=False), 3, name="conv_bias")
    losses = [
        _head(g, said, "words_said", mask=known),
        _head(g, out),
        recipes.loss("smooth-l1", "lstm:c", "state", weight=1e-20),
    ]
    metrics = [
        recipes.metric("mean-absolute-error", "relu1", "held_against", mask="counted"),
        recipes.metric("accuracy", said, "words_said"),
    ]
    return _pair(g, said, g.relu(image), out, "lstm:c", losses=losses, metrics=metrics, batch=5,
                 optimizer=recipes.adam(1e-3, epsilon=1e-20))  # fmt: skip


def sparse_windows_of_several_sizes() -> Pair:
    """Windows apart, and over padding that does not count, of images whose size varies."""
    g = Graph("sized-windows")
    x = g.input("image", (9, 8, 1), sizes=((9, 8), (6, 3), (7, 11)))
    apart = g.conv2d(x, 3, (2, 1), stride=(3, 2), padding=((0, 1), (1, 1)))
    wide = g.conv2d(x, 2, (2, 3), stride=(1, 5))
    mean = g.avgpool(x, (3, 2), stride=(2, 1), padding=((1, 2), (0, 1)))
    most = g.maxpool(x, (3, 2), stride=(2, 4), padding=((2, 1), (1, 0)))
    pooled = [g.globalavgpool(y) for y in (apart, wide, mean, most)]
    return _pair(g, g.dense(g.concat(*pooled), 3))


def heads_of_one_target() -> Pair:
    """Losses that share their target, mask or output."""
    g = Graph("shared")
    x = g.input("x", (4,))
    for name, units in (("a", 3), ("b", 3), ("c", 5)):
        g.dense(x, units, name=name)
    losses = [
        recipes.loss("mean-squared-error", "a", "y", mask="m"),
        recipes.loss("mean-absolute-error", "b", "y"),
        recipes.loss("sigmoid-cross-entropy", "b", "z", mask="m", divisor=3.0),
        _head(g, "a", "k"),
        _head(g, "c", "k"),
    ]
    return _pair(g, "a", "b", "c", losses=losses)


def labels_beside_images_of_several_sizes() -> Pair:
    """A class for each step of a sequence: its labels are not of an image, whose size varies."""
    g = Graph("beside")
    x = g.globalavgpool(g.input("image", (2, 2, 2), sizes=((2, 2), (5, 1))))
    steps = g.dense(g.input("steps", (6, 3)), 5)
    losses = [_head(g, steps), recipes.loss("mean-squared-error", x, "mean")]
    return _pair(g, steps, x, losses=losses, batch=1)


ARCHITECTURES: tuple[Callable[[], Pair], ...] = (
    lenet, alexnet, vgg, resnet18, preactivation_bottlenecks, densenet, inception, squeezenet,
    unet_without_upsampling, mixer, encoder_decoder, two_towers, many_heads, language_model,
    wide_and_deep,
)  # fmt: skip
CORNERS: tuple[Callable[[], Pair], ...] = (
    one_node, one_pixel, one_class_one_word_one_step, repeated_readers, states_everywhere,
    image_read_by_many, norms_and_pools_read_with_many, maxima_beside_everything,
    nothing_needs_it, all_weights_zero, large_logits, autoencoder, board, one_filter_one_row,
    names, frozen_trunk,
    flattened_everything, long_chain, one_value_before_a_norm, norms_of_two_values,
    norm_of_equal_rows, norms_in_a_row, norms_of_close_values, steep_beside_flat,
    large_from_the_start, small_dropout, dropout_between_relus, uneven_paddings,
    small_gradients_clipped, extreme_attributes, narrow_shortcuts, narrow_concatenations,
    images_of_several_sizes, labels_beside_images_of_several_sizes,
    arrays_with_two_uses, heads_of_one_target, weights_that_are_an_input, sigmoid_of_a_sigmoid,
    softmaxes, maxima_behind_activations, maps_of_several_sizes,
    sparse_windows_of_several_sizes, odd_ends,
    image_captions, coefficients_next_to_one,
)  # fmt: skip
KNOWN: dict[str, Callable[[], Pair]] = {make.__name__: make for make in (*ARCHITECTURES, *CORNERS)}
