"""svhn-cnn of elshawi2021."""

from dlbench.workloads import Workload, _elshawi

WORKLOAD = Workload(
    name="svhn-cnn",
    task="image classification",
    dataset="svhn",
    graph=_elshawi.svhn_cnn("svhn-cnn", (48, 64, 128, 160, 192, 192, 192, 192), hidden=3072),
    recipe=_elshawi.classification(epochs=100),
    about="House numbers, 32x32: eight convolutions with batch normalisation",
    source="the text of elshawi2021, which names no batch normalisation, with that of its code",
    proof=_elshawi.svhn_cnn("svhn-cnn-proof", (4, 6, 8, 8, 8, 8, 8, 8), hidden=24),
)
