"""cifar100-cnn of elshawi2021."""

from dlbench.workloads import Workload, _elshawi

WORKLOAD = Workload(
    name="cifar100-cnn",
    task="image classification",
    dataset="cifar100",
    graph=_elshawi.cifar_cnn(
        "cifar100-cnn", ((128, 0.1), (256, 0.25), (512, 0.5)), hidden=1024, classes=100
    ),
    recipe=_elshawi.classification(epochs=200),
    about="Colour images of a hundred classes: six convolutions, two dense layers",
    source="the text of elshawi2021",
    proof=_elshawi.cifar_cnn(
        "cifar100-cnn-proof", ((6, 0.1), (8, 0.25), (12, 0.5)), hidden=24, classes=100
    ),
)
