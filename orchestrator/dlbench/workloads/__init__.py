"""Workloads: data set + model graph + training recipe.

A file defines WORKLOAD, or WORKLOADS, a tuple of several that share a model.

People's own workloads come from the search path (`dlbench.extensions`), in Python or TOML.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from dlbench import extensions
from dlbench.errors import UserError, check_known, unknown
from dlbench.extensions import BUILT_IN, Extension
from dlbench.planning import recipes
from dlbench.planning.graph import GraphError, count_parameters


@dataclass(frozen=True)
class Workload:
    """What is trained on what, and how."""

    name: str
    task: str
    dataset: str
    graph: dict[str, Any]
    recipe: dict[str, Any]
    about: str = ""
    source: str = ""
    """Where the model comes from, if that has to be said: its form and its parameter count."""
    aliases: tuple[str, ...] = ()
    """Other names that `find` knows it by; results have `name` alone."""
    proof: dict[str, Any] | None = None
    """The same model in a smaller size, for the certificate; None: the model itself is small."""
    sizes: Mapping[str, str] = field(default_factory=dict)
    """The same model in other sizes: by the name of the size the workload that has its graph and
    its recipe."""
    only_proof: bool = False
    """A graph that is there to be certified, not to be trained for a result."""
    origin: str = BUILT_IN
    """Where it comes from; set when it is loaded."""

    @property
    def proof_graph(self) -> dict[str, Any]:
        return self.proof or self.graph

    @property
    def parameters(self) -> int:
        return count_parameters(self.graph)


def workloads() -> dict[str, Workload]:
    return {name: each for name, each in _named(extensions.search_path()).items()
            if name == each.name}  # fmt: skip


def find(name: str) -> Workload:
    """The workload of this name or alias."""
    known = _named(extensions.search_path())
    check_known("workload", name, known, "dlbench list workloads")
    return known[name]


@cache
def _named(_search_path: tuple[Extension, ...]) -> dict[str, Workload]:
    """All workloads by name and by alias."""
    known = [*extensions.built_in(__name__, __path__, "WORKLOAD"), *_brought()]
    for path, workload in known:
        for graph in (workload.graph, workload.proof_graph):
            try:
                recipes.check(graph, workload.recipe)
            except GraphError as error:
                raise UserError(f"{path} can't be used: {error}", "Correct the file.") from error
        _check_sizes(path, workload, {each.name: each for _, each in known})
    called = [(path, replace(w, name=alias)) for path, w in known for alias in w.aliases]
    named = extensions.by_name("workload", [*known, *called])
    own = {alias: workload for _, workload in known for alias in workload.aliases}
    return {name: own.get(name, workload) for name, workload in named.items()}


def _check_sizes(path: Path, workload: Workload, known: Mapping[str, Workload]) -> None:
    for size, name in workload.sizes.items():
        if name not in known or known[name].dataset != workload.dataset:
            raise UserError(
                f"{path} can't be used: its size {size!r} is {name!r}, which is not a workload on"
                f" {workload.dataset}.",
                "Correct the file.",
            )


def _brought() -> Iterator[tuple[Path, Workload]]:
    """The workloads of the search path."""
    from dlbench.workloads import _toml

    for extension, path in extensions.files("workloads", ".py", ".toml"):
        if path.suffix == ".toml":
            defined = [_toml.load(path)]
        else:
            loaded = extensions.load_python(extension, path, "WORKLOAD", Workload)
            defined = [_checked(path, workload) for workload in loaded]
        for workload in defined:
            _check_dataset(path, workload.dataset)
            yield path, replace(workload, origin=extension.name)


def _checked(path: Path, workload: Workload) -> Workload:
    """A workload that somebody wrote in Python, its recipe checked as that of a TOML file is."""
    from dlbench.toml_file import Table
    from dlbench.workloads._recipe import read_recipe

    for graph in (workload.graph, workload.proof_graph):
        if not isinstance(graph, dict) or not {"inputs", "nodes", "outputs"} <= graph.keys():
            raise UserError(
                f"{path} can't be used: its graph is not complete.",
                "Build it with dlbench.planning.graph.Graph and end with to_json().",
            )
    table = Table(path, "", {"recipe": workload.recipe}).table("recipe")
    return replace(workload, recipe=read_recipe(table, workload.graph["outputs"]))


def _check_dataset(path: Path, name: str) -> None:
    from dlbench.datasets import datasets

    if name not in datasets():
        wrong = unknown("data set", name, datasets(), "dlbench data list")
        raise UserError(f"{path} can't be used: {wrong.problem}", wrong.remedy)
