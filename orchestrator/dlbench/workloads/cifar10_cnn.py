"""cifar10-cnn of elshawi2021."""

from dlbench.workloads import Workload, _elshawi

WORKLOAD = Workload(
    name="cifar10-cnn",
    task="image classification",
    dataset="cifar10",
    graph=_elshawi.cifar_cnn("cifar10-cnn", ((32, 0.25), (64, 0.25)), hidden=512, classes=10),
    recipe=_elshawi.classification(epochs=100),
    about="Colour images, 32x32: four convolutions, two dense layers",
    source="the text of elshawi2021; 1,250,858 parameters",
    proof=_elshawi.cifar_cnn("cifar10-cnn-proof", ((8, 0.25), (16, 0.25)), hidden=32, classes=10),
)
