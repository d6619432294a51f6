"""What is wrong in files of annotations: all of it is looked for, and said at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from dlbench.errors import UserError
from dlbench.plain_json import printable

_MOST_SAID = 20


@dataclass
class Problems:
    """Collects problems, of which the first are kept and all are counted."""

    said: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, place: str, problem: str) -> None:
        """`place` names the file, and the line or the entry in it."""
        self.count += 1
        if len(self.said) < _MOST_SAID:
            self.said.append(f"{place}: {printable(problem, 200)}")

    def refuse_any(self, what: str) -> None:
        """Raises the error that names them, if there are any: nothing is left out silently."""
        if not self.count:
            return
        several = f"{self.count:,} problems" if self.count > 1 else "1 problem"
        first = f" (the first {_MOST_SAID})" if self.count > _MOST_SAID else ""
        lines = "".join(f"\n  {one}" for one in self.said)
        raise UserError(
            f"{what} can't be used: {several}{first}:{lines}\n",
            "Correct or remove what is named, or get another copy: nothing is left out silently.",
        )
