"""imdb-lstm of elshawi2021."""

from dlbench.planning.recipes import adam, loss, metric, recipe
from dlbench.workloads import Workload, _elshawi

WORKLOAD = Workload(
    name="imdb-lstm",
    task="text classification",
    dataset="imdb",
    graph=_elshawi.imdb_lstm("imdb-lstm", length=500, vocabulary=5000, width=32, units=100),
    recipe=recipe(
        batch=64,
        epochs=50,
        optimizer=adam(1e-3),
        losses=[loss("sigmoid-cross-entropy", "logit", "label")],
        metrics=[metric("binary-accuracy", "logit", "label")],
    ),
    about="Film reviews with their true lengths: an embedding and an LSTM",
    source="the text of elshawi2021",
    proof=_elshawi.imdb_lstm("imdb-lstm-proof", length=24, vocabulary=60, width=8, units=12),
)
