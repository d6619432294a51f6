"""The option `--path`, the same for every command that looks something up."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

PathOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--path",
        metavar="DIR",
        help="A folder with workloads, datasets, suites, releases or adapters of your own. "
        "Python files in it are run. Repeatable; DLBENCH_PATH names such folders, too.",
    ),
]


def add_path_option(app: typer.Typer, names: Collection[str]) -> None:
    """Give the commands of these names the option `--path`."""
    for command in app.registered_commands:
        if command.callback and command.name in names:
            command.callback = _with_path(command.callback)


def _with_path(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same command with one option more."""

    @wraps(command)
    def searching(*arguments: Any, path: list[Path] | None = None, **options: Any) -> Any:
        from dlbench import extensions

        extensions.use(path or ())
        return command(*arguments, **options)

    # what typer reads to learn which options a command has
    option = inspect.Parameter(
        "path", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=PathOption
    )
    signature = inspect.signature(command, eval_str=True)
    searching.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), option]
    )
    return searching
