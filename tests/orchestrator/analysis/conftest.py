"""A campaign of the generator, for all tests that read campaigns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of the generator: events, samples and GPUs as in life."""
    folder = tmp_path_factory.mktemp("invented") / "campaign"
    make = [sys.executable, str(ROOT / "scripts" / "make_campaign.py"), str(folder)]
    subprocess.run([*make, "--trials", "100", "--steps", "60", "--samples", "8"], check=True)
    return folder
