"""How long a report takes to make, how large it is, and how soon its page answers.

    python scripts/bench_report.py [TRIALS…]     (default: 100 1000 10000)

Makes a campaign of each size, its report in a fresh process, and opens that in Chromium if there
is one. Limits: 10,000 trials in 20 s, 15 MB, interactive in 2 s; growth no worse than linear.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "orchestrator")]

from tests.orchestrator.report.browser import browser  # noqa: E402


def make(folder: Path, trials: int) -> None:
    command = [sys.executable, ROOT / "scripts/make_campaign.py", folder, "--trials", str(trials)]
    subprocess.run(command, check=True, capture_output=True)


def report(folder: Path, target: Path) -> tuple[float, float, float]:
    """(seconds by the clock, seconds of CPU, GB at the peak) of `dlbench report`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    command = [sys.executable, "-m", "dlbench", "report", folder, "-o", target]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT / "orchestrator")
    took = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, cpu, after.ru_maxrss / 1e6


def interactive(target: Path, folder: Path) -> float | None:
    """Seconds from opening until the page answers and its first chart is drawn."""
    if shutil.which("chromedriver") is None:
        return None
    with browser(folder) as window:
        window.shape(1280, 900)
        window.open(target)
        ready = window.wait(
            """const done = arguments[0];
               const look = () => document.querySelector('.lead svg')
                 ? done(performance.now()) : setTimeout(look, 10);
               look();"""
        )
    return float(ready) / 1000


def main() -> None:
    for trials in [int(word) for word in sys.argv[1:]] or [100, 1000, 10000]:
        with tempfile.TemporaryDirectory(prefix="bench-report-") as name:
            folder = Path(name)
            make(folder / "campaign", trials)
            took, cpu, memory = report(folder / "campaign", folder / "report.html")
            size = (folder / "report.html").stat().st_size
            ready = interactive(folder / "report.html", folder)
            figures = {
                "trials": trials,
                "report_s": round(took, 2),
                "cpu_s": round(cpu, 2),
                "peak_gb": round(memory, 2),
                "report_mb": round(size / 1e6, 2),
                "interactive_s": None if ready is None else round(ready, 2),
            }
            print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
