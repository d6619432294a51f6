"""What alpha is a rate of: each question by itself, or a whole report.

A question is a family of tests with an alpha of its own (`CampaignComparison.questions`): a metric
on a workload, a history, a ranking.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dlbench.analysis.results import Results
from dlbench.errors import UserError, check_known
from dlbench.statistics.looks import alpha_at_look
from dlbench.statistics.words import percent

OVER = ("workload", "report")
"""The values of --alpha-over."""


@dataclass(frozen=True)
class ErrorRate:
    """How often a difference may be claimed where there is none."""

    alpha: float
    over_report: bool = False

    def of_each(self, results: Results, columns: Iterable[str], by: str = "release") -> float:
        """The alpha of each question: over a report it is shared equally by all of them."""
        if not self.over_report:
            return self.alpha
        first = [results.compare(one, by, self.alpha, stability=False) for one in columns]
        return self.alpha / max(1, sum(comparison.questions for comparison in first))

    def sentence(self, questions: int) -> str:
        """What the rate means where so many questions were answered; empty if there are none."""
        rate = percent(self.alpha)
        if not questions:
            return ""
        if self.over_report:
            return (
                f"At most {rate} of such reports say anywhere that there is a difference where"
                " there is none."
            )
        if questions == 1:
            return f"Where nothing differs, a difference is claimed in at most {rate} of cases."
        any_of_them = percent(1 - (1 - self.alpha) ** questions)
        return (
            f"Where nothing differs, each of these {questions} questions (a metric on a workload,"
            f" a history, a ranking) is answered wrongly in at most {rate} of cases, any of them in"
            f" up to {any_of_them}. `--alpha-over report` keeps all of them together within {rate}."
        )


def check_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise UserError(f"An alpha of {alpha:g} is not possible.", "Give one between 0 and 1.")


def error_rate(results: Results, alpha: float, over: str, look: int | None = None) -> ErrorRate:
    """The rate that was asked for: what is left of alpha for this look.

    Of looks that a campaign planned (`--until decided`), it knows itself."""
    check_known("value of --alpha-over", over, OVER)
    check_alpha(alpha)
    if look is not None and look < 1:
        raise UserError(f"There is no look {look}.", "Count them from 1.")
    share = results.share(alpha) if look is None else alpha_at_look(alpha, look)
    return ErrorRate(share, over == "report")
