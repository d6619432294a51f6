"""One file that holds a campaign, with a checksum for every member."""

from __future__ import annotations

from pathlib import Path


def campaign_folder(path: Path) -> Path:
    """The campaign's folder: the path itself, or what an archive holds."""
    return path
