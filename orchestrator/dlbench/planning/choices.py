"""What a user can choose about a campaign: one field a choice, with its command line option.

A new option is one new field here: `dlbench run` and `dlbench plan` get the option from it,
campaign.json records it, and merged campaigns keep it. Nothing but the reader of the choice
(planning/plan.py for most) has to know of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any

from dlbench.monitor.rate import DEFAULT_HZ, FASTEST_HZ, SLOWEST_HZ
from dlbench.shapes import MOST_COUNTED, Shape, optional, record_of, whole


@dataclass(frozen=True)
class Option:
    """How a choice is spelled on the command line, and what `--help` says about it."""

    flag: str
    help: str
    metavar: str | None = None
    """What `--help` shows in place of the value; None: the option takes none."""


@dataclass(frozen=True)
class Choices:
    """What a user chose; None or empty: as the suite has it."""

    suite: Annotated[str, Option("--suite", "A suite's name, or a TOML file.", "NAME|FILE")] = (
        "quick"
    )
    frameworks: Annotated[
        tuple[str, ...],
        Option("--framework", "The same as naming a RELEASE. Repeatable.", "RELEASE"),
    ] = ()
    against: Annotated[
        tuple[str, ...],
        Option("--against", "A baseline that runs in the same rounds. Repeatable.", "RELEASE"),
    ] = ()
    workloads: Annotated[
        tuple[str, ...], Option("--workload", "A workload. Repeatable.", "NAME")
    ] = ()
    devices: Annotated[
        tuple[str, ...], Option("--device", "cpu or gpu. Repeatable.", "cpu|gpu")
    ] = ()
    gpu: Annotated[
        str | None,
        Option("--gpu", "GPUs to use: all, none, indices (0,1), a UUID, or each apart.", "WHICH"),
    ] = None
    engine: Annotated[
        str, Option("--engine", "auto, docker or process.", "auto|docker|process")
    ] = "auto"
    settings: Annotated[
        tuple[str, ...],
        Option(
            "--setting",
            "matched (the same numbers everywhere) or native (its own). Repeatable.",
            "matched|native",
        ),
    ] = ()
    models: Annotated[
        tuple[str, ...],
        Option(
            "--as",
            "A study's suite as intended (equal models), or as published (with the confounds of its"
            " code). Repeatable.",
            "intended|published",
        ),
    ] = ()
    confounds: Annotated[
        tuple[str, ...],
        Option(
            "--confound",
            "Put this back into every contender, alone (A+B: both at once); with --as intended"
            " beside the plain ones. Repeatable.",
            "NAME",
        ),
    ] = ()
    data: Annotated[str | None, Option("--data", "real or synthetic.", "real|synthetic")] = None
    repeats: Annotated[
        int | None,
        Option("--repeats", "Trials of each contender; default: what the test needs.", "N"),
    ] = None
    until: Annotated[
        str | None, Option("--until", "Go on in rounds until the leader is known.", "decided")
    ] = None
    at_most: Annotated[
        int | None, Option("--at-most", "With --until: the most trials of each contender.", "N")
    ] = None
    sweep: Annotated[
        tuple[str, ...],
        Option(
            "--sweep",
            "Values of a recipe's field or of threads: batch=1,8,32. Repeatable: a grid.",
            "FIELD=VALUE,…",
        ),
    ] = ()
    scale: Annotated[
        str | None,
        Option(
            "--scale",
            "A share of the rows (0.01), or a scale of the suite: smoke, short, full.",
            "SHARE|NAME",
        ),
    ] = None
    rows: Annotated[int | None, Option("--rows", "At most so many rows of each split.", "N")] = None
    seed: Annotated[int | None, Option("--seed", "The first repeat's seed.", "N")] = None
    seeds: Annotated[
        str | None,
        Option(
            "--seeds",
            "Of the repeats: each (one after the other), same, or a list such as 1,12,123.",
            "each|same|N,…",
        ),
    ] = None
    deterministic: Annotated[
        bool,
        Option("--deterministic", "Ask each framework for kernels that repeat to the last bit."),
    ] = False
    epochs: Annotated[int | None, Option("--epochs", "Epochs instead of the recipe's.", "N")] = None
    steps: Annotated[int | None, Option("--steps", "Stop after this many steps.", "N")] = None
    time_limit: Annotated[
        str | None, Option("--time-limit", "Longest time of a trial: 90s, 15m, 24h.", "TIME")
    ] = None
    cpus: Annotated[float | None, Option("--cpus", "Cores a trial may use.", "N")] = None
    memory: Annotated[
        str | None, Option("--memory", "Memory a trial may use: 512m, 4g.", "SIZE")
    ] = None
    threads: Annotated[
        str,
        Option(
            "--threads",
            "Cores and threads of a trial: a number, or default (matched: all that --cpus allows;"
            " native: the framework decides).",
            "default|N",
        ),
    ] = "default"
    hz: Annotated[
        float, Option("--hz", f"Samples a second, {SLOWEST_HZ:g} to {FASTEST_HZ:g}.", "N")
    ] = DEFAULT_HZ
    inference: Annotated[
        bool, Option("--inference", "Also measure predictions: of 1000 rows, and of one.")
    ] = False
    save: Annotated[bool, Option("--save", "Keep the trained weights.")] = False
    weights: Annotated[
        str | None,
        Option("--weights", "Start from these weights: .npz, see `dlbench weights`.", "FILE"),
    ] = None
    label: Annotated[
        str | None, Option("--label", "A name for the campaign, also of its folder.", "NAME")
    ] = None

    def to_json(self) -> dict[str, Any]:
        """For campaign.json: the fields of this class, not those that a command adds."""
        return {field.name: getattr(self, field.name) for field in fields(Choices)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Choices:
        """As campaign.json records them, checked; what another version recorded too is left out."""
        known = _shape()(content)
        lists = {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
        return cls(**{**known, **lists})


@cache
def _shape() -> Shape:
    return record_of(Choices, seed=optional(whole(-MOST_COUNTED)))
