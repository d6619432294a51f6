"""The page of all models: in which release each is proven, what a step of it takes at full size.

    dlbench verify pytorch mxnet --json > proofs.json
    dlbench run --suite models --scale smoke --threads 1 --hz 10
    PYTHONPATH=orchestrator .venv/bin/python scripts/models_page.py proofs.json results/… > page.md

FILE is what `dlbench verify --json` printed, DIR a campaign; both come as often as one likes, and
of a proof that comes twice the last one counts. Workloads that share a graph share a line.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "orchestrator"))

from dlbench.campaigns.certificate_file import read_certificates  # noqa: E402
from dlbench.campaigns.folder import Campaign  # noqa: E402
from dlbench.campaigns.trial_result import TrialResult  # noqa: E402
from dlbench.environments.releases import load_releases  # noqa: E402
from dlbench.workloads import workloads  # noqa: E402

Json = dict[str, Any]
Cell = Callable[[str, str], str]
_UNTRIED = "·"


def proofs_of(places: Iterable[Path]) -> dict[tuple[str, str], Json]:
    """By contender and workload."""
    found: dict[tuple[str, str], Json] = {}
    first = {release.name: release.variants[0] for release in load_releases()}
    for place in places:
        if place.is_dir():
            entries = [one.to_json() for one in read_certificates(place)]
        else:
            entries = json.loads(place.read_text())
        for one in entries:
            usual = one["variant"] == first.get(one["release"])
            contender = one["release"] if usual else f"{one['release']}:{one['variant']}"
            found[contender, one["workload"]] = one
    return found


def trials_of(places: Iterable[Path]) -> dict[tuple[str, str], TrialResult]:
    return {
        (result.release, result.workload): result
        for place in places
        if place.is_dir()
        for result in Campaign.open(place).results()
    }


def shared(names: Iterable[str]) -> list[list[str]]:
    """All workloads that share a proof with one of these, in lists: they have one graph for it."""
    together: dict[str, list[str]] = {}
    known = workloads()
    for name in (*names, *known):
        facts = json.dumps([known[name].proof_graph, known[name].recipe], sort_keys=True)
        if name not in together.setdefault(facts, []):
            together[facts].append(name)
    return [own for own in together.values() if set(own) & set(names)]


def table(contenders: Sequence[str], rows: Sequence[Sequence[str]], cell: Cell) -> list[str]:
    """One line a list of workloads, one column a contender."""
    lines = ["| | " + " | ".join(c.replace("@", "<br>", 1) for c in contenders) + " |"]
    lines.append("|---|" + "---:|" * len(contenders))
    for names in rows:
        cells = (next((text for name in names if (text := cell(c, name))), _UNTRIED)
                 for c in contenders)  # fmt: skip
        lines.append(f"| {', '.join(names)} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def verdict(proof: Json | None) -> str:
    if proof is None:
        return ""
    return str(len(proof["checks"])) if proof["passed"] else "**no**"


def reasons(proofs: dict[tuple[str, str], Json]) -> list[str]:
    """Why each proof that failed did."""
    lines = []
    for (contender, workload), proof in proofs.items():
        if not proof["passed"]:
            failed = next((check for check in proof["checks"] if not check["passed"]), None)
            where = f" at `{failed['node']}`" if failed and failed["node"] else ""
            said = (
                f"{failed['name']}{where}: {failed['detail']}"
                if failed
                else proof["reason"].partition("\n")[0]
            )
            lines.append(f"- {contender}, {workload}: {' '.join(said.split())}")
    return [*lines, ""] if lines else []


def processor_ms(result: TrialResult) -> float | None:
    """Processor time of a steady step: the share of its time that it had of its cores."""
    use = result.resources.per_phase.get("train") if result.resources else None
    share = use.cpu_percent if use else None
    step, cores = result.metrics.get("step_ms_mean"), result.cores.allotted
    return None if share is None or not step or not cores else step * share * cores / 100


def figure(
    trials: dict[tuple[str, str], TrialResult],
    of: Callable[[TrialResult], float | None],
    contender: str,
    workload: str,
) -> str:
    result = trials.get((contender, workload))
    if result is None:
        return ""
    if result.outcome != "ok":
        return str(result.outcome)
    value = of(result)
    return "?" if value is None else f"{value:,.3g}" if value < 100 else f"{value:,.0f}"


def peak_mb(result: TrialResult) -> float | None:
    use = result.resources
    peaks = (use.memory_peak_bytes, use.rss_main_peak_bytes) if use else ()
    return max((peak for peak in peaks if peak), default=0) / 1e6 or None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("places", nargs="+", type=Path, metavar="FILE|DIR")
    asked = parser.parse_args()
    proofs, trials = proofs_of(asked.places), trials_of(asked.places)
    lines = ["### Proofs: how many checks were passed", ""]
    contenders = list(dict.fromkeys(contender for contender, _ in proofs))
    rows = shared(list(dict.fromkeys(workload for _, workload in proofs)))
    lines += table(contenders, rows, lambda c, w: verdict(proofs.get((c, w))))
    lines += reasons(proofs)
    if trials:
        contenders = list(dict.fromkeys(release for release, _ in trials))
        names = [[name] for name in workloads() if any(name == w for _, w in trials)]
        for title, of in (
            ("Processor time of a step (ms)", processor_ms),
            ("Peak memory (MB)", peak_mb),
        ):
            lines += [f"### {title}", ""]
            lines += table(contenders, names, partial(figure, trials, of))
    print("\n".join(lines).rstrip())


if __name__ == "__main__":
    main()
