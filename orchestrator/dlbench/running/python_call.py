"""`dlbench.run(...)`: a campaign started from Python instead of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

from dlbench.analysis.results import Results, open_results
from dlbench.campaigns.folder import Campaign
from dlbench.errors import UserError, check_known
from dlbench.planning.changes import written
from dlbench.planning.choices import Choices, Names
from dlbench.planning.extension import refuse_ignored
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.campaign_run import resume as go_on
from dlbench.running.campaign_run import start
from dlbench.running.workshop import open_workshop
from dlbench.shapes import WrongValue


def run_from_python(
    releases: Sequence[str],
    out: str | os.PathLike[str] | None,
    resume: str | os.PathLike[str] | None,
    observer: CampaignObserver | None,
    choices: Mapping[str, Any],
) -> Results:
    chosen = chosen_in_python(releases, choices)
    seen = observer or CampaignObserver()
    if resume is not None:
        refuse_ignored(frozenset(choices))
        began = Campaign.open(Path(resume)).about().engine
        finished = go_on(Path(resume), open_workshop(began), seen, chosen)
    else:
        place = Path(out) if out is not None else None
        finished = start(
            chosen, open_workshop(chosen.engine), place, seen, command=("dlbench.run",)
        )
    if finished.interrupted:
        raise KeyboardInterrupt(
            f"Finish it with dlbench.run(resume={str(finished.campaign.folder)!r})"
        )
    return open_results(finished.campaign.folder)


def chosen_in_python(releases: Sequence[str], choices: Mapping[str, Any]) -> Choices:
    """A single name may stand where several are possible, a number where an option has words."""
    known = get_type_hints(Choices)
    for name in choices:
        check_known("choice", name, known)
    values = {name: _plain(value, known[name]) for name, value in choices.items()}
    more = values.get("frameworks", [])
    values["frameworks"] = [*releases, *(more if isinstance(more, list) else [more])]
    try:
        return Choices.from_json(values)
    except WrongValue as error:
        raise UserError(
            f"dlbench.run can't take these choices: {error}.",
            "`dlbench run --help` says what each of them may be.",
        ) from error


def _plain(value: Any, hint: object) -> Any:
    """As campaign.json would have it: texts are read like the command line's."""
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if hint == Names:
        if isinstance(value, Mapping):  # of a sweep
            return [f"{field}={_listed(own)}" for field, own in value.items()]
        return list(value) if several else [value] if isinstance(value, str) else value
    if hint in (str, str | None) and (several or type(value) in (int, float)):
        return _listed(value)
    return value


def _listed(values: Any) -> str:
    """`1,8,32`"""
    several = isinstance(values, Iterable) and not isinstance(values, str)
    return ",".join(map(written, values if several else [values]))
