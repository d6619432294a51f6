"""Initial weights, drawn by NumPy from the seed: the same numbers in every release.

Each parameter has a stream of its own, derived from the seed and its name, so that neither the
order of the nodes nor the framework decides what is drawn. `RandomState` is NumPy's frozen
generator: its streams are the same from NumPy 1.14 to 2.x.
"""

import hashlib

import numpy as np


def initial_weights(graph, seed):
    """{node: {parameter: float32 array}} in canonical layout."""
    weights = {}
    for node in graph["nodes"]:
        if node["parameters"]:
            weights[node["name"]] = {
                name: _draw(spec, "{}/{}/{}".format(seed, node["name"], name))
                for name, spec in sorted(node["parameters"].items())
            }
    return weights


def _draw(spec, stream):
    shape, init = tuple(spec["shape"]), spec["init"]
    digest = hashlib.sha256(stream.encode("utf-8")).hexdigest()
    random = np.random.RandomState(int(digest[:8], 16))
    if init == "zeros":
        value = np.zeros(shape)
    elif init == "ones":
        value = np.ones(shape)
    elif init == "forget-one":
        value = np.zeros(shape)
        units = shape[0] // 4
        value[units : 2 * units] = 1.0
    elif init.startswith("uniform-"):
        bound = float(init.split("-", 1)[1])
        value = random.uniform(-bound, bound, shape)
    elif init == "glorot-uniform":
        receptive = int(np.prod(shape[:-2]))
        bound = np.sqrt(6.0 / (receptive * (shape[-2] + shape[-1])))
        value = random.uniform(-bound, bound, shape)
    elif init == "he-normal":
        value = random.normal(0, np.sqrt(2.0 / np.prod(shape[:-1])), shape)
    elif init == "orthogonal":
        value = _orthogonal(random, shape)
    else:
        raise ValueError("unknown init {!r}".format(init))
    return value.astype(np.float32)


def _orthogonal(random, shape):
    """Orthogonal rows or columns; of a convolution's kernel one column a filter."""
    rows, columns = int(np.prod(shape[:-1])), shape[-1]
    normal = random.normal(size=(max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(normal)
    q = q * np.sign(np.diag(r))
    return (q if rows >= columns else q.T).reshape(shape)


def digest(weights):
    """One hash for all weights; equal weights, equal hash."""
    total = hashlib.sha256()
    for node in sorted(weights):
        for name in sorted(weights[node]):
            value = np.ascontiguousarray(weights[node][name], dtype="<f4")
            total.update("{}/{}{}".format(node, name, value.shape).encode("utf-8"))
            total.update(value.tobytes())
    return total.hexdigest()


def count(graph):
    """Trainable parameters: running statistics and what is frozen do not count."""
    return sum(
        int(np.prod(spec["shape"]))
        for node in graph["nodes"]
        for name, spec in node["parameters"].items()
        if not is_state(node, name)
    )


def is_state(node, parameter):
    """Whether no gradient moves it: a running statistic, or a constant."""
    return is_frozen(node) or (node["op"] == "batchnorm" and parameter in ("mean", "variance"))


def is_frozen(node):
    """Whether its parameters are constants: they neither learn nor decay."""
    return node["op"] == "affine" or bool(node.get("frozen"))


def is_decayed(parameter):
    """Weight decay is on kernels and tables, not on biases, gamma, beta."""
    return parameter in ("kernel", "table", "input_kernel", "recurrent_kernel")
