"""The host's side of bench/FORMATS.md: jobs written, events checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from dlbench.errors import UserError
from dlbench.event_fields import EVENTS, is_time
from dlbench.plain_json import LARGEST, NotPlain, plain, printable

VERSION = 1
"""Of jobs and events."""
LONGEST_LINE = 4 << 20
"""Of an event, in bytes."""
_MOST_PARTS = 20_000
"""Lists, objects and texts of an event; numbers are not counted."""
MOST_STEPS = 10**12
"""Of an epoch."""
_LONGEST_KEPT = 256 << 10
"""Of one that trial.json repeats."""

Action = Literal["train", "verify"]


class Job(TypedDict):
    """What a trial's process reads: job.json."""

    v: int
    id: str
    action: Action
    framework: str
    version: str
    adapter: str
    variant: str
    device: str
    gpu: int
    """Which of the GPUs that it sees it trains on."""
    setting: str
    seed: int
    threads: int | None
    graph: Mapping[str, Any]
    recipe: Mapping[str, Any]
    budget: dict[str, int | None]
    data: dict[str, Any]
    confounds: list[dict[str, object]]
    """What is wrong in it on purpose."""
    inference: bool
    deterministic: bool
    """Whether the framework is asked for kernels that repeat to the last bit."""
    save: bool
    weights: str | None
    """The SHA-256 of the file of weights that it starts from; None: those of the seed."""


def check_version(
    content: object, known: int, file: Path | str, *, missing: int | None = None
) -> None:
    """Refuse a file of a version that this dlbench does not know. (What is not an object has none:
    whoever checks its content says so.)

    `missing` is the version of files that carry none; None: each must carry one.
    """
    if not isinstance(content, Mapping):
        return
    version = content.get("v", missing)
    if version != known:
        raise UserError(
            f"{file} has format version {printable(str(version), 60)}; this dlbench reads"
            f" version {known}.",
            "Open it with the dlbench that wrote it, or with a newer one.",
        )


class BadEvent(ValueError):
    """A line that no honest trial writes; the message says what is wrong with it."""


@dataclass(frozen=True)
class Event:
    """One event of a trial, `t` seconds after its launch."""

    t: float
    kind: str
    fields: dict[str, Any]

    def line(self) -> str:
        return json.dumps(
            {"v": VERSION, "t": round(self.t, 6), "event": self.kind, **self.fields},
            separators=(",", ":"),
        )


def parse_event(line: bytes) -> Event:
    """An event from its line, its time as written; every value is in its range."""
    if len(line) > LONGEST_LINE:
        raise BadEvent(f"a line of {len(line):,} bytes; at most {LONGEST_LINE:,} are allowed")
    # before it is parsed, which would take long and much memory
    if line.count(b"[") + line.count(b"{") + line.count(b'"') / 2 > _MOST_PARTS:
        raise BadEvent(f"a line of more than {_MOST_PARTS:,} lists, objects and texts")
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadEvent(f"a line that is not JSON: {_shown(line)}") from error
    if not isinstance(content, dict) or content.get("v") != VERSION:
        raise BadEvent(f"a line that is not of version {VERSION}: {_shown(line)}")
    kind, t = content.pop("event", None), content.pop("t", None)
    content.pop("v")
    keys = EVENTS.get(kind) if isinstance(kind, str) else None
    if kind is None or keys is None:
        raise BadEvent(f"an unknown event: {_shown(line)}")
    if kind in ("stack", "model") and len(line) > _LONGEST_KEPT:
        raise BadEvent(f"event {kind!r} of {len(line):,} bytes; it may have {_LONGEST_KEPT:,}")
    if not is_time(t):
        raise BadEvent(f"event {kind!r} with a wrong time 't': {_shown(line)}")
    for key, fits in keys.items():
        if not fits(content.get(key)):
            raise BadEvent(f"event {kind!r} with a wrong {key!r}: {_shown(line, key)}")
    if kind == "epoch":
        _check_steps(content)
    for key in ("metrics", "validation", "train_metrics"):
        if metrics := content.get(key):
            content[key] = {name: _sensible(value) for name, value in metrics.items()}
    try:
        return Event(float(t), kind, plain(content))
    except NotPlain as error:
        raise BadEvent(f"event {kind!r} with {error}") from error


def _check_steps(epoch: Mapping[str, Any]) -> None:
    """Refuse an epoch whose step times are not those that it says: all, or every k-th."""
    times, first, every = epoch["steps_ms"], epoch["first"], epoch.get("every")
    if first > len(times):
        raise BadEvent("event 'epoch' whose 'first' is more than it has steps")
    steps = epoch.get("steps")
    if every is None and steps is None:
        return
    if not every or steps is None or epoch.get("steps_s") is None:
        raise BadEvent("event 'epoch' without the number, the time or the sample of its steps")
    if not first <= steps <= MOST_STEPS:
        raise BadEvent(f"event 'epoch' of {steps:,} steps, {first:,} of them the first")
    written = first + len(range(every // 2, steps - first, every))
    if len(times) != written:
        raise BadEvent(
            f"event 'epoch' with {len(times):,} step times; every {every:,}th of {steps:,} steps"
            f" behind the first {first:,} makes {written:,}"
        )


def _sensible(value: Any) -> Any:
    """A metric; None in place of one that is too large to be counted with, such as the perplexity
    of a model that diverged."""
    return None if isinstance(value, float) and abs(value) > LARGEST else value


def _shown(line: bytes, key: str = "") -> str:
    """The part of a line that is wrong, for people."""
    start = max(0, line.find(f'"{key}"'.encode())) if key else 0
    return printable(repr(line[start : start + 60])[1:])


def canonical(content: object) -> str:
    """JSON with one spelling: equal content, equal text."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(content: object) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()
