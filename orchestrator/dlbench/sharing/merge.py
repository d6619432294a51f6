"""`dlbench merge`: the trials of several campaigns in one folder, each where it came from.

A trial's id says what was run, not where: two machines that ran the same suite have the same ids.
Both are kept, the second under an id with its machine's digest. The same trial of the same machine
must have the same measurements, to the last digit: otherwise it is unclear which one is meant.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dlbench import __version__
from dlbench.campaigns.array_file import open_array
from dlbench.campaigns.campaign_file import CampaignAbout
from dlbench.campaigns.certificate_file import read_certificate
from dlbench.campaigns.plain_files import ARRAYS, RESULT, TEXTS, read_file
from dlbench.campaigns.plan_file import PlannedTrial
from dlbench.campaigns.sources import CampaignSource, machines, open_source
from dlbench.campaigns.trial_file import read_trial
from dlbench.campaigns.trial_result import VERSION
from dlbench.errors import UserError
from dlbench.formats import digest
from dlbench.planning.trial import MOST_TRIALS
from dlbench.whole_files import whole_folder, write_json, write_whole

_MEASURED = ("started", "outcome", "wall_s", "metrics", "resources", "curve", "phases", "scale")


@dataclass(frozen=True)
class MergeSummary:
    folder: Path
    trials: int
    twice: int
    """Trials that were in more than one of the campaigns and are kept once."""
    unfinished: int
    """Trials that were planned and had not ended: left out."""
    machines: int


@dataclass
class _NewCampaign:
    """What has been put into the new campaign so far."""

    trials: dict[tuple[str, str], tuple[Path, str]] = field(default_factory=dict)
    """(the id of what was run, the machine): where it came from, and its digest."""
    names: set[str] = field(default_factory=set)
    plan: list[dict[str, Any]] = field(default_factory=list)
    twice: int = 0
    unfinished: int = 0


def merge(campaigns: Sequence[Path], out: Path) -> MergeSummary:
    """Write a campaign that holds the ended trials of all of them."""
    if len(campaigns) < 2:
        raise UserError("There is nothing to merge.", "Name two campaigns at least.")
    sources = [open_source(path) for path in campaigns]
    kept = _NewCampaign()
    every = machines(sources)
    with whole_folder(out) as making:
        (making / "trials").mkdir()
        (making / "certificates").mkdir()
        for source in sources:
            _add(source, making, kept)
        if len(kept.plan) > MOST_TRIALS:
            raise UserError(
                f"Together they have {len(kept.plan):,} trials; a campaign has at most"
                f" {MOST_TRIALS:,}.",
                "Merge fewer of them.",
            )
        plan = "".join(json.dumps(line) + "\n" for line in kept.plan)
        write_whole(making / "plan.jsonl", plan)
        write_json(making / "campaign.json", _about(sources, every, kept).to_json())
    return MergeSummary(out, len(kept.plan), kept.twice, kept.unfinished, len(every))


def _about(
    sources: Sequence[CampaignSource], every: dict[str, dict[str, Any]], kept: _NewCampaign
) -> CampaignAbout:
    """The first campaign's, with what is known of all of them."""
    suites = dict.fromkeys(source.about.suite for source in sources)
    notes = [note for source in sources for note in source.about.notes]
    if kept.unfinished:
        notes.append(f"{kept.unfinished} trials had not ended and were left out.")
    return replace(
        sources[0].about,
        id=digest([source.id for source in sources])[:12],
        dlbench=__version__,
        suite=" + ".join(suites),
        command=("dlbench", "merge"),
        notes=tuple(dict.fromkeys(notes)),
        machines=tuple(every.values()),
        merged=tuple(one for each in sources for one in each.about.merged or (each.about,)),
    )


def _add(source: CampaignSource, making: Path, kept: _NewCampaign) -> None:
    renamed: dict[str, str] = {}
    for planned in source.planned:
        content = read_trial(planned.folder)
        if content is None:
            kept.unfinished += 1
            continue
        machine = content.get("machine", "")
        what = planned.id.partition("-")[0]
        same = _digest(planned, content)
        if (what, machine) in kept.trials:
            other, known = kept.trials[what, machine]
            if known != same:
                raise UserError(
                    f"Trial {what} was run twice on one machine, with different results:"
                    f" {other} and {planned.folder}.",
                    "Merge only one of the two campaigns; `dlbench compare` takes both.",
                )
            kept.twice += 1
            continue
        kept.trials[what, machine] = planned.folder, same
        name = _free_name(what, machine, kept.names)
        kept.names.add(name)
        key = content.get("certificate")
        if key and key not in renamed:
            renamed[key] = _certificate(source, making, key, machine)
        content |= {"id": name, "certificate": renamed.get(key or "")}
        _copy(planned, making / "trials" / name, content)
        plan = replace(planned.trial, id=name).to_json()
        kept.plan.append({**plan, "campaign": planned.campaign})


def _free_name(what: str, machine: str, taken: set[str]) -> str:
    """The id of what was run; for a second machine with the beginning of its digest."""
    if what not in taken:
        return what
    for length in range(8, 17):
        name = f"{what[:40]}-{machine[:length] or 'other'}"
        if name not in taken:
            return name
    raise UserError(
        f"Two machines whose digests begin with {machine[:16]!r} ran the trial {what}.",
        "Merge the campaigns of one of them; `dlbench compare` takes both.",
    )


def _digest(planned: PlannedTrial, content: dict[str, Any]) -> str:
    """Of what was measured. Words are left out: packing an archive takes secrets out of them."""
    own = {key: content.get(key) for key in _MEASURED}
    samples = read_file(planned.folder / "samples.jsonl") or b""
    return digest([own, hashlib.sha256(samples).hexdigest()])


def _certificate(source: CampaignSource, making: Path, key: str, machine: str) -> str:
    """Copy the proof; one of another machine that reads otherwise gets a name of its own."""
    certificate = read_certificate(source.folder / "certificates" / f"{key}.json")
    if certificate is None:
        return key
    target = making / "certificates" / f"{key}.json"
    if target.exists() and read_certificate(target) != certificate:
        key = f"{key[:40]}-{machine[:16] or 'other'}"
        target = making / "certificates" / f"{key}.json"
    write_json(target, replace(certificate, key=key).to_json())
    return key


def _copy(planned: PlannedTrial, target: Path, content: dict[str, Any]) -> None:
    (target / "out").mkdir(parents=True)
    for name in TEXTS:
        text = read_file(planned.folder / name)
        if text is not None:
            (target / name).write_bytes(text)
    for name in ARRAYS:
        array = open_array(planned.folder, name)
        if array is not None:
            with array, (target / name).open("wb") as copy:
                shutil.copyfileobj(array, copy)
    write_json(target / RESULT, {"v": VERSION, **content})
