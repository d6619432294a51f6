"""What it takes to install a framework and to write for it: a table beside a study's own, from the
releases' locks and from what `scripts/count_code.py` counted."""

from __future__ import annotations

import csv
from pathlib import Path

from dlbench.environments import locks, releases
from dlbench.environments.releases import Release
from dlbench.environments.targets import Target
from dlbench.errors import UserError
from dlbench.studies.claims import Study
from dlbench.studies.tables import StudyTable, TableCell

COLUMNS = ("packages", "download, CPU", "download, GPU", "words of code")
_BY_HAND = Path(__file__).with_name("by_hand.csv")


def installation_table(study: Study) -> StudyTable:
    """Of each contender's release; nothing in it was measured by trials."""
    with _BY_HAND.open(newline="") as file:
        by_hand = {row["adapter"]: row for row in csv.DictReader(file)}
    rows, counted = [], max(row["counted"] for row in by_hand.values())
    for name, framework in study.frameworks.items():
        try:
            release = releases.find(framework.release)
        except UserError:  # somebody else's study may name a release that is not here
            continue
        packages, on_cpu = _installed(release, "cpu")
        usual = framework.variant in (None, release.variants[0])
        cells = (
            TableCell(packages),
            TableCell(on_cpu),
            TableCell(_installed(release, "gpu")[1] if "gpu" in release.devices else ""),
            TableCell(
                by_hand[release.adapter]["words"] if usual and release.adapter in by_hand else ""
            ),
        )
        rows.append((name, cells))
    note = (
        "Measured by no trial: packages and downloads of each release, and the names, numbers and"
        f" texts of mnist-cnn and one training step as dlbench's authors wrote it ({counted})."
    )
    return StudyTable("To install and to write", COLUMNS, tuple(rows), note)


def _installed(release: Release, device: str) -> tuple[str, str]:
    """(packages, download) of a lock on a machine like this; empty where it has nothing for it."""
    try:
        lock = locks.read(release.lock(device))
        files = lock.files_for(Target.here(release.python[0]))
    except (UserError, OSError):
        return "", ""
    size = sum(file.size or 0 for _, file in files)
    return str(len(files)), f"{size / 1e6:,.0f} MB"
