"""mnist-cnn of elshawi2021."""

from dlbench.workloads import Workload, _elshawi

WORKLOAD = Workload(
    name="mnist-cnn",
    task="image classification",
    dataset="mnist",
    graph=_elshawi.mnist_cnn("mnist-cnn", (28, 28, 1)),
    recipe=_elshawi.classification(epochs=15),
    about="Handwritten digits, 28x28: two convolutions, two dense layers",
    source="the text of elshawi2021",
    proof=_elshawi.mnist_cnn("mnist-cnn-proof", (28, 28, 1), filters=(8, 12), hidden=32),
)
