"""The file of weights that a trial starts from, and the sizes of what it saves.

The host has checked the file; here it is held against the job once more before anything in it is
believed: its length and hash first, then what each array claims, before memory is taken for it.
"""

import hashlib
import os
import zipfile

import numpy as np

from bench.formats import BadJob

_HEADER = 4096
"""Bytes at most beside the numbers of an array, and at the end of the file."""
_CHUNK = 1 << 20


def read(path, digest, graph):
    """{node: {parameter: float32 array}} of the file with this SHA-256, `weights` of the job."""
    shapes = {
        "{}/{}".format(node["name"], name): tuple(spec["shape"])
        for node in graph["nodes"]
        for name, spec in node["parameters"].items()
    }
    _check(path, digest, sum(_bytes(shape) + _HEADER for shape in shapes.values()) + _HEADER)
    given = {}
    with zipfile.ZipFile(path) as members:
        for info in members.infolist():
            name = info.filename[: -len(".npy")]
            if name not in shapes or not info.filename.endswith(".npy"):
                raise BadJob("the weights have {!r}, the graph has not".format(info.filename))
            given.setdefault(name.split("/")[0], {})[name.split("/")[1]] = _array(
                members, info, name, shapes[name]
            )
    return given


def _bytes(shape):
    return 4 * int(np.prod(shape, dtype=np.int64))


def _check(path, digest, most):
    """Refuse a file that is not the one the job was made for."""
    if path is None:
        raise BadJob("the job wants weights, and no file of them was given")
    size = os.path.getsize(path)
    if size > most:
        raise BadJob("the weights take {} bytes, the graph's at most {}".format(size, most))
    total = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            total.update(chunk)
    if total.hexdigest() != digest:
        raise BadJob("the weights are not those that the job was made for: another hash")


def _array(members, info, name, shape):
    """One array of the file, without pickle; its header is read before its numbers."""
    wanted = _bytes(shape)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size > wanted + _HEADER:
        raise BadJob("weights {} take {} bytes, not {}".format(name, info.file_size, wanted))
    with members.open(info) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise BadJob("weights {} are of an unknown format".format(name))
        claimed, fortran, dtype = np.lib.format.read_array_header_1_0(member)
        if claimed != shape or fortran or dtype != np.dtype("<f4"):
            raise BadJob("weights {} are {} {}, not {}".format(name, dtype, claimed, shape))
        content = member.read(wanted)
    if len(content) != wanted:
        raise BadJob("weights {} end too soon".format(name))
    return np.frombuffer(content, np.dtype("<f4")).reshape(shape).copy()


def over(start, given):
    """The weights `start` with those that were given in their place."""
    return {node: dict(values, **given.get(node, {})) for node, values in start.items()}


def described(graph, given):
    """Where the first weights come from, as keys of the `model` event.

    `constants_drawn` counts layers that never learn and have random numbers all the same: without
    weights from a file they are no backbone that anybody has trained.
    """
    names = [(node, name) for node in graph["nodes"] for name in sorted(node["parameters"])]
    drawn = [(node, name) for node, name in names if name not in given.get(node["name"], {})]
    constants = {node["name"] for node, name in drawn if node.get("frozen") and name == "kernel"}
    found = {"constants_drawn": len(constants)}
    if given:
        found["weights_given"] = len(names) - len(drawn)
        found["weights_drawn"] = len(drawn)
        found["drawn"] = ["{}/{}".format(node["name"], name) for node, name in drawn[:_MOST_NAMED]]
    return found


_MOST_NAMED = 500
"""An event has room for so many names; the numbers are of all."""


def saved_sizes(folder, without_state):
    """The keys of the `result` event for what `Model.save_native` wrote into the folder.

    `without_state` is what it returned: None, or why there is no optimiser state.
    """
    sizes = {"model": 0, "optimizer": 0}
    for place, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(place, name)
            state = os.path.relpath(path, folder).startswith("optimizer")
            sizes["optimizer" if state else "model"] += os.path.getsize(path)
    found = {"model_bytes": sizes["model"]}
    if without_state:
        found["optimizer_state"] = without_state
    else:
        found["model_with_optimizer_bytes"] = sizes["model"] + sizes["optimizer"]
    return found
