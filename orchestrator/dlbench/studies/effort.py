"""What it takes to write a model in a framework, and to install it: a table beside a study's own.

Lines are those of mnist-cnn and its training loop as `scripts/handwritten` has them, written alike
in every framework; that folder is not part of a wheel, so its counts are here, and a test counts
again. What is installed is what the release's lock names.
"""

from __future__ import annotations

from dlbench.environments import locks, releases
from dlbench.environments.releases import Release
from dlbench.environments.targets import Target
from dlbench.errors import UserError
from dlbench.studies.claims import Study
from dlbench.studies.tables import StudyTable, TableCell

LINES_BY_HAND = {
    "chainer": 30, "jax": 34, "keras2": 23, "keras3": 23, "mxnet": 31, "paddle": 32,
    "tensorflow1": 22, "tensorflow2": 34, "theano": 41, "torch": 32,
}  # fmt: skip
"""By adapter: lines with code, without comments and docstrings."""
COLUMNS = ("lines of mnist-cnn by hand", "packages", "download, CPU", "download, GPU")


def effort_table(study: Study) -> StudyTable:
    """Of each contender's release; nothing in it was measured by trials."""
    rows = []
    for name, framework in study.frameworks.items():
        try:
            release = releases.find(framework.release)
        except UserError:  # somebody else's study may name a release that is not here
            continue
        # who trains TensorFlow with fit writes Keras
        lines = LINES_BY_HAND.get("keras2" if framework.variant == "fit" else release.adapter)
        packages, on_cpu = _installed(release, "cpu")
        cells = (
            TableCell(str(lines) if lines else ""),
            TableCell(packages),
            TableCell(on_cpu),
            TableCell(_installed(release, "gpu")[1] if "gpu" in release.devices else ""),
        )
        rows.append((name, cells))
    return StudyTable("To write and to install", COLUMNS, tuple(rows))


def _installed(release: Release, device: str) -> tuple[str, str]:
    """(packages, download) of a lock on a machine like this; empty where it has nothing for it."""
    try:
        lock = locks.read(release.lock(device))
        files = lock.files_for(Target.here(release.python[0]))
    except (UserError, OSError):
        return "", ""
    size = sum(file.size or 0 for _, file in files)
    return str(len(files)), f"{size / 1e6:,.0f} MB"
