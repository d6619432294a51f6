"""What every framework that keeps images as NCHW has to know about canonical NHWC weights.

A flattened NCHW image runs through C,H,W where the graph says H,W,C. Moving the image would cost
time in every step, so the rows of the dense kernel behind it are moved instead, once, when weights
go in or out. Where a flattened image goes anywhere else, it is brought to canonical order.
"""

import numpy as np

from bench.adapters.base import Prepared
from bench.ops import ELEMENTWISE, at_size, shapes_of, sources


class Layout:
    """Which vectors of a graph run through C,H,W, and how to turn arrays one way and the other."""

    def __init__(self, graph):
        self._nodes = {node["name"]: node for node in graph["nodes"]}
        shapes = shapes_of(graph)
        consumers = {}
        for node in graph["nodes"]:
            for source in sources(node):
                consumers.setdefault(source, []).append(node)
        self.folded = {}
        """{vector: [H, W, C]} for the vectors whose order inside is C,H,W."""
        self._kernels = {}
        for node in graph["nodes"]:
            if node["op"] == "flatten" and len(shapes[node["inputs"][0]]) == 3:
                chain, dense = [], []
                if self._follow(node["name"], consumers, graph["outputs"], chain, dense):
                    image = shapes[node["inputs"][0]]
                    self.folded.update((name, image) for name in chain)
                    self._kernels.update((name, image) for name in dense)

    def _follow(self, name, consumers, outputs, chain, dense):
        """Collect what the vector flows through; False if its order would be seen outside."""
        waiting = [name]
        while waiting:
            name = waiting.pop()
            chain.append(name)
            if name in outputs:
                return False
            for node in consumers.get(name, []):
                if node["op"] == "dense":
                    dense.append(node["name"])
                elif node["op"] in ELEMENTWISE:
                    waiting.append(node["name"])
                else:
                    return False
        return True

    def keeps_order(self, flatten):
        """True if this flatten node may stay C,H,W; else it must be made canonical when it runs."""
        return flatten in self.folded

    def dense_in(self, node, kernel):
        """A canonical dense kernel [in, out] with its rows as they are needed inside."""
        if node not in self._kernels:
            return kernel
        height, width, channels = self._kernels[node]
        rows = kernel.reshape(height, width, channels, -1).transpose(2, 0, 1, 3)
        return rows.reshape(kernel.shape)

    def dense_out(self, node, kernel):
        """The canonical form of a dense kernel [in, out] from inside."""
        if node not in self._kernels:
            return kernel
        height, width, channels = self._kernels[node]
        rows = kernel.reshape(channels, height, width, -1).transpose(1, 2, 0, 3)
        return rows.reshape(kernel.shape)

    def parameter_in(self, node, name, value):
        """A canonical parameter as frameworks with OIHW and [out, in] kernels keep it."""
        if node["op"] == "conv2d" and name == "kernel":
            return kernel_in(value)
        if node["op"] == "dense" and name == "kernel":
            return self.dense_in(node["name"], value).T
        return value.T if name in ("input_kernel", "recurrent_kernel") else value

    def parameter_out(self, node, name, value):
        """The canonical form of a parameter, or of its gradient, of such a framework: a copy."""
        if node["op"] == "conv2d" and name == "kernel":
            value = kernel_out(value)
        elif node["op"] == "dense" and name == "kernel":
            value = self.dense_out(node["name"], value.T)
        elif name in ("input_kernel", "recurrent_kernel"):
            value = value.T
        return np.array(value, order="C")  # else it could change with the model

    def value_out(self, name, value):
        """The canonical form of a node's value: NCHW to NHWC, C,H,W vectors to H,W,C."""
        if name in self.folded:
            height, width, channels = self.folded[name]
            image = value.reshape(-1, channels, height, width).transpose(0, 2, 3, 1)
            return np.ascontiguousarray(image).reshape(value.shape)
        if value.ndim == 4:
            return np.ascontiguousarray(value.transpose(0, 2, 3, 1))
        return value


def symmetric(padding):
    """Whether a layer's own padding, one number an axis, can stand for this."""
    return all(before == after for before, after in padding)


def value_in(value):
    """A canonical NHWC batch as NCHW; anything else as it is.

    Always a copy with strides of its own: where an image has one channel, NumPy takes its NHWC
    strides for NCHW, PyTorch takes them for channels-last, and its convolutions then read what is
    not theirs (2.13, padded by hand, with a stride).
    """
    return np.array(value.transpose(0, 3, 1, 2), order="C") if value.ndim == 4 else value


def shape_for(graph, node, batch):
    """The shape of a trained node's values for this batch: images may have any of their sizes.

    A prepared batch has its images in NCHW, and none that no trained node depends on.
    """
    for spec in graph["inputs"]:
        if spec.get("sizes") and spec["name"] in batch:
            shape = batch[spec["name"]].shape
            size = shape[2:4] if isinstance(batch, Prepared) else shape[1:3]
            return shapes_of(at_size(graph, [int(extent) for extent in size]))[node["name"]]
    return node["shape"]


def kernel_in(kernel):
    """HWIO to OIHW."""
    return np.ascontiguousarray(kernel.transpose(3, 2, 0, 1))


def kernel_out(kernel):
    """OIHW to HWIO."""
    return np.ascontiguousarray(kernel.transpose(2, 3, 1, 0))
