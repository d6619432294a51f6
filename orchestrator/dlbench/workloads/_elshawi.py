"""What the image classifiers of elshawi2021 have in common."""

from __future__ import annotations

from typing import Any

from dlbench.graph import Graph, Shape


def mnist_cnn(name: str, image: Shape) -> dict[str, Any]:
    """Two convolutions, one pooling, two dense layers."""
    g = Graph(name)
    x = g.input("image", image)
    x = g.relu(g.conv2d(x, 32, 3))
    x = g.relu(g.conv2d(x, 64, 3))
    x = g.dropout(g.maxpool(x, 2), 0.25)
    x = g.dropout(g.relu(g.dense(g.flatten(x), 128)), 0.5)
    g.outputs(g.dense(x, 10, name="logits"))
    return g.to_json()


def classification(epochs: int, batch: int = 128) -> dict[str, Any]:
    """The study's recipe for images: SGD with momentum, cross-entropy, accuracy."""
    head = {"output": "logits", "target": "label", "mask": None}
    return {
        "batch": batch,
        "epochs": epochs,
        "shuffle": True,
        "warmup": 10,
        "optimizer": {
            "name": "sgd",
            "lr": 0.01,
            "momentum": 0.5,
            "nesterov": False,
            "weight_decay": 0.0,
        },
        "losses": [{"name": "softmax-cross-entropy", **head, "weight": 1.0}],
        "metrics": [{"name": "accuracy", **head}],
    }
