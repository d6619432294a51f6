"""How the report writes numbers."""

from __future__ import annotations


def written(value: float | None, digits: int = 3) -> str:
    """A number with as many digits as help: 0.0123, 1.23, 123, 12,345."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    decimals = digits - 1
    while size >= 10 and decimals > 0:
        size, decimals = size / 10, decimals - 1
    while 0 < size < 1 and decimals < 6:
        size, decimals = size * 10, decimals + 1
    return f"{value:.{decimals}f}"


def span(low: str, high: str, is_range: bool) -> str:
    """An interval, or the range of runs that are too few for one."""
    return f"({low} to {high})" if is_range else f"[{low}, {high}]"
