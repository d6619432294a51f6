"""JSON that somebody else wrote, read within limits: bench/FORMATS.md states them under *Limits*.

What is returned can be added up, shown, and written again. Numbers that are not finite become
None; text is valid Unicode without control characters, and cut where it is too long. Whatever no
honest program writes (a number of 400 digits, a thousand lists inside each other) is `NotPlain`.
"""

from __future__ import annotations

import json
import math
import unicodedata
from typing import Any

LARGEST = 1e100
"""The largest number: millions of them can be added and squared."""
LARGEST_WHOLE = 2**63 - 1
"""The largest whole number, written without a point."""
DEEPEST = 32
"""How many lists and objects may stand inside each other."""
LONGEST_TEXT = 16_384
"""Characters. Longer text is cut."""
LONGEST_KEY = 256


class NotPlain(ValueError):
    """Something that no honest program writes; the message says what, as in "It holds …"."""


def parse_json(text: bytes | str) -> Any:
    """What the text says, as `plain` has it."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotPlain("what is not JSON") from error
    return plain(content)


def plain(value: Any, levels: int = DEEPEST) -> Any:
    """The same value within the limits, or `NotPlain`; from `json.loads` or for `json.dumps`."""
    if isinstance(value, str):
        return printable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if not levels:
        raise NotPlain(f"lists or objects more than {DEEPEST} levels deep")
    if isinstance(value, list | tuple):
        return value if _are_numbers(value) else [plain(item, levels - 1) for item in value]
    return {_key(key): plain(item, levels - 1) for key, item in value.items()}


def printable(text: str, longest: int = LONGEST_TEXT) -> str:
    """The text with each control character, lone surrogate and the like as its escape, cut."""
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in "\n\t" or unicodedata.category(each) == "Zs"
        else ascii(each)[1:-1]
        for each in text
    )  # fmt: skip


def _key(key: str) -> str:
    if len(key) > LONGEST_KEY or not key.isprintable():
        raise NotPlain(f"a key that is too long or can't be printed: {printable(key, 60)}")
    return key


def _number(value: int | float) -> int | float | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if abs(value) > (LARGEST if isinstance(value, float) else LARGEST_WHOLE):
        raise NotPlain("a number that is too large")
    return value


def _are_numbers(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether all are numbers within the limits. Quick: there may be millions of them."""
    if not set(map(type, values)) <= {int, float}:
        return False
    within = not values or (min(values) >= -LARGEST_WHOLE and max(values) <= LARGEST_WHOLE)
    return within and math.isfinite(sum(values))  # one that is not a number makes such a sum
