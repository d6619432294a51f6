"""What campaign.json says: what was chosen, by which dlbench it was run, on which machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from dlbench.formats import check_version
from dlbench.monitor.rate import DEFAULT_HZ, FASTEST_HZ, SLOWEST_HZ
from dlbench.planning.choices import Choices
from dlbench.shapes import (
    BYTES,
    COUNT,
    anything,
    either,
    flag,
    identity,
    instance_of,
    label,
    list_of,
    number,
    optional,
    record,
    table_of,
    text,
    whole,
)

VERSION = 1
_MOST_PARTS = 1000


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
    def from_json(cls, content: Any, file: Path | str = "campaign.json") -> CampaignAbout:
        """From the content of `file`, checked; keys that this version does not know are left out.

        None of the campaigns that it was merged of is a merged one."""
        check_version(content, VERSION, file)
        parts = _PARTS(content).get("merged", ())
        for part in parts:
            check_version(part, VERSION, file)
        about: CampaignAbout = _ABOUT(content)
        return replace(about, merged=tuple(map(_ABOUT, parts)))


_GPU = either(label, record({"name": optional(label), "memory_bytes": optional(BYTES),
                            "compute": optional(label), "processes": optional(whole()),
                            "persistence": optional(flag), "ecc": optional(flag),
                            "clock_mhz": optional(whole()),
                            "clock_limit_mhz": optional(whole()), "index": optional(whole()),
                            "digest": optional(identity)}))  # fmt: skip
_WORDS = (
    "architecture", "cpu_model", "governor", "kernel", "os", "virtualisation", "runtime",
    "gpu_driver",
)  # fmt: skip
_MACHINE = table_of(
    anything,
    {
        **dict.fromkeys(_WORDS, optional(label)),
        "cpu_flags": optional(list_of(label)),
        "cores_physical": optional(COUNT),
        "cores_logical": optional(COUNT),
        "cores_usable": optional(number(0.0, 1e6)),
        "turbo": optional(flag),
        "memory_bytes": optional(BYTES),
        "swap_bytes": optional(BYTES),
        "gpus": optional(list_of(_GPU)),
        "load_average": optional(number(0.0, 1e6)),
        "gpu_reason": optional(text),
        "digest": identity,
    },
)
"""Keys of other versions are kept."""
_ORIGIN = record(
    {"kind": label, "name": label, "origin": label, "digest": label},
    required=("kind", "name", "origin", "digest"),
)


_ABOUT = instance_of(
    CampaignAbout, id=identity, dlbench=label, bench=label, choices=Choices.from_json, engine=label,
    hz=number(SLOWEST_HZ, FASTEST_HZ), looks=list_of(COUNT), looked=list_of(flag),
    origins=list_of(_ORIGIN), machine=_MACHINE, machines=list_of(_MACHINE, _MOST_PARTS),
    merged=lambda _: (),
)  # fmt: skip
"""One campaign, without those that it was merged of."""
_PARTS = record({"merged": list_of(table_of(lambda part: part), _MOST_PARTS)})
