"""A small two-branch block with two heads: what residual and detection models are made of."""

from __future__ import annotations

from typing import Any

from dlbench.planning.graph import Graph
from dlbench.planning.recipes import loss, metric, recipe, sgd
from dlbench.workloads import Workload


def _graph() -> dict[str, Any]:
    g = Graph("proof-two-branch")
    image = g.input("image", (9, 9, 3))
    stem = g.relu(
        g.batchnorm(g.conv2d(image, 6, 3, stride=2, padding=((1, 1), (1, 1)), bias=False))
    )
    left = g.tanh(g.conv2d(stem, 6, (1, 3), padding=((0, 0), (0, 2))))
    right = g.avgpool(stem, 3, stride=1, padding=((1, 1), (1, 1)))
    peaks = g.maxpool(stem, 3, stride=1, padding="same")
    joined = g.concat(left, g.add(right, stem), g.softmax(peaks))
    x = g.batchnorm(g.conv2d(joined, 8, 3, stride=2, padding="same"), keep=0.99, epsilon=1e-3)
    peak, mean = g.globalmaxpool(x), g.globalavgpool(x)
    flat = g.flatten(g.sigmoid(g.avgpool(x, 2, stride=1)))
    features = g.dropout(g.concat(peak, mean, flat), 0.3)
    logits = g.dense(features, 5, name="logits")
    place = g.dense(g.relu(g.dense(features, 7, bias=False)), 2, name="place")
    g.outputs(logits, place)
    return g.to_json()


WORKLOAD = Workload(
    name="proof-two-branch",
    task="certificate",
    dataset="toy-images",
    graph=_graph(),
    recipe=recipe(
        batch=16,
        epochs=2,
        warmup=2,
        optimizer=sgd(0.01, momentum=0.9, weight_decay=5e-4),
        losses=[
            loss("softmax-cross-entropy", "logits", "label"),
            loss("mean-squared-error", "place", "value", weight=0.5),
        ],
        metrics=[
            metric("accuracy", "logits", "label"),
            metric("mean-squared-error", "place", "value"),
        ],
    ),
    about="A small graph to certify: branches, concat, two heads",
    only_proof=True,
)
