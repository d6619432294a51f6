"""How commands print: tables for people, JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def stdout() -> Console:
    from rich.console import Console

    # in a pipe nothing is broken or cut: whoever reads it has no width
    return Console(highlight=False, width=None if sys.stdout.isatty() else 220)


def print_json(content: Any) -> None:
    print(json.dumps(content, indent=1, default=str))


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str = "",
    droppable: Sequence[str] = (),
) -> None:
    """A plain table (cli/tables.py), as wide as the terminal allows."""
    from dlbench.cli.tables import table_lines

    console = stdout()
    if title:
        say(title)
    for line in table_lines(columns, rows, width(), droppable):
        if line:
            console.print(line, markup=False, no_wrap=True, crop=False, overflow="ignore")


def print_rows(
    rows: Iterable[T],
    columns: Mapping[str, Callable[[T], object]],
    title: str = "",
    droppable: Sequence[str] = (),
) -> None:
    """A table with a line for each row: under each heading what its function says of the row."""
    cells = [[_cell(of(row)) for of in columns.values()] for row in rows]
    print_table(list(columns), cells, title, droppable)


def _cell(value: object) -> str:
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)


def width() -> int | None:
    """Of the terminal; None in a pipe: whoever reads it has no width."""
    return stdout().width if sys.stdout.isatty() else None


def folded(text: str, indent: int, columns: int | None) -> str:
    """A sentence in lines of a terminal, those after the first indented; whole without columns."""
    import textwrap

    if columns is None:
        return text
    return "\n".join(
        textwrap.fill(
            line, max(columns, indent + 20), subsequent_indent=" " * indent,
            break_long_words=False, break_on_hyphens=False,
        )
        for line in text.split("\n")
    )  # fmt: skip


def say(
    text: str, style: str | None = None, *, whole: bool = False, indent: int | None = None
) -> None:
    """A sentence, broken between words where the terminal ends; `whole`: a command to be copied.

    `indent`: of the lines after the first."""
    console = stdout()
    if indent is not None:
        text = folded(text, indent, width())
    console.print(text, markup=False, soft_wrap=whole or not console.is_terminal, style=style)


def megabytes(count: float | None) -> str:
    return "-" if count is None else f"{count / 1e6:,.0f} MB"


def seconds(value: float | None) -> str:
    """A duration as people read it."""
    if value is None:
        return "-"
    if value < 59.95:
        return f"{value:.1f} s" if value >= 0.95 else f"{1000 * value:.0f} ms"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min"
