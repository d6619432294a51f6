"""What campaign.json says: what was chosen, by which dlbench it was run, on which machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from dlbench.formats import check_version
from dlbench.monitor.rate import DEFAULT_HZ
from dlbench.planning.choices import Choices

VERSION = 1


@dataclass(frozen=True)
class CampaignAbout:
    """The content of campaign.json."""

    id: str
    dlbench: str = ""
    """The version of dlbench that ran it."""
    bench: str = ""
    """The digest of the program that its trials ran."""
    suite: str = ""
    command: tuple[str, ...] = ()
    choices: Choices = field(default_factory=Choices)
    engine: str = ""
    hz: float = DEFAULT_HZ
    notes: tuple[str, ...] = ()
    looks: tuple[int, ...] = ()
    """With `--until decided`: after how many repeats it was planned to look. Else empty."""
    looked: tuple[bool, ...] = ()
    """What each look that was made found: whether the leader was known."""
    origins: tuple[Mapping[str, str], ...] = ()
    """What did not ship with dlbench (running/origins.py)."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    """The fingerprint (host/machine.py), as it was recorded."""
    machines: tuple[Mapping[str, Any], ...] = ()
    """Those of a merged campaign."""
    merged: tuple[CampaignAbout, ...] = ()
    """The campaigns that it was merged of."""

    @property
    def looks_left(self) -> bool:
        """Whether it goes on until the leader is known."""
        return len(self.looked) < len(self.looks) and not any(self.looked)

    def to_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {"v": VERSION}
        content |= {each.name: getattr(self, each.name) for each in fields(self)}
        content["choices"] = self.choices.to_json()
        content["merged"] = [part.to_json() for part in self.merged]
        if not self.merged:
            del content["machines"], content["merged"]
        return content

    @classmethod
    def from_json(
        cls, content: Mapping[str, Any], file: Path | str = "campaign.json"
    ) -> CampaignAbout:
        """From the content of `file`; keys that this version does not know are left out."""
        check_version(content, VERSION, file)
        return cls(
            id=str(content["id"]),
            dlbench=str(content.get("dlbench", "")),
            bench=str(content.get("bench", "")),
            suite=str(content.get("suite", "")),
            command=tuple(str(word) for word in content.get("command") or ()),
            choices=Choices.from_json(content.get("choices") or {}),
            engine=str(content.get("engine", "")),
            hz=float(content.get("hz", DEFAULT_HZ)),
            notes=tuple(str(note) for note in content.get("notes") or ()),
            looks=tuple(int(repeats) for repeats in content.get("looks") or ()),
            looked=tuple(bool(known) for known in content.get("looked") or ()),
            origins=tuple(dict(origin) for origin in content.get("origins") or ()),
            machine=dict(content.get("machine") or {}),
            machines=tuple(dict(machine) for machine in content.get("machines") or ()),
            merged=tuple(cls.from_json(part, file) for part in content.get("merged") or ()),
        )
