"""The canonical file of weights: one float32 array a parameter, `NODE/PARAMETER`, in one spelling.

Trials write it with `--save` (FORMATS.md, *Arrays*), and start from it with `--weights`. Whatever
is read here is somebody's file: nothing is unpickled, and sizes are checked before memory is taken.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from dlbench.campaigns.array_file import Arrays, read_arrays
from dlbench.errors import UserError
from dlbench.plain_json import printable
from dlbench.statistics.words import listing
from dlbench.whole_files import whole_file, writing

MOST_BYTES = 4 << 30
"""Of one file."""
_NEVER = (1980, 1, 1, 0, 0, 0)
"""When it was made is no part of a file's content."""
_MOST_NAMED = 3
CONVERT = "`dlbench weights convert` makes such a file from other formats."
Graph = Mapping[str, Any]
Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Fit:
    """Which parameters of a graph a file has."""

    given: tuple[str, ...]
    """Parameters that come from the file, in the graph's order."""
    drawn: tuple[str, ...]
    """Parameters that the file does not have."""

    def sentence(self, workload: str, settings: tuple[str, ...]) -> str:
        """What comes from the file, and where the rest comes from."""
        every = len(self.given) + len(self.drawn)
        if not self.drawn:
            return f"All {every} parameters of {workload} come from it."
        named = [*self.drawn[:_MOST_NAMED]]
        if more := len(self.drawn) - len(named):
            named.append(f"{more} more")
        whence = "drawn from the seed" if "matched" in settings else "the framework's own"
        if len(settings) > 1:
            whence += ", or in the native setting the framework's own"
        verb = "is" if len(self.drawn) == 1 else "are"
        return (
            f"{len(self.given)} of {every} parameters of {workload} come from it; {len(self.drawn)}"
            f" {verb} {whence}: {listing(named)}."
        )


def shapes_of(graph: Graph) -> Shapes:
    """The shape of each parameter, in the graph's order."""
    return {
        f"{node['name']}/{name}": tuple(spec["shape"])
        for node in graph["nodes"]
        for name, spec in node["parameters"].items()
    }


def read_canonical(path: Path) -> Arrays:
    """The arrays of a file of weights, checked but for their names and shapes."""
    if not path.is_file():
        raise UserError(f"There is no file of weights {path}.", "Give the path of an .npz file.")
    try:
        arrays = read_arrays(path.resolve(), MOST_BYTES)
    except UserError as error:
        raise UserError(error.problem, CONVERT) from error
    if not arrays:
        raise UserError(f"{path.name} holds no weights.", CONVERT)
    for name, values in arrays.items():
        if values.dtype != np.dtype("<f4"):
            raise UserError(f"{name} in {path.name} is {values.dtype}, not float32.", CONVERT)
        if not np.isfinite(values).all():
            raise UserError(
                f"{name} in {path.name} has values that are not finite numbers.",
                "A training that diverged has left them: use the weights of another one.",
            )
    return arrays


def fit(arrays: Mapping[str, Any], graph: Graph, file: str, workload: str) -> Fit:
    """Refuse arrays that do not fit the graph, whatever it is that does not; what is missing may
    be: a backbone has a part of a model's parameters."""
    shapes = shapes_of(graph)
    for name, values in arrays.items():
        node = name.partition("/")[0]
        if name not in shapes:
            known = any(own.startswith(f"{node}/") for own in shapes)
            raise UserError(
                f"{file} has {printable(name, 200)!r}, but "
                + (f"node {node!r} of {workload} has no such parameter." if known
                   else f"{workload} has no node {printable(node, 100)!r} with parameters."),
                CONVERT,
            )  # fmt: skip
        if tuple(values.shape) != shapes[name]:
            raise UserError(
                f"{name} in {file} has the shape {list(values.shape)}; node {node!r} of {workload}"
                f" wants {list(shapes[name])}.",
                CONVERT,
            )
        if name.endswith("/variance") and values.size and values.min() < 0:
            raise UserError(f"{name} in {file} has values below 0.", "A variance has none.")
    return Fit(
        tuple(name for name in shapes if name in arrays),
        tuple(name for name in shapes if name not in arrays),
    )


class _Sink(io.RawIOBase):
    """Hashes what is written, and passes it on. It can't go back, so that the bytes of a file are
    the same wherever it goes."""

    def __init__(self, file: IO[bytes] | None) -> None:
        self._file, self.hash = file, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self.hash.update(content)
        if self._file is not None:
            self._file.write(content)
        return memoryview(content).nbytes


def write_canonical(arrays: Mapping[str, Any], file: IO[bytes] | None = None) -> str:
    """Write them in the one spelling; its SHA-256. Without a file nothing is written."""
    sink = _Sink(file)
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED, allowZip64=True) as members:
        for name in sorted(arrays):
            info = zipfile.ZipInfo(f"{name}.npy", _NEVER)
            with members.open(info, "w", force_zip64=True) as member:
                values = np.asarray(arrays[name], dtype="<f4", order="C")
                header = {"descr": "<f4", "fortran_order": False, "shape": values.shape}
                np.lib.format.write_array_header_1_0(member, header)
                member.write(values.reshape(-1).view(np.uint8).data)
    return sink.hash.hexdigest()


def save_canonical(arrays: Mapping[str, Any], path: Path) -> str:
    """Write them to a new file, whole or not at all; their digest."""
    with writing(path, "Choose another place with -o."), whole_file(path) as file:
        return write_canonical(arrays, file)
