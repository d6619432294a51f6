"""What `dlbench.run` makes of its arguments: the same as the command line, or a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dlbench.errors import UserError
from dlbench.planning.choices import Choices
from dlbench.running.python_call import chosen_in_python


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"workloads": "mnist-cnn"}, {"workloads": ("mnist-cnn",)}),
        ({"workloads": ["a", "b"]}, {"workloads": ("a", "b")}),
        ({"frameworks": "numpy"}, {"frameworks": ("jax", "numpy")}),
        ({"scale": 0.01}, {"scale": "0.01"}),
        ({"threads": 2, "seeds": [1, 12]}, {"threads": "2", "seeds": "1,12"}),
        ({"weights": Path("w.npz")}, {"weights": "w.npz"}),
        ({"cpus": 2, "hz": 5}, {"cpus": 2, "hz": 5}),
        ({"sweep": "batch=1,8"}, {"sweep": ("batch=1,8",)}),
        (
            {"sweep": {"batch": [1, 8], "optimizer.lr": (1e-3, 0.1), "clip": None}},
            {"sweep": ("batch=1,8", "optimizer.lr=0.001,0.1", "clip=none")},
        ),
        ({"repeats": 3, "deterministic": True}, {"repeats": 3, "deterministic": True}),
    ],
)
def test_what_is_natural_in_python_is_taken(given: Any, wanted: Any) -> None:
    expected = Choices(**{"frameworks": ("jax",), **wanted})
    assert chosen_in_python(("jax",), given) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"repeats": "3"}, "repeats is '3', not a whole number"),
        ({"repeats": True}, "repeats is True, not a whole number"),
        ({"repeats": 2.5}, "repeats is 2.5, not a whole number"),
        ({"workloads": 3}, "workloads is 3, not a list"),
        ({"sweep": 5}, "sweep is 5, not a list"),
        ({"workloads": [3]}, "workloads[0] is 3, not a text"),
        ({"deterministic": "yes"}, "deterministic is 'yes', not true or false"),
        ({"cpus": "2"}, "cpus is '2', not a number"),
        ({"label": b"x"}, "label is"),
        ({"workload": "x"}, "Did you mean 'workloads'"),
    ],
)
def test_what_is_not_possible_ends_in_a_sentence(given: Any, words: str) -> None:
    with pytest.raises(UserError) as caught:
        chosen_in_python(("jax",), given)
    assert words in str(caught.value)
