"""imdb-lstm of elshawi2021."""

from dlbench.workloads import Workload, _elshawi

_HEAD = {"output": "logit", "target": "label", "mask": None}

WORKLOAD = Workload(
    name="imdb-lstm",
    task="text classification",
    dataset="imdb",
    graph=_elshawi.imdb_lstm("imdb-lstm", length=500, vocabulary=5000, width=32, units=100),
    recipe={
        "batch": 64,
        "epochs": 50,
        "shuffle": True,
        "warmup": 10,
        "optimizer": {
            "name": "adam",
            "lr": 1e-3,
            "beta1": 0.9,
            "beta2": 0.999,
            "epsilon": 1e-8,
            "weight_decay": 0.0,
        },
        "losses": [{"name": "sigmoid-cross-entropy", **_HEAD, "weight": 1.0}],
        "metrics": [{"name": "binary-accuracy", **_HEAD}],
    },
    about="Film reviews with their true lengths: an embedding and an LSTM",
    proof=_elshawi.imdb_lstm("imdb-lstm-proof", length=24, vocabulary=60, width=8, units=12),
)
