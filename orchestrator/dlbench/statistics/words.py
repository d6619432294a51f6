"""How numbers and the lack of them are worded, so that every sentence says it in the same way."""

from __future__ import annotations

import math
from collections.abc import Sequence

TOO_FEW_RUNS = "too few runs"
TOO_FEW_TO_TELL = f"{TOO_FEW_RUNS} to tell"
"""Never to be mixed up with "not shown to differ"."""


def number(x: float, digits: int = 4) -> str:
    """A value with `digits` significant digits, never in exponents where a reader can be spared."""
    if not math.isfinite(x):
        return str(x)
    if x == 0:
        return "0"
    size = math.floor(math.log10(abs(x)))
    if -5 <= size < 9:
        text = f"{x:.{max(0, digits - 1 - size)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{x:.{digits - 1}e}"


def together(estimate: float, low: float, high: float) -> tuple[str, str, str]:
    """An estimate and its interval with equally many decimals, as many as its width earns."""
    # An interval of no width earns as many as its distance from "no difference" (0 or 1) takes.
    size = max(abs(estimate), abs(low), abs(high))
    width = high - low if high - low > 1e-9 * size else 0.0
    width = width or min(abs(estimate), abs(estimate - 1)) or 1.0
    decimals = 2
    if math.isfinite(width):
        decimals = max(2, min(6, -math.floor(math.log10(width))))
    while decimals < 6 and 0 < abs(estimate) < 0.5 * 10**-decimals:
        decimals += 1  # a difference that was seen is not written as none
    if size >= 100:
        decimals = max(0, decimals - math.floor(math.log10(size)) + 1) if math.isfinite(size) else 0
    return f"{estimate:.{decimals}f}", f"{low:.{decimals}f}", f"{high:.{decimals}f}"


def p_value(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def percent(share: float) -> str:
    return f"{number(100 * share, 3)} %"


def count(n: int, noun: str, plural: str = "") -> str:
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def listing(items: Sequence[str]) -> str:
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def some(items: Sequence[str], most: int = 6) -> list[str]:
    """So many of them one by one, the rest as a number: what can be read."""
    rest = len(items) - most
    return list(items) if rest <= 0 else [*items[:most], count(rest, "other")]
