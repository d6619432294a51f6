"""petrol-mlp of sohail2022."""

from dlbench.planning.recipes import adam, loss, metric, recipe
from dlbench.workloads import Workload
from dlbench.workloads._dense_stack import dense_stack

WORKLOAD = Workload(
    name="petrol-mlp",
    task="regression",
    dataset="petrol",
    graph=dense_stack("petrol-mlp", "features", (4,), (100, 50, 25), "consumption"),
    recipe=recipe(
        batch=32,
        epochs=30,
        optimizer=adam(1e-3),
        losses=[loss("mean-squared-error", "consumption", "value")],
        metrics=[metric("mean-squared-error", "consumption", "value")],
        evaluate=("test", "train"),
    ),
    about="Petrol consumption of 48 states: a perceptron with three hidden layers",
    source="sohail2022: 4-100-50-25-1",
)
