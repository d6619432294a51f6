"""What a user can choose about a campaign: one field a choice, with its command line option.

A new option is one new field here: `dlbench run` and `dlbench plan` get the option from it,
campaign.json records it, and merged campaigns keep it. Nothing but the reader of the choice
(planning/plan.py for most) has to know of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from dlbench.monitor.rate import DEFAULT_HZ, FASTEST_HZ, SLOWEST_HZ
from dlbench.shapes import MOST_COUNTED, Shape, instance_of, optional, whole

Names = tuple[str, ...]


def choice(flag: str, help: str, metavar: str | None = None, default: Any = None) -> Any:
    """A field of the choices: its spellings on the command line, what `--help` says about it,
    and what it shows in place of the value; None: the option takes none."""
    return field(default=default, metadata={"flag": flag, "help": help, "metavar": metavar})


@dataclass(frozen=True)
class Choices:
    """What a user chose; None or empty: as the suite has it."""

    suite: str = choice("--suite", "A suite's name, or a TOML file.", "NAME|FILE", default="quick")
    frameworks: Names = choice(
        "--framework", "The same as naming a RELEASE. Repeatable.", "RELEASE", default=()
    )
    against: Names = choice(
        "--against", "A baseline that runs in the same rounds. Repeatable.", "RELEASE", default=()
    )
    workloads: Names = choice("--workload", "A workload. Repeatable.", "NAME", default=())
    devices: Names = choice("--device", "cpu or gpu. Repeatable.", "cpu|gpu", default=())
    gpu: str | None = choice(
        "--gpu", "GPUs to use: all, none, indices (0,1), a UUID, or each apart.", "WHICH"
    )
    engine: str = choice(
        "--engine", "auto, docker or process.", "auto|docker|process", default="auto"
    )
    settings: Names = choice(
        "--setting",
        "matched (the same numbers everywhere) or native (its own). Repeatable.",
        "matched|native",
        default=(),
    )
    models: Names = choice(
        "--as",
        "A study's suite as intended (equal models), or as published (with the confounds of its"
        " code). Repeatable.",
        "intended|published",
        default=(),
    )
    confounds: Names = choice(
        "--confound",
        "Put this into every contender, one at a time (A+B: both together); with --as intended"
        " the unaltered ones run, too. Repeatable.",
        "NAME",
        default=(),
    )
    data: str | None = choice("--data", "real or synthetic.", "real|synthetic")
    repeats: int | None = choice(
        "--repeats", "Trials of each contender; default: what the test needs.", "N"
    )
    until: str | None = choice("--until", "Go on in rounds until the leader is known.", "decided")
    at_most: int | None = choice(
        "--at-most", "With --until: the most trials of each contender.", "N"
    )
    sweep: Names = choice(
        "--sweep",
        "Values of a recipe's field or of threads: batch=1,8,32. Repeatable: a grid.",
        "FIELD=VALUE,…",
        default=(),
    )
    scale: str | None = choice(
        "--scale",
        "A share of the rows (0.01), or a scale of the suite: smoke, short, full.",
        "SHARE|NAME",
    )
    rows: int | None = choice("--rows", "At most so many rows of each split.", "N")
    seed: int | None = choice("--seed", "The first repeat's seed.", "N")
    seeds: str | None = choice(
        "--seeds",
        "Seeds of the repeats: each (one more each time), same, or a list such as 1,12,123.",
        "each|same|N,…",
    )
    deterministic: bool = choice(
        "--deterministic",
        "Ask each framework for kernels that repeat to the last bit.",
        default=False,
    )
    epochs: int | None = choice("--epochs", "Epochs instead of the recipe's.", "N")
    steps: int | None = choice("--steps", "Stop after this many steps.", "N")
    time_limit: str | None = choice(
        "--time-limit", "Longest time of a trial: 90s, 15m, 24h.", "TIME"
    )
    cpus: float | None = choice("--cpus", "Cores a trial may use.", "N")
    memory: str | None = choice("--memory", "Memory a trial may use: 512m, 4g.", "SIZE")
    threads: str = choice(
        "--threads",
        "Cores and threads of a trial: a number, or default (matched: all that --cpus allows;"
        " native: the framework decides).",
        "default|N",
        default="default",
    )
    hz: float = choice(
        "--hz", f"Samples a second, {SLOWEST_HZ:g} to {FASTEST_HZ:g}.", "N", default=DEFAULT_HZ
    )
    inference: bool = choice(
        "--inference", "Also measure predictions: of 1000 rows, and of one.", default=False
    )
    save: bool = choice("--save", "Keep the trained weights.", default=False)
    weights: str | None = choice(
        "--weights", "Start from these weights: .npz, see `dlbench weights`.", "FILE"
    )
    label: str | None = choice("--label", "A name for the campaign, also of its folder.", "NAME")

    def to_json(self) -> dict[str, Any]:
        """For campaign.json: the fields of this class, not those that a command adds."""
        return {each.name: getattr(self, each.name) for each in fields(Choices)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Choices:
        """As campaign.json records them, checked; what another version recorded too is left out."""
        choices: Choices = _shape()(content)
        return choices


@cache
def _shape() -> Shape:
    return instance_of(Choices, seed=optional(whole(-MOST_COUNTED)))
