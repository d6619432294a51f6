"""`--only release=pytorch,workload=digits-cnn`: some of the trials of a campaign, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dlbench.analysis.results import Results
from dlbench.campaigns.plan_file import PlannedTrial
from dlbench.errors import UserError, check_known
from dlbench.planning.trial import Trial

NONE = "none"
"""`confounds=none`: what is not altered."""
KEYS = (
    "release", "workload", "device", "setting", "variant", "engine", "seed", "point", "confounds",
)  # fmt: skip


def parse_only(text: str) -> dict[str, list[str]]:
    """The values that each key may have."""
    wanted: dict[str, list[str]] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise UserError(
                f"{part!r} does not say what to show.",
                "Write it as --only release=pytorch,workload=digits-cnn.",
            )
        check_known("key of --only", key, KEYS)
        wanted.setdefault(key, []).append(value)
    return wanted


def select(planned: Sequence[PlannedTrial], text: str | None) -> tuple[PlannedTrial, ...]:
    """These of the planned trials; all of them where nothing is asked for."""
    if not text:
        return tuple(planned)
    wanted = parse_only(text)
    found = tuple(
        trial
        for trial in planned
        if all(any(_matches(trial.trial, key, v) for v in wanted[key]) for key in wanted)
    )
    if not found:
        there = [
            f"{key}: {', '.join(sorted({_value(trial.trial, key) for trial in planned}))}"
            for key in wanted
        ]
        raise UserError(f"No trial has {text}.", f"There are {'; '.join(there)}.")
    return found


def only(results: Results, text: str | None) -> Results:
    """The results of these trials alone."""
    if not text:
        return results
    found = select([trial for source in results.sources for trial in source.planned], text)
    kept = {trial.folder for trial in found}
    return Results(
        tuple(
            replace(source, planned=tuple(t for t in source.planned if t.folder in kept))
            for source in results.sources
        )
    )


def _value(trial: Trial, key: str) -> str:
    if key == "confounds":
        return " ".join(trial.confounds) or NONE
    return str(getattr(trial, key))


def _matches(trial: Trial, key: str, value: str) -> bool:
    """A framework means all its releases; `pytorch:compile` one way to train."""
    own = _value(trial, key)
    if key == "point":  # all trials that have these values, whatever else was swept
        return set(value.split()) <= set(own.split())
    if key == "confounds":  # by name, whatever its parameters
        return own == value or value in (each.partition(":")[0] for each in own.split())
    if key != "release":
        return own == value
    name, _, variant = value.partition(":")
    return name in (own, own.partition("@")[0]) and variant in ("", trial.variant)
