"""What campaign.json says, of this version and of others."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from dlbench.campaigns.campaign_file import CampaignAbout
from dlbench.errors import UserError
from dlbench.monitor.gpu import GpuCard
from dlbench.planning.choices import Choices

ABOUT = CampaignAbout(
    id="abc", dlbench="1.0", suite="quick", command=("dlbench", "run"), engine="docker", hz=5.0,
    choices=Choices(frameworks=("numpy",), hz=5.0), notes=("a note",), machine={"digest": "d"},
)  # fmt: skip


def again(about: CampaignAbout) -> CampaignAbout:
    return CampaignAbout.from_json(json.loads(json.dumps(about.to_json())))


def test_what_is_written_is_read() -> None:
    assert again(ABOUT) == ABOUT
    assert not {"machines", "merged"} & ABOUT.to_json().keys()


def test_a_merged_one_keeps_its_parts() -> None:
    merged = CampaignAbout("m", machines=({"digest": "d"}, {"digest": "e"}), merged=(ABOUT, ABOUT))
    assert again(merged) == merged
    assert again(merged).merged[0].choices == ABOUT.choices


def test_unknown_and_missing_keys_are_no_error() -> None:
    about = CampaignAbout.from_json({"v": 1, "id": "abc", "invented_later": 1})
    assert about == CampaignAbout("abc")


def test_another_version_is_refused_by_the_name_of_the_file() -> None:
    with pytest.raises(UserError, match=r"c/campaign\.json has format version 2"):
        CampaignAbout.from_json({"v": 2, "id": "abc"}, Path("c/campaign.json"))


def test_how_the_machine_s_gpus_were_is_read_again() -> None:
    """It has to stand beside the numbers: a GPU in use makes times longer."""
    card = asdict(GpuCard(
        name="A card", memory_bytes=8 << 30, compute="8.6", processes=2, persistence=True,
        ecc=False, clock_mhz=1410, clock_limit_mhz=1980, index=1, digest="0123456789abcdef",
    ))  # fmt: skip
    assert None not in card.values()  # a new field needs a value here, and a reader
    about = CampaignAbout("abc", machine={"digest": "d", "gpus": [card, "invented"]})
    assert again(about) == about
