"""Tables of plain text that fit the terminal and never cut a number.

Where there is not enough room, columns of words are wrapped, then columns that matter least are
left out and named below, then each row is written as lines of its own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len

_GAP = 2
_NO_BREAK = "\N{NO-BREAK SPACE}"
_NARROWEST = 16
"""A column of words is wrapped to no less than this."""


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    droppable: Sequence[str] = (),
) -> list[str]:
    """The lines of a table. A column that begins with `>` holds numbers, set to the right.

    `width`: None has room for everything. `droppable`: columns by their headings, the one that
    matters least first.
    """
    shown = list(range(len(columns)))
    dropped: list[str] = []
    for heading in (None, *droppable):
        if heading is not None:
            at = [i for i in shown if _heading(columns[i]) == heading]
            shown = [i for i in shown if i not in at]
            dropped += [heading] if at else []
        picked = [columns[i] for i in shown]
        cells = [[row[i] for i in shown] for row in rows]
        widths = _fitting(picked, cells, width)
        if widths is not None:
            return [*_set(picked, cells, widths), *_left_out(dropped, width)]
    return _stacked(columns, rows, width or 80)


def _heading(column: str) -> str:
    return column.removeprefix(">")


def _left_out(dropped: Sequence[str], width: int | None) -> list[str]:
    if not dropped:
        return []
    text = f"Left out for lack of room: {', '.join(dropped)}. A wider terminal shows them."
    return textwrap.wrap(text, width or 80)


def _fitting(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int | None
) -> list[int] | None:
    """The width of each column; None where they do not fit, however words are wrapped."""
    natural = [
        max(cell_len(_heading(column)), *(cell_len(row[i]) for row in rows), 0)
        for i, column in enumerate(columns)
    ]
    excess = sum(natural) + _GAP * (len(columns) - 1) - (width or sum(natural) * 2 + 1000)
    # the last columns of words give way first; the first column is a name and stays whole
    for i in reversed(range(1, len(columns))):
        if excess > 0 and not columns[i].startswith(">"):
            longest = [cell_len(word) for row in rows for word in row[i].split()]
            least = max(_NARROWEST, cell_len(_heading(columns[i])), *longest, 0)
            give = min(excess, max(0, natural[i] - least))
            natural[i] -= give
            excess -= give
    return None if excess > 0 else natural


def _set(columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    right = [column.startswith(">") for column in columns]
    lines: list[str] = []
    for row in ([_heading(column) for column in columns], *rows):
        cells = [
            [cell] if cell_len(cell) <= widths[i] else textwrap.wrap(cell, widths[i]) or [""]
            for i, cell in enumerate(row)
        ]
        for number in range(max(map(len, cells), default=0)):
            pieces = [
                _padded(cell[number] if number < len(cell) else "", widths[i], right[i])
                for i, cell in enumerate(cells)
            ]
            lines.append((" " * _GAP).join(pieces).rstrip())
    return lines


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def _stacked(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Each row in lines of its own: its name, then `heading value` after `heading value`."""
    lines: list[str] = []
    for row in rows:
        pairs = list(zip(columns, row, strict=True))[1:]
        # a line must not end between a number and its unit
        pieces = [
            f"{_heading(column)} {cell}".replace(" ", _NO_BREAK if column.startswith(">") else " ")
            for column, cell in pairs
            if cell
        ]
        whole = ", ".join(pieces)
        wrapped = textwrap.wrap(whole, max(width - _GAP, 10), break_long_words=False)
        lines += [row[0], *(f"  {line.replace(_NO_BREAK, ' ')}" for line in wrapped)]
    return lines
