"""The deep networks of zvyagin2021 and tian2020.

The frameworks' own libraries differ from each other; here is one form of each, with its parameter
count and where it comes from, and for the certificate the same network with fewer channels. Those
of ResNet-50 and DenseNet-121 also have fewer blocks, of the same kinds in the same order: at 32x32
their last layers normalise single pixels, and a hundred such layers magnify rounding without bound.
"""

from __future__ import annotations

from dlbench.planning.recipes import Recipe, adam, classification, sgd
from dlbench.workloads import Workload
from dlbench.workloads._densenet import densenet121
from dlbench.workloads._resnet import resnet18, resnet50
from dlbench.workloads._vgg import small_vgg16, vgg16

_TASK = "image classification"
_NARROW = (4, 6, 8, 8)


def _searched() -> Recipe:
    """A point within the ranges that zvyagin2021 searched: Adam, never shuffled, 50 epochs."""
    return classification(batch=128, epochs=50, optimizer=adam(1e-3), shuffle=False)


WORKLOADS = (
    Workload(
        name="cifar10-resnet18",
        task=_TASK,
        dataset="cifar10",
        graph=resnet18("cifar10-resnet18", 10),
        recipe=classification(batch=64, epochs=200, optimizer=sgd(1e-3)),
        about="Colour images, 32x32: ResNet-18 for small images",
        source="tian2020, the PyTorch code: 3x3 convolution in front, no pooling; 11,173,962"
        " parameters",
        proof=resnet18("cifar10-resnet18-proof", 10, _NARROW),
    ),
    Workload(
        name="cifar10-resnet50",
        task=_TASK,
        dataset="cifar10",
        graph=resnet50("cifar10-resnet50", 10),
        recipe=_searched(),
        about="Colour images, 32x32: ResNet-50 as for large images",
        source="zvyagin2021: torchvision's ResNet-50 (25,557,032) with 10 classes; 23,528,522"
        " parameters",
        proof=resnet50("cifar10-resnet50-proof", 10, _NARROW, (2, 2, 1, 1)),
    ),
    Workload(
        name="cifar10-vgg16",
        task=_TASK,
        dataset="cifar10",
        graph=vgg16("cifar10-vgg16", 32, 10),
        recipe=_searched(),
        about="Colour images, 32x32: VGG16 with dropout",
        source="zvyagin2021: torchvision's VGG16 (138,357,544) without its adaptive pooling, 10"
        " classes; 33,638,218 parameters",
        proof=vgg16("cifar10-vgg16-proof", 32, 10, (4, 4, 6, 8, 8), 16),
    ),
    Workload(
        name="cifar10-vgg16-bn",
        task=_TASK,
        dataset="cifar10",
        graph=small_vgg16("cifar10-vgg16-bn", 10),
        recipe=classification(batch=64, epochs=200, optimizer=sgd(1e-3)),
        about="Colour images, 32x32: VGG16 for small images, batch normalisation and dropout",
        source="tian2020, section 6.2, which has batch normalisation and dropout of .3 to .5; where"
        " they stand is from S. Liu and W. Deng, 2015, the recipe that of its ResNet-18;"
        " 14,991,946 parameters",
        proof=small_vgg16("cifar10-vgg16-bn-proof", 10, (4, 4, 6, 8, 8), 16),
    ),
    Workload(
        name="cifar10-densenet121",
        task=_TASK,
        dataset="cifar10",
        graph=densenet121("cifar10-densenet121", 10),
        recipe=_searched(),
        about="Colour images, 32x32: DenseNet-121 as for large images",
        source="zvyagin2021: torchvision's DenseNet-121 (7,978,856) with 10 classes; 6,964,106"
        " parameters",
        proof=densenet121("cifar10-densenet121-proof", 10, 4, (2, 2, 2, 2)),
    ),
    Workload(
        name="imagenet80-vgg16",
        task=_TASK,
        dataset="imagenet80",
        graph=vgg16("imagenet80-vgg16", 80, 1000),
        recipe=classification(batch=32, epochs=200, optimizer=sgd(1e-3)),
        about="Photographs of a thousand classes, 80x80: VGG16 with dropout",
        source="tian2020: torchvision's VGG16 (138,357,544) without its adaptive pooling, which"
        " repeats 2x2 values in 7x7 places; 43,985,704 parameters",
        proof=vgg16("imagenet80-vgg16-proof", 32, 20, (4, 4, 6, 8, 8), 16),
    ),
)
