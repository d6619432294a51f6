"""Which confounds each contender of a plan gets: those of `--as published`, those of `--confound`.

`--as intended` is a contender without any; `--as published` has what its framework had in the code
of the suite's study; each `--confound` is put into every contender by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dlbench.confounds.catalog import canonical
from dlbench.errors import UserError, check_known
from dlbench.planning.altered import check, model_of
from dlbench.planning.choices import Choices
from dlbench.statistics.words import listing

if TYPE_CHECKING:
    from dlbench.studies.claims import Study

INTENDED, PUBLISHED = "intended", "published"


class ConfoundSets:
    """The sets of a campaign; what had to be left out is added to the notes."""

    def __init__(self, choices: Choices, suite: str, notes: list[str]) -> None:
        for word in choices.models:
            check_known("way to run a study", word, (INTENDED, PUBLISHED))
        self._notes = notes
        self._alone = tuple(dict.fromkeys(canonical(text.split("+")) for text in choices.confounds))
        self._study = _study(suite) if PUBLISHED in choices.models else None
        plain = not self._alone and not choices.models
        self._intended = plain or INTENDED in choices.models
        self._used: set[tuple[str, ...]] = set()
        self._refused: dict[tuple[str, ...], str] = {}
        self._published = False
        self._missing: dict[tuple[str, str], list[str]] = {}

    def of(
        self, workload: str, release: str, variant: str, changes: tuple[str, ...]
    ) -> list[tuple[str, ...]]:
        """The sets of one contender on one workload, each once."""
        sets: list[tuple[str, ...]] = [()] if self._intended else []
        if self._study is not None:
            sets.append(self._as_published(self._study, workload, release, variant, changes))
        for one in self._alone:
            if why := check(workload, changes, one):
                self._refused.setdefault(one, why)
                self._note(f"{why} Left out.")
            else:
                self._used.add(one)
                sets.append(one)
        return list(dict.fromkeys(sets))

    def check_used(self) -> None:
        """Refuse what changes nothing anywhere; note what could not be put back."""
        for (workload, missing), into in self._missing.items():
            self._note(f"Not put back into {listing(into)} on {workload}: {missing}.")
        for one in self._alone:
            if one not in self._used and one in self._refused:
                raise UserError(self._refused[one], "`dlbench list confounds` says what each does.")
        if self._study is not None and not self._published:
            raise UserError(
                f"Of {self._study.name} nothing is known that could be put back into these"
                " contenders.",
                f"Leave out --as published; `dlbench show suite {self._study.name}` says more.",
            )

    def _as_published(
        self, study: Study, workload: str, release: str, variant: str, changes: tuple[str, ...]
    ) -> tuple[str, ...]:
        framework = study.framework_of(release, variant)
        if framework is None:
            self._note(f"{release} is not in {study.name}: nothing is put back into it.")
            return ()
        confounds = canonical(study.confounds_of(framework.name, workload))
        if confounds:
            self._published = True
            model_of(workload, changes, confounds)  # refuses what does not apply
        else:
            self._note(
                f"As published, {release} on {workload} is as intended: nothing is put back."
            )
        if missing := study.not_put_back(framework.name, workload):
            into = self._missing.setdefault((workload, listing(list(missing))), [])
            into += [release] if release not in into else []
        return confounds

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)


def _study(suite: str) -> Study:
    from dlbench.studies import reading

    if suite not in reading.names():
        raise UserError(
            f"The suite {suite} is not a published study: --as published has nothing to put back.",
            f"Choose --suite {'|'.join(reading.names())}, or name a confound with --confound.",
        )
    return reading.find(suite)
