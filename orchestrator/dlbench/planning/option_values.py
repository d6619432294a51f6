"""What is written behind options of `dlbench run` in words: times, sizes, threads, GPUs."""

from __future__ import annotations

import re

from dlbench.errors import UserError
from dlbench.planning.points import MOST_THREADS
from dlbench.shapes import shown

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MOST_SECONDS = 1000 * 86400.0
_LEAST_MEMORY = 6 * 2**20
_MOST_MEMORY = 1 << 50


def duration(text: str) -> float:
    """Seconds of `90`, `90s`, `15m`, `24h` or `2d`."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(s|m|h|d)?", text.strip())
    found = float(match[1]) * _UNITS_S[match[2] or "s"] if match else 0.0
    if not 0 < found <= _MOST_SECONDS:
        raise UserError(
            f"{shown(text)} is not a time that a trial can take.",
            "Write it as 90s, 15m, 24h or 2d, up to 1000d.",
        )
    return found


def size(text: str) -> int:
    """Bytes of `512m`, `4g` or a plain number."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt])?i?b?", text.strip().lower())
    found = float(match[1]) * 1024 ** " kmgt".index(match[2] or " ") if match else 0.0
    if not _LEAST_MEMORY <= found <= _MOST_MEMORY:
        raise UserError(
            f"{shown(text)} is not an amount of memory that a trial can have.",
            "Write it as 512m or 4g, from 6m (the least that Docker gives) up to 1024t.",
        )
    return int(found)


def threads(text: str, setting: str, allotted: int) -> int | None:
    """None leaves the framework's own defaults alone, which is what `native` is about."""
    if text == "default":
        return allotted if setting == "matched" else None
    found = int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
    if not 1 <= found <= MOST_THREADS:
        raise UserError(
            f"--threads {shown(text)} is not possible.",
            f"Give `default` or a number from 1 to {MOST_THREADS:,}.",
        )
    return found


def parse_gpus(text: str | None) -> tuple[str, ...]:
    """The GPUs of `all`, `0,1` or a UUID; nothing said means all."""
    if text is None or text == "none":
        return ("all",)
    chosen = tuple(part.strip() for part in text.split(",") if part.strip())
    for part in chosen or (text,):
        if not re.fullmatch(
            r"(nvidia\.com/gpu=)?(all|[0-9]{1,4}|(GPU|MIG)-[A-Za-z0-9/-]{1,100})", part
        ):
            raise UserError(
                f"{shown(part)} does not name a GPU.",
                "Give all, each, none, indices such as 0,1, or a UUID.",
            )
    return chosen
