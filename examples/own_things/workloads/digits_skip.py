"""The bundled digits with a model of our own: a convolution, and a shortcut around the next two.

The file defines WORKLOAD. In Python a graph can be built in loops and functions; where that is not
needed, a TOML file such as spirals_mlp.toml is enough.
"""

from dlbench.planning.graph import Graph
from dlbench.workloads import Workload


def _graph():
    g = Graph("digits-skip")
    image = g.input("image", (8, 8, 1))
    stem = x = g.relu(g.conv2d(image, 8, 3, padding="same"))
    for _ in range(2):
        x = g.relu(g.conv2d(x, 8, 3, padding="same"))
    x = g.maxpool(g.add(stem, x), 2)
    g.outputs(g.dense(g.flatten(x), 10, name="logits"))
    return g.to_json()


_HEAD = {"output": "logits", "target": "label", "mask": None}

WORKLOAD = Workload(
    name="digits-skip",
    task="image classification",
    dataset="digits",
    graph=_graph(),
    recipe={
        "batch": 32,
        "epochs": 3,
        "shuffle": True,
        "warmup": 10,
        "optimizer": {
            "name": "sgd",
            "lr": 0.02,
            "momentum": 0.9,
            "nesterov": False,
            "weight_decay": 0.0,
        },
        "losses": [{"name": "softmax-cross-entropy", **_HEAD, "weight": 1.0}],
        "metrics": [{"name": "accuracy", **_HEAD}],
    },
    about="Handwritten digits, 8x8, bundled: convolutions with a shortcut",
)
