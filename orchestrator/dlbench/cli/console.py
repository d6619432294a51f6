"""How commands print: tables for people, JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def stdout() -> Console:
    from rich.console import Console

    # in a pipe nothing is broken or cut: whoever reads it has no width
    return Console(highlight=False, width=None if sys.stdout.isatty() else 220)


def print_json(content: Any) -> None:
    print(json.dumps(content, indent=1, default=str))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """A plain table; numbers (columns that begin with `>`) to the right. No text is markup."""
    from rich.table import Table
    from rich.text import Text

    heading = Text(title, style="table.title") if title else None
    table = Table(title=heading, box=None, title_justify="left", pad_edge=False)
    for number, column in enumerate(columns):
        right = column.startswith(">")
        table.add_column(
            column.lstrip(">"), justify="right" if right else "left", no_wrap=right or number == 0
        )
    for row in rows:
        table.add_row(*map(Text, row))
    stdout().print(table)


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
