"""What the workloads of elshawi2021 have in common."""

from __future__ import annotations

from typing import Any

from dlbench.planning import recipes
from dlbench.planning.graph import Graph, Shape
from dlbench.planning.recipes import Recipe, sgd


def mnist_cnn(
    name: str, image: Shape, filters: tuple[int, int] = (32, 64), hidden: int = 128
) -> dict[str, Any]:
    """Two convolutions, one pooling, two dense layers."""
    g = Graph(name)
    x = g.input("image", image)
    x = g.relu(g.conv2d(x, filters[0], 3))
    x = g.relu(g.conv2d(x, filters[1], 3))
    x = g.dropout(g.maxpool(x, 2), 0.25)
    x = g.dropout(g.relu(g.dense(g.flatten(x), hidden)), 0.5)
    g.outputs(g.dense(x, 10, name="logits"))
    return g.to_json()


def cifar_cnn(
    name: str,
    blocks: tuple[tuple[int, float], ...],
    hidden: int,
    classes: int,
) -> dict[str, Any]:
    """Blocks of two convolutions (same, then valid), pooling and dropout; then two dense layers."""
    g = Graph(name)
    x = g.input("image", (32, 32, 3))
    for filters, rate in blocks:
        x = g.relu(g.conv2d(x, filters, 3, padding="same"))
        x = g.relu(g.conv2d(x, filters, 3))
        x = g.dropout(g.maxpool(x, 2), rate)
    x = g.dropout(g.relu(g.dense(g.flatten(x), hidden)), 0.5)
    g.outputs(g.dense(x, classes, name="logits"))
    return g.to_json()


def svhn_cnn(name: str, widths: tuple[int, ...], hidden: int) -> dict[str, Any]:
    """Eight blocks of 5x5 convolution, batch-norm (not in the first), pooling and dropout."""
    g = Graph(name)
    x = g.input("image", (32, 32, 3))
    for block, filters in enumerate(widths):
        x = g.conv2d(x, filters, 5, padding="same")
        if block:
            x = g.batchnorm(x)
        x = g.maxpool(g.relu(x), 2, stride=1 if block % 2 else 2, padding="same")
        x = g.dropout(x, 0.2)
    x = g.dropout(g.relu(g.dense(g.flatten(x), hidden)), 0.5)
    g.outputs(g.dense(x, 10, name="logits"))
    return g.to_json()


def imdb_lstm(name: str, length: int, vocabulary: int, width: int, units: int) -> dict[str, Any]:
    """An embedding, an LSTM read at the true length, one logit."""
    g = Graph(name)
    tokens = g.input("tokens", (length,), "int32")
    lengths = g.input("length", (), "int32")
    x = g.lstm(g.embedding(tokens, vocabulary, width), units, lengths=lengths)
    g.outputs(g.dense(x, 1, name="logit"))
    return g.to_json()


def classification(
    epochs: int, batch: int = 128, lr: float = 0.01, momentum: float = 0.5
) -> Recipe:
    """The study's recipe for images: SGD with momentum."""
    optimizer = sgd(lr, momentum=momentum)
    return recipes.classification(batch=batch, epochs=epochs, optimizer=optimizer)
