"""digits-cnn: the model of mnist-cnn on the 8x8 digits that ship with dlbench."""

from dlbench.workloads import Workload, _elshawi

WORKLOAD = Workload(
    name="digits-cnn",
    task="image classification",
    dataset="digits",
    graph=_elshawi.mnist_cnn("digits-cnn", (8, 8, 1)),
    # so few images want smaller batches and larger steps than the study's
    recipe=_elshawi.classification(epochs=15, batch=32, lr=0.02, momentum=0.9),
    about="Handwritten digits, 8x8, bundled: the model of mnist-cnn in small",
    source="dlbench's own, for a first run",
)
