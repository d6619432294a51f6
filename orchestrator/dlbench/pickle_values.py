"""The values in a pickle, read without executing it.

A pickle is a program; Python's own reader imports what it names and calls it. Here its
instructions are only looked at: plain values (numbers, texts, lists, dictionaries) are built, what
it names stays a name, and a call stays a note of what would have been called with what.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class PickleError(ValueError):
    """Not a pickle, damaged, or with an instruction that no plain value needs."""


@dataclass(frozen=True)
class Name:
    """Something that the pickle names, such as `numpy.dtype`; it was not looked up."""

    module: str
    name: str


@dataclass
class Call:
    """Something that the pickle wants to be called; it was not."""

    what: Any
    arguments: Any
    state: Any = None
    """What it would then have been given as its content."""


_MARK = object()
_VALUES = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE",
    "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
}  # fmt: skip
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_NOTHING = {"PROTO", "FRAME"}


def read_pickle(content: bytes) -> Any:
    """The value that the pickle holds. Old texts of bytes come as str in Latin-1."""
    return read_first_pickle(content)[0]


def read_first_pickle(content: bytes) -> tuple[Any, int]:
    """The value of the pickle that the content begins with, and how many bytes that has."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for opcode, argument, place in pickletools.genops(content):
            if opcode.name == "STOP":
                if len(stack) != 1 or stack[0] is _MARK:
                    raise PickleError("it is damaged (it does not end with one value)")
                return stack[0], (place or 0) + 1
            _step(opcode.name, argument, stack, memo)
    except PickleError:
        raise
    except Exception as error:  # whatever a damaged file makes of the stack
        raise PickleError(f"it is damaged ({type(error).__name__}: {error})") from error
    raise PickleError("it is not complete")


def _step(op: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    if op in _VALUES:
        stack.append(argument)
    elif op in ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE"):
        memo[len(memo) if argument is None else int(argument)] = stack[-1]
    elif op in ("BINGET", "LONG_BINGET", "GET"):
        stack.append(memo[int(argument)])
    elif op in _CONSTANTS:
        stack.append(_CONSTANTS[op])
    elif op in _EMPTY:
        stack.append(_EMPTY[op]())
    elif op == "MARK":
        stack.append(_MARK)
    elif op == "APPENDS":
        items = _since_mark(stack)
        stack[-1].extend(items)
    elif op == "APPEND":
        item = stack.pop()
        stack[-1].append(item)
    elif op == "SETITEMS":
        items = _since_mark(stack)
        stack[-1].update(_table(items))
    elif op == "SETITEM":
        value, key = stack.pop(), stack.pop()
        stack[-1].update(_table([key, value]))
    elif op in _TUPLES:
        count = _TUPLES[op]
        stack[-count:] = [tuple(stack[-count:])]
    elif op in ("TUPLE", "LIST"):
        items = _since_mark(stack)
        stack.append(tuple(items) if op == "TUPLE" else items)
    elif op == "DICT":
        items = _since_mark(stack)
        stack.append(_table(items))
    elif op == "GLOBAL":
        stack.append(Name(*argument.split(" ", 1)))
    elif op == "STACK_GLOBAL":
        name, module = stack.pop(), stack.pop()
        stack.append(Name(module, name))
    elif op in ("REDUCE", "NEWOBJ"):
        arguments, what = stack.pop(), stack.pop()
        # how Python 3 writes bytes for Python 2, and the one call that stands for a plain value
        is_bytes = what == Name("_codecs", "encode") and arguments[1:] == ("latin1",)
        if what == Name("collections", "OrderedDict") and arguments == ():
            stack.append({})  # a plain value, too: dictionaries keep their order
        else:
            stack.append(arguments[0].encode("latin-1") if is_bytes else Call(what, arguments))
    elif op == "BUILD":
        state = stack.pop()
        if not isinstance(stack[-1], dict):  # its attributes are no part of its content
            stack[-1].state = state
    elif op == "BINPERSID":
        stack.append(Call(Name("", "persistent"), stack.pop()))
    elif op not in _NOTHING:
        raise PickleError(f"it has the instruction {op}, which no plain value needs")


def _table(items: list[Any]) -> dict[Any, Any]:
    """A dictionary of keys and values by turns. To hash a key that holds others may never end."""
    for key in items[::2]:
        if not isinstance(key, str | bytes | int | float | None):
            raise PickleError("it has a dictionary whose keys are neither texts nor numbers")
    return dict(zip(items[::2], items[1::2], strict=True))


def _since_mark(stack: list[Any]) -> list[Any]:
    place = len(stack) - 1
    while stack[place] is not _MARK:
        place -= 1
        if place < 0:
            raise PickleError("it is damaged (a mark is missing)")
    items = stack[place + 1 :]
    del stack[place:]
    return items
