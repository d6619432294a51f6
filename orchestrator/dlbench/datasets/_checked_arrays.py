"""Checks what becomes of files; of people's own data sets, so that an error names their file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec

import numpy as np

from dlbench import extensions
from dlbench.datasets import Arrays
from dlbench.errors import UserError

_Arguments = ParamSpec("_Arguments")


def with_checks(path: Path, make: Callable[_Arguments, Arrays]) -> Callable[_Arguments, Arrays]:
    """The same function; what goes wrong in it is an error that names the file."""

    def made(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> Arrays:
        try:
            arrays = make(*arguments, **options)
        except UserError:  # it has said itself what is wrong
            raise
        except Exception as error:
            raise extensions.broken(path, error) from error
        if problem := problem_of(arrays):
            raise UserError(
                f"{path} can't be used: {problem}.",
                'Return {"train": {"name": array, …}, "test": {"name": array, …}}.',
            )
        return arrays

    return made


def problem_of(arrays: object) -> str:
    """What is wrong with the arrays of a data set, without the full stop; empty: nothing."""
    known = ({"train", "test"}, {"train", "test", "validation"})
    if not isinstance(arrays, dict) or arrays.keys() not in known:
        return "its arrays are not in the splits train and test (and validation, if there is one)"
    for split, named in arrays.items():
        if not isinstance(named, dict) or not named:
            return f"the split {split!r} holds no arrays by name"
        if not all(isinstance(value, np.ndarray) and value.ndim for value in named.values()):
            return f"the split {split!r} holds something that is not a NumPy array with rows"
        if len({len(value) for value in named.values()}) != 1:
            rows = " and ".join(f"{len(value):,} of {name}" for name, value in named.items())
            return f"the arrays of the split {split!r} do not have equally many rows ({rows})"
        if not len(next(iter(named.values()))):
            return f"the split {split!r} has no rows"
        if any(value.dtype.hasobject for value in named.values()):
            return f"the split {split!r} holds Python objects in place of numbers"
    if any(named.keys() != arrays["train"].keys() for named in arrays.values()):
        return f"{', '.join(arrays)} do not have the same arrays"
    return ""
