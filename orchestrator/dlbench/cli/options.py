"""The options that several commands share, each declared once.

Those of `run` and `plan` are the fields of `Choices`: `command_of` makes a command of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_origin, get_type_hints

import typer

from dlbench.cli import completion
from dlbench.planning.choices import Choices

ChoicesT = TypeVar("ChoicesT", bound=Choices)
Releases = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RELEASE",
        help="Releases such as pytorch, mxnet@1.3.0 or tensorflow:fit.",
        autocompletion=completion.releases,
    ),
]
Framework = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RELEASE",
        help="The same as naming a RELEASE. Repeatable.",
        autocompletion=completion.releases,
    ),
]
Engine = Annotated[str, typer.Option(metavar="auto|docker|process", help="What runs it.")]
CampaignFolder = Annotated[
    Path | None,
    typer.Argument(
        metavar="DIR",
        help="The campaign's folder or archive; none: the newest one in results/.",
        autocompletion=completion.campaigns,
    ),
]
Only = Annotated[
    str | None,
    typer.Option(
        "--only",
        metavar="KEY=VALUE,…",
        help="Only these trials: release=pytorch,workload=digits-cnn,point=batch=8. A key that"
        " comes twice: either of its values.",
    ),
]
COMPLETIONS = {
    "frameworks": completion.releases,
    "against": completion.releases,
    "workloads": completion.workloads,
    "suite": completion.suites,
    "confounds": completion.confounds,
    "resume": completion.campaigns,
}
"""What the shell offers for options of `run` and `plan`."""
Study = Annotated[
    str | None,
    typer.Option(
        metavar="STUDY",
        help="The study whose claims are judged; none: that of the campaign's suite.",
        autocompletion=completion.studies,
    ),
]
Device = Annotated[str, typer.Option(metavar="cpu|gpu", help="The device.")]
Alpha = Annotated[
    float, typer.Option(help="The chance of claiming any difference where there is none.")
]
AlphaOver = Annotated[
    str,
    typer.Option(
        metavar="workload|report",
        help="What --alpha is a rate of: each workload and metric by itself, or the whole report.",
    ),
]


def named(releases: Sequence[str] | None, framework: Sequence[str] | None) -> tuple[str, ...]:
    """The releases that a command was given, in either way, each once."""
    return tuple(dict.fromkeys((*(releases or ()), *(framework or ()))))


def command_of(
    kind: type[ChoicesT], act: Callable[[ChoicesT, frozenset[str]], None]
) -> Callable[..., None]:
    """A command for typer: releases by position, and one option a field of `kind`.

    `act` gets the choices, and the names of those that were written on the command line."""
    hints = get_type_hints(kind)
    repeated = {name for name, hint in hints.items() if get_origin(hint) is tuple}

    def option(field: Field[Any]) -> Parameter:
        name, default, type_ = field.name, field.default, hints[field.name]
        if name in repeated:
            type_, default = list[str] | None, None
        info = typer.Option(
            default,
            *field.metadata["flag"].split(),
            metavar=field.metadata["metavar"],
            help=field.metadata["help"],
            autocompletion=COMPLETIONS.get(name),
        )
        return Parameter(name, Parameter.KEYWORD_ONLY, default=info, annotation=type_)

    def command(context: typer.Context, releases: list[str] | None = None, **values: Any) -> None:
        given = {name for name in values if _written(context, name)}
        given |= {"frameworks"} if releases else set()
        values |= {name: tuple(values[name] or ()) for name in repeated}
        values["frameworks"] = named(releases, values["frameworks"])
        act(kind(**values), frozenset(given))

    context = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)
    names = Parameter("releases", Parameter.KEYWORD_ONLY, default=None, annotation=Releases)
    options = [option(field) for field in fields(kind)]
    command.__signature__ = Signature([context, names, *options])  # type: ignore[attr-defined]
    return command


def _written(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
