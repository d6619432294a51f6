"""A confound, what it acts on, and the text that names it: `batchnorm-keep:keep=0.99`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Value = int | float | bool | str


class DoesNotApply(ValueError):
    """There is nothing that the confound could change; the sentence says what is missing."""


class AlreadySo(DoesNotApply):
    """What the confound would make is there already."""


class WrongParameter(ValueError):
    """A value that a confound can't have."""


@dataclass(frozen=True)
class Altered:
    """A model with its data, as it is or after some confounds."""

    graph: Json
    recipe: Json
    divide: Mapping[str, float]
    """What the arrays are divided by."""
    in_bench: tuple[Json, ...] = ()
    """What bench has to do: the entries of the job's `confounds`."""


@dataclass(frozen=True)
class Parameter:
    """What can be chosen about a confound."""

    kind: type[int] | type[float] | type[bool] | type[str]
    default: Value | None = None
    """None: it must be given, unless it is optional."""
    optional: bool = False
    choices: tuple[str, ...] = ()
    low: float | None = None
    """The least value; of a number."""

    def read(self, name: str, text: str) -> Value:
        if self.kind is bool and text in ("true", "false"):
            return text == "true"
        if self.kind is str and (text in self.choices or not self.choices):
            return text
        pattern = r"-?[0-9]{1,15}" if self.kind is int else _NUMBER
        if self.kind in (int, float) and re.fullmatch(pattern, text):
            value = self.kind(text)
            if self.low is None or value >= self.low:
                return value
        raise WrongParameter(f"{name}={text[:60]!r} is not possible, {self.words} is expected")

    @property
    def words(self) -> str:
        if self.choices:
            return " or ".join(self.choices)
        known: dict[type, str] = {int: "a whole number", float: "a number", bool: "true or false"}
        least = f" from {self.low:g}" if self.low is not None else ""
        return f"{known.get(self.kind, 'a text')}{least}"


_NUMBER = r"-?([0-9]{1,15}\.?[0-9]{0,15}|\.[0-9]{1,15})([eE][+-]?[0-9]{1,2})?"


@dataclass(frozen=True)
class Confound:
    name: str
    about: str
    """One plain sentence: what it does."""
    acts_on: str
    """`graph`, `recipe`, `data`, `loss`, `evaluation` or `time`."""
    act: Callable[..., Altered]
    """From the model and the parameters to the altered model; raises `DoesNotApply`."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    in_bench: bool = False
    """Whether bench does it, and the job's graph, recipe and data stay as they are but for what
    bench needs: the proof of the model holds all the same."""

    def read(self, text: str) -> dict[str, Value]:
        """The parameters of `keep=0.99,…`, with defaults for the others."""
        given: dict[str, Value] = {}
        for part in filter(None, text.split(",")):
            key, equals, value = part.partition("=")
            if not equals or key not in self.parameters or key in given:
                known = ", ".join(self.parameters) or "none"
                raise WrongParameter(
                    f"{part[:60]!r} is no parameter of {self.name}; it has {known}"
                )
            given[key] = self.parameters[key].read(key, value)
        for key, parameter in self.parameters.items():
            if key in given:
                continue
            if parameter.default is not None:
                given[key] = parameter.default
            elif not parameter.optional:
                raise WrongParameter(f"{self.name} needs {key}: {parameter.words}")
        return given

    def text(self, values: Mapping[str, Value]) -> str:
        """The one way to write it: what is not the default, in the order of the parameters."""
        said = [
            f"{key}={_written(values[key])}"
            for key, parameter in self.parameters.items()
            if key in values and values[key] != parameter.default
        ]
        return f"{self.name}:{','.join(said)}" if said else self.name


def marked(name: str, confounds: Iterable[str]) -> str:
    """A contender's name in every output: `pytorch@1.0.0 +no-dropout`."""
    return " ".join((name, *(f"+{each}" for each in confounds)))


def _written(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
