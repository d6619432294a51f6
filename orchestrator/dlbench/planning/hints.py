"""Values held against type hints: the builder's methods say by theirs what a graph may hold."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

_P = ParamSpec("_P")
_R = TypeVar("_R")


def checked(error: type[Exception]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """A method that raises `error`, in words, where an argument is not of the type that it states.

    Nothing else would notice a number of units of 2.5, or a NumPy number, until a trial reads it.
    """

    def decorate(method: Callable[_P, _R]) -> Callable[_P, _R]:
        signature = inspect.signature(method)
        kinds = {name: each.kind for name, each in signature.parameters.items()}

        @functools.wraps(method)
        def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            hints = _hints(method)
            for key, value in signature.bind(*args, **kwargs).arguments.items():
                several = kinds[key] is inspect.Parameter.VAR_POSITIONAL
                for each in value if several else (value,):
                    if key in hints and not fits(as_tuples(each), hints[key]):
                        raise error(
                            f"{method.__name__}: {key} must be {words(hints[key])}, not {each!r}."
                        )
            return method(*args, **kwargs)

        return called

    return decorate


@functools.cache
def _hints(method: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(method)


def as_tuples(value: Any) -> Any:
    return tuple(as_tuples(item) for item in value) if isinstance(value, list | tuple) else value


def fits(value: Any, hint: Any) -> bool:
    """Whether a value, its lists as tuples, is what the hint says."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in arguments)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is tuple and arguments[-1] is not ...:
        return (
            isinstance(value, tuple)
            and len(value) == len(arguments)
            and all(map(fits, value, arguments))
        )
    if origin is Mapping:
        return isinstance(value, dict)
    if origin is not None:  # a sequence of any length
        return isinstance(value, tuple) and all(fits(item, arguments[0]) for item in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is hint


def words(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(words(each) for each in arguments if each is not NoneType)
    if origin is Literal:
        return " or ".join(f'"{each}"' for each in arguments)
    if origin is tuple and arguments[-1] is not ...:
        return "[" + ", ".join(words(each) for each in arguments) + "]"
    if origin is Mapping:
        return "a table"
    if origin is not None:
        return f"a list, each {words(arguments[0])}"
    known = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}
    return known.get(hint, str(hint))
