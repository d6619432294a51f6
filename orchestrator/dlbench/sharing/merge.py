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
from dlbench.campaigns.about import CampaignAbout
from dlbench.campaigns.folder import write_whole
from dlbench.campaigns.plan_file import PlannedTrial
from dlbench.campaigns.sources import CampaignSource, machines, open_source
from dlbench.campaigns.trial_files import ARRAYS, RESULT, TEXTS
from dlbench.engines.outfolder import open_regular
from dlbench.errors import UserError, damaged
from dlbench.formats import digest
from dlbench.sharing.new_folder import whole_folder

_MEASURED = ("started", "outcome", "wall_s", "metrics", "resources", "curve", "phases", "scale")


@dataclass(frozen=True)
class MergeSummary:
    """What came of it."""

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
        plan = "".join(json.dumps(line) + "\n" for line in kept.plan)
        write_whole(making / "plan.jsonl", plan)
        about = json.dumps(_about(sources, every, kept).to_json(), indent=1)
        write_whole(making / "campaign.json", about)
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
        path = planned.folder / RESULT
        try:
            content = json.loads(path.read_bytes())
        except FileNotFoundError:
            kept.unfinished += 1
            continue
        except (ValueError, RecursionError) as error:
            raise damaged(path, error) from error
        machine = str(content.get("machine", ""))
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
        name = what if what not in kept.names else f"{what}-{machine[:8] or 'other'}"
        kept.names.add(name)
        key = content.get("certificate")
        if isinstance(key, str) and key not in renamed:
            renamed[key] = _certificate(source, making, key, machine)
        _copy(planned, making / "trials" / name, name, renamed.get(str(key)), content)
        kept.plan.append({**planned.content, "id": name, "campaign": planned.campaign})


def _digest(planned: PlannedTrial, content: dict[str, Any]) -> str:
    """Of what was measured. Words are left out: packing an archive takes secrets out of them."""
    own = {key: content.get(key) for key in _MEASURED}
    try:
        samples = (planned.folder / "samples.jsonl").read_bytes()
    except OSError:
        samples = b""
    return digest([own, hashlib.sha256(samples).hexdigest()])


def _certificate(source: CampaignSource, making: Path, key: str, machine: str) -> str:
    """Copy the proof; one of another machine that reads otherwise gets a name of its own."""
    path = source.folder / "certificates" / f"{key}.json"
    if "/" in key or key.startswith(".") or not path.is_file():
        return key
    content = path.read_bytes()
    target = making / "certificates" / f"{key}.json"
    if target.exists() and target.read_bytes() != content:
        key = f"{key}-{machine[:8]}"
        target = making / "certificates" / f"{key}.json"
    target.write_bytes(content)
    return key


def _copy(
    planned: PlannedTrial, target: Path, name: str, certificate: str | None, content: dict[str, Any]
) -> None:
    (target / "out").mkdir(parents=True)
    for path in (*TEXTS, *ARRAYS):
        try:
            # A trial may have put a link or a pipe where a file is expected.
            with open_regular(planned.folder / path) as file, (target / path).open("wb") as copy:
                shutil.copyfileobj(file, copy)
        except OSError:
            (target / path).unlink(missing_ok=True)
    if content.get("id") == name and content.get("certificate") == certificate:
        shutil.copyfile(planned.folder / RESULT, target / RESULT)
        return
    changed = {**content, "id": name, "certificate": certificate}
    (target / RESULT).write_text(json.dumps(changed, indent=1))
