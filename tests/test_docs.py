"""The pages of docs/ and the README name files that exist, and link to pages and headings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
BASES = (ROOT, ROOT / "orchestrator/dlbench", ROOT / "bench", ROOT / "bench/adapters")
FILE = re.compile(r"`([\w./-]+\.(?:py|md|js|toml)|[\w./-]+/)`")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([\w-]+))?\)")
MADE = {"release.toml", "cpu.lock", "results/", "out/", "out/native/", "dist/"}
"""What a user makes, or what is in a campaign: not files of this repository."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    missing = []
    for name in FILE.findall(page.read_text(encoding="utf-8")):
        if name in MADE or name.startswith("dlbench/_bundle/"):
            continue
        # a name alone, such as `margins.py`, must be the name of some file
        there = any((base / name).exists() for base in BASES) or (
            "/" not in name.rstrip("/") and any(ROOT.glob(f"[!.]*/**/{name.rstrip('/')}"))
        )
        if not there:
            missing.append(name)
    assert not missing


def _headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        other = (page.parent / target).resolve() if target else page
        assert other.exists(), target
        if heading:
            assert heading in _headings(other), f"{target}#{heading}"
