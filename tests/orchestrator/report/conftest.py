"""Campaigns to report on, and a browser to read the reports in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlbench import report
from tests.orchestrator.report.attack import HOSTILE
from tests.orchestrator.report.browser import Browser, browser

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 trials in the real format: failures, an uncertified release, two devices."""
    folder = tmp_path_factory.mktemp("campaigns") / "invented"
    command = [sys.executable, ROOT / "scripts/make_campaign.py", folder]
    options = ["--trials", "300", "--steps", "60", "--samples", "20"]
    subprocess.run([*command, *options], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def many_repeats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two workloads on two devices, twenty times: enough to decide."""
    folder = tmp_path_factory.mktemp("campaigns") / "decided"
    command = [sys.executable, ROOT / "scripts/make_campaign.py", folder]
    options = ["--trials", "800", "--workloads", "2", "--steps", "30", "--samples", "5"]
    subprocess.run([*command, *options], check=True, capture_output=True)
    return folder


@pytest.fixture
def copy(campaign: Path, tmp_path: Path) -> Path:
    """One that a test may change."""
    return Path(shutil.copytree(campaign, tmp_path / "campaign"))


@pytest.fixture
def hostile(copy: Path) -> Path:
    """A campaign of which every text that can come from elsewhere is an attack."""
    about = json.loads((copy / "campaign.json").read_text())
    about |= {"suite": HOSTILE, "notes": [HOSTILE], "command": ["dlbench", HOSTILE]}
    about["machine"]["cpu_model"] = HOSTILE
    (copy / "campaign.json").write_text(json.dumps(about))
    plan = [json.loads(line) for line in (copy / "plan.jsonl").read_text().splitlines()]
    attacked = plan[0]["release"], plan[0]["workload"]
    for trial in plan:
        trial["release"] = (
            f"evil@{HOSTILE}" if trial["release"] == attacked[0] else trial["release"]
        )
        trial["workload"] = HOSTILE if trial["workload"] == attacked[1] else trial["workload"]
        path = copy / "trials" / trial["id"] / "trial.json"
        result = json.loads(path.read_text())
        result |= {"release": trial["release"], "workload": trial["workload"]}
        if trial["index"] % 50 == 0:
            result |= {"outcome": "crashed", "reason": HOSTILE}
            (path.parent / "log.txt").write_text(f"{HOSTILE}\n" * 3)
        path.write_text(json.dumps(result))
    (copy / "plan.jsonl").write_text("".join(json.dumps(trial) + "\n" for trial in plan))
    certificate = {
        "v": 1, "key": "x", "release": HOSTILE, "workload": HOSTILE, "variant": HOSTILE,
        "device": "cpu", "engine": "process", "passed": False, "reason": HOSTILE,
        "checks": [{"name": HOSTILE, "passed": False, "error": 0.5, "tolerance": 0.1,
                    "node": HOSTILE, "detail": HOSTILE}],
    }  # fmt: skip
    (copy / "certificates").mkdir(exist_ok=True)
    (copy / "certificates" / "x.json").write_text(json.dumps(certificate))
    return copy


def _written(campaign: Path, folder: Path) -> Path:
    target = folder / "report.html"
    target.write_text(report.html(report.load(campaign)), encoding="utf-8")
    (folder / "elsewhere.html").write_text("<!doctype html><title>another page</title>")
    return target


@pytest.fixture(scope="session")
def page(campaign: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the campaign."""
    return _written(campaign, tmp_path_factory.mktemp("reports"))


@pytest.fixture(scope="session")
def decided_page(many_repeats: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a campaign that shows differences."""
    return _written(many_repeats, tmp_path_factory.mktemp("reports"))


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The real browser. Without one the test is skipped, or fails where CI demands it."""
    if shutil.which("chromedriver") is None:
        reason = "chromedriver is not installed (Debian: chromium and chromium-driver)"
        if "chromium" in os.environ.get("DLBENCH_TEST_REQUIRE", ""):
            pytest.fail(reason)
        pytest.skip(reason)
    with browser(tmp_path_factory.mktemp("chromium")) as window:
        window.requests()
        yield window
