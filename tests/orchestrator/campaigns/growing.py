"""Campaigns that grow while they are looked at, as if another process wrote them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from dlbench.campaigns.folder import Campaign

ROOT = Path(__file__).resolve().parents[3]


def made(folder: Path) -> Path:
    """A campaign of four trials that have ended."""
    command = [sys.executable, ROOT / "scripts/make_campaign.py", folder]
    options = ["--trials", "100", "--steps", "20", "--samples", "10"]
    subprocess.run([*command, *options], check=True, capture_output=True)
    plan = (folder / "plan.jsonl").read_text().splitlines()[:4]
    (folder / "plan.jsonl").write_text("\n".join(plan) + "\n")
    return folder


def held_back(campaign: Path, number: int) -> list[Path]:
    """The last trials, taken out of the campaign."""
    aside = campaign.parent / "aside"
    aside.mkdir()
    taken = []
    for trial in Campaign(campaign).trials()[-number:]:
        target = aside / trial.id
        shutil.move(campaign / "trials" / trial.id, target)
        taken.append(target)
    return taken


def grow(campaign: Path, source: Path) -> None:
    """A trial as its orchestrator writes it: folder and events first, trial.json last."""
    folder = campaign / "trials" / source.name
    folder.mkdir()
    for name in ("events.jsonl", "samples.jsonl"):
        with (folder / name).open("ab") as file:
            for line in (source / name).read_bytes().splitlines(keepends=True):
                file.write(line)
                file.flush()
    time.sleep(0.7)
    (folder / ".trial.json.new").write_bytes((source / "trial.json").read_bytes())
    (folder / ".trial.json.new").rename(folder / "trial.json")
