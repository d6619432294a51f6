"""What dlbench adds around the work: start-up, container trials, a second preparation.

    PYTHONPATH=orchestrator .venv/bin/python scripts/bench_start.py [--json]

Each figure is a ratio to a named baseline, both measured in turn within this run. The container
figures need a Docker daemon and are said to be missing without one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

_ORCHESTRATOR = Path(__file__).resolve().parents[1] / "orchestrator"
_WORK_S = 10


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    baseline: float
    limit: float
    unit: str = "ratio"

    @property
    def measured(self) -> float:
        return self.value / self.baseline if self.unit == "ratio" else self.value

    @property
    def reached(self) -> bool:
        return self.measured <= self.limit


def seconds(action: Callable[[], object]) -> float:
    begun = time.monotonic()
    action()
    return time.monotonic() - begun


def run(*command: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(_ORCHESTRATOR)}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


def help_text(rounds: int) -> Figure:
    """`dlbench --help` over `python -c "import typer"`."""
    times: dict[str, list[float]] = {"help": [], "typer": []}
    for _ in range(rounds):
        times["help"].append(seconds(lambda: run(sys.executable, "-m", "dlbench", "--help")))
        times["typer"].append(seconds(lambda: run(sys.executable, "-c", "import typer")))
    best = {name: min(values) for name, values in times.items()}  # the least disturbed
    return Figure("dlbench --help / import typer", best["help"], best["typer"], 3.0)


def container(rounds: int) -> list[Figure]:
    """A container trial of ten seconds over bare `docker run` of the same; and a second build."""
    from dlbench.engines.base import Limits, Request
    from dlbench.environments import releases
    from dlbench.running.execute import execute
    from dlbench.running.workshop import open_workshop

    workshop = open_workshop("docker")
    release = releases.find("numpy")
    image = workshop.environment(release, "cpu")
    second = seconds(lambda: open_workshop("docker").environment(release, "cpu"))
    times: dict[str, list[float]] = {"dlbench": [], "docker run": []}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "bench").mkdir()
        (place / "bench/__init__.py").touch()
        (place / "bench/__main__.py").write_text(f"import time; time.sleep({_WORK_S})\n")
        (place / "job.json").write_text("{}")
        (place / "data").mkdir()
        for number in range(rounds):
            own = place / f"trial{number}"
            (own / "out").mkdir(parents=True)
            request = Request(
                trial=f"bench{number}", campaign="bench-start", environment=image,
                bench=place / "bench", job=place / "job.json", data=place / "data",
                out=own / "out",
                log=place / "log.txt", limits=Limits(seconds=60),
            )  # fmt: skip
            times["dlbench"].append(
                seconds(lambda request=request, own=own: execute(workshop.engine, request, own))
            )
            code = f"import time; time.sleep({_WORK_S})"
            bare = ["docker", "run", "--rm", "--network=none", image, "python", "-c", code]
            times["docker run"].append(seconds(lambda bare=bare: run(*bare)))
    medians = {name: statistics.median(values) for name, values in times.items()}
    return [
        Figure("10 s container trial / docker run", medians["dlbench"], medians["docker run"], 1.1),
        Figure("second images build, docker", second, 1.0, 1.0, "seconds"),
    ]


def preparation() -> Figure:
    """A second preparation of a virtual environment, with nothing changed."""
    from dlbench.running.workshop import open_workshop

    workshop = open_workshop("process")
    from dlbench.environments import releases

    release = releases.find("numpy")
    workshop.environment(release, "cpu")
    second = seconds(lambda: open_workshop("process").environment(release, "cpu"))
    return Figure("second preparation, process", second, 1.0, 1.0, "seconds")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = [help_text(3 * options.rounds), preparation()]
    from dlbench.engines import connect

    try:
        connect.connect().close()
        figures += container(options.rounds)
    except connect.NoDaemon:
        print("No Docker daemon answers: the container figures are missing.", file=sys.stderr)
    if options.json:
        rows = [asdict(f) | {"measured": f.measured, "reached": f.reached} for f in figures]
        print(json.dumps(rows, indent=1))
    else:
        for figure in figures:
            word = "" if figure.unit == "ratio" else " s"
            print(f"{figure.name}: {figure.measured:.3f}{word} (at most {figure.limit:g}{word})")
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
