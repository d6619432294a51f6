"""Well-known deep architectures in small: rounding does far more to them than to others."""

from __future__ import annotations

from typing import Any

from dlbench.planning import recipes
from dlbench.planning.graph import Graph

Json = dict[str, Any]
_SIZE = 16


def resnet50() -> Json:
    g = Graph("resnet50")
    x = g.relu(g.batchnorm(g.conv2d(_image(g), 8, 3, padding="same", bias=False)))
    channels = 8
    for stage, (depth, width) in enumerate(((3, 4), (4, 8), (6, 16), (3, 32))):
        for block in range(depth):
            stride = 2 if stage and not block else 1
            y = g.relu(g.batchnorm(g.conv2d(x, width, 1, bias=False)))
            y = g.conv2d(y, width, 3, stride=stride, padding="same", bias=False)
            y = g.batchnorm(g.conv2d(g.relu(g.batchnorm(y)), 4 * width, 1, bias=False))
            if channels != 4 * width or stride != 1:
                x = g.batchnorm(g.conv2d(x, 4 * width, 1, stride=stride, bias=False))
            x, channels = g.relu(g.add(y, x)), 4 * width
    g.outputs(g.dense(g.globalavgpool(x), 10, name="logits"))
    return g.to_json()


def densenet121() -> Json:
    g, growth = Graph("densenet121"), 4
    x = g.conv2d(_image(g), 2 * growth, 3, padding="same", bias=False)
    channels = 2 * growth
    for number, depth in enumerate((6, 12, 24, 16)):
        for _ in range(depth):
            y = g.conv2d(g.relu(g.batchnorm(x)), 4 * growth, 1, bias=False)
            y = g.conv2d(g.relu(g.batchnorm(y)), growth, 3, padding="same", bias=False)
            x, channels = g.concat(x, y), channels + growth
        if number < 3:
            channels //= 2
            x = g.avgpool(g.conv2d(g.relu(g.batchnorm(x)), channels, 1, bias=False), 2)
    g.outputs(g.dense(g.globalavgpool(g.relu(g.batchnorm(x))), 10, name="logits"))
    return g.to_json()


def lstm_of_200_steps() -> Json:
    g = Graph("lstm200")
    tokens, length = g.input("tokens", (200,), "int32"), g.input("length", (), "int32")
    x = g.lstm(g.embedding(tokens, 50, 8), 12, lengths=length, output="sequence")
    g.outputs(g.dense(g.lstm(x, 12, lengths=length), 1, name="logits"))
    return g.to_json()


def recipe_for(graph: Json) -> Json:
    loss, metric, optimizer = (
        ("sigmoid-cross-entropy", "binary-accuracy", recipes.adam(1e-3))
        if graph["name"] == "lstm200"
        else (
            "softmax-cross-entropy",
            "accuracy",
            recipes.sgd(0.1, momentum=0.9, weight_decay=5e-4),
        )
    )
    return recipes.recipe(
        batch=32,
        epochs=1,
        optimizer=optimizer,
        losses=[recipes.loss(loss, "logits", "label")],
        metrics=[recipes.metric(metric, "logits", "label")],
    )


def _image(g: Graph) -> str:
    return g.input("image", (_SIZE, _SIZE, 3))
