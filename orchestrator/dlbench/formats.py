"""The host's side of bench/FORMATS.md: jobs written, events checked."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypedDict

from dlbench.errors import UserError

VERSION = 1
"""Of jobs and events."""
LONGEST_LINE = 4 << 20

_EVENTS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "hello": {"bench": str, "python": str, "pid": int},
    "phase": {"phase": str, "seconds": (int, float)},
    "stack": {"framework": str, "version": str},
    "model": {"parameters": int, "weights_sha256": str, "path": dict},
    "progress": {"epoch": int, "step": int, "steps": int},
    "epoch": {
        "epoch": int,
        "loss": (int, float),
        "steps_ms": list,
        "metrics": dict,
        "train_s": (int, float),
        "first": int,
    },
    "check": {"name": str, "passed": bool},
    "result": {"metrics": dict, "loss": (int, float), "epochs": int, "steps": int, "samples": int},
    "error": {"outcome": str, "message": str},
    "end": {},
}


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
    save: bool


def check_version(
    content: Mapping[str, Any], known: int, file: Path | str, *, missing: int | None = None
) -> None:
    """Refuse a file of a version that this dlbench does not know.

    `missing` is the version of files that carry none; None: each must carry one.
    """
    version = content.get("v", missing)
    if version != known:
        raise UserError(
            f"{file} has format version {version}; this dlbench reads version {known}.",
            "Open it with the dlbench that wrote it, or with a newer one.",
        )


def known_fields(kind: type[Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """What `content` says of the fields of a data class; keys of other versions are left out."""
    return {each.name: content[each.name] for each in fields(kind) if each.name in content}


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
    """An event from its line, its time as written."""
    if len(line) > LONGEST_LINE:
        raise BadEvent(f"a line of {len(line):,} bytes; at most {LONGEST_LINE:,} are allowed")
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadEvent(f"a line that is not JSON: {line[:60]!r}") from error
    if not isinstance(content, dict) or content.get("v") != VERSION:
        raise BadEvent(f"a line that is not of version {VERSION}: {line[:60]!r}")
    kind, t = content.pop("event", None), content.pop("t", None)
    content.pop("v")
    keys = _EVENTS.get(kind) if isinstance(kind, str) else None
    if keys is None or isinstance(t, bool) or not isinstance(t, int | float):
        raise BadEvent(f"an unknown event: {line[:60]!r}")
    for key, kinds in keys.items():
        value = content.get(key)
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise BadEvent(f"event {kind!r} with a wrong {key!r}: {line[:60]!r}")
    if kind == "epoch" and not all(_is_time(value) for value in content["steps_ms"]):
        raise BadEvent("step times that are not times")
    assert isinstance(kind, str)
    return Event(float(t), kind, content)


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0


def canonical(content: object) -> str:
    """JSON with one spelling: equal content, equal text."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(content: object) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()
