"""Choices: recorded as they were made, read whatever version recorded them."""

from __future__ import annotations

import json
from dataclasses import fields

from dlbench.planning.choices import Choices


def test_what_is_recorded_is_read() -> None:
    choices = Choices(frameworks=("numpy", "jax"), cpus=1.5, hz=5.0, save=True, suite="mine.toml")
    assert Choices.from_json(json.loads(json.dumps(choices.to_json()))) == choices


def test_other_versions_recorded_less_or_more() -> None:
    assert Choices.from_json({}) == Choices()
    assert Choices.from_json({"repeats": 4, "invented_later": 1}) == Choices(repeats=4)


def test_every_choice_has_its_own_option() -> None:
    options = [field.metadata for field in fields(Choices)]
    assert all(option["flag"] and option["help"] for option in options)
    assert len({option["flag"] for option in options}) == len(options)
