"""What it takes to install a framework: a table beside a study's own, from the releases' locks."""

from __future__ import annotations

from dlbench.environments import locks, releases
from dlbench.environments.releases import Release
from dlbench.environments.targets import Target
from dlbench.errors import UserError
from dlbench.studies.claims import Study
from dlbench.studies.tables import StudyTable, TableCell

COLUMNS = ("packages", "download, CPU", "download, GPU")


def installation_table(study: Study) -> StudyTable:
    """Of each contender's release; nothing in it was measured by trials."""
    rows = []
    for name, framework in study.frameworks.items():
        try:
            release = releases.find(framework.release)
        except UserError:  # somebody else's study may name a release that is not here
            continue
        packages, on_cpu = _installed(release, "cpu")
        cells = (
            TableCell(packages),
            TableCell(on_cpu),
            TableCell(_installed(release, "gpu")[1] if "gpu" in release.devices else ""),
        )
        rows.append((name, cells))
    return StudyTable("To install", COLUMNS, tuple(rows), of_the_study=False)


def _installed(release: Release, device: str) -> tuple[str, str]:
    """(packages, download) of a lock on a machine like this; empty where it has nothing for it."""
    try:
        lock = locks.read(release.lock(device))
        files = lock.files_for(Target.here(release.python[0]))
    except (UserError, OSError):
        return "", ""
    size = sum(file.size or 0 for _, file in files)
    return str(len(files)), f"{size / 1e6:,.0f} MB"
