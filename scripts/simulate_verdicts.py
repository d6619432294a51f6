"""How often a study's claims are judged wrongly: the promise behind `dlbench judge`, by simulation.

Studies of contenders with a known truth are judged by the product's own code, ten claims of
elshawi2021 at once: directions, rankings, equalities. Two truths are the hardest:

    alike   all contenders are the same: no direction, no order may be shown, no equality refuted
    edge    they differ by just the smallest effect that matters: no direction and no equality may
            be decided, for either verdict is wrong for a truth next to it

    python scripts/simulate_verdicts.py [--rounds 1000] [--json]

Exits with 1 if any share of wrongly judged studies lies further above 5 % than chance explains.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "orchestrator"), str(ROOT)]

import numpy as np  # noqa: E402

from dlbench.analysis.groups import Conditions, Group  # noqa: E402
from dlbench.studies.claims import Claim, Type  # noqa: E402
from dlbench.studies.judging import Word, verdicts_on  # noqa: E402
from dlbench.studies.reading import find  # noqa: E402
from dlbench.studies.runs import StudyRuns  # noqa: E402
from scripts.simulate_false_alarms import ALPHA, DRAWS, Draw, allowed, show  # noqa: E402

STUDY = find("elshawi2021")
NUMBERS = ("01", "02", "03", "04", "05", "32", "43", "45", "55", "56")
CLAIMS = [one for one in STUDY.claims if one.id.rpartition("-")[2] in NUMBERS]
WORKLOADS = ("mnist-cnn", "cifar10-cnn", "cifar100-cnn")
REPEATS = (8, 12, 20)
LOW = ("pytorch", "chainer")
"""Who is below the others at the edge, by a point of accuracy and five epochs."""
TRUTHS: dict[str, float] = {"alike": 0.0, "edge": 1.0}


def simulated(truth: float, draw: Draw, repeats: int, rng: np.random.Generator) -> StudyRuns:
    """Trials with noise of 0.5 points, 4 % CPU and 2 epochs; `truth`: how many smallest effects
    lie between the two kinds of contenders."""
    groups: dict[tuple[str, str, str], tuple[Group, ...]] = {}
    for workload in WORKLOADS:
        whole = STUDY.workloads[workload]
        noise = draw(rng, 3 * len(STUDY.contenders), repeats) / 0.02
        for i, name in enumerate(STUDY.contenders):
            away = -truth if name in LOW else 0.0
            rows = tuple(
                {
                    "id": f"{workload}-{name}-{turn}", "release": STUDY.frameworks[name].release,
                    "variant": "", "workload": workload, "device": "cpu", "round": turn,
                    "seed": turn, "session": "one", "certified": True, "data_source": "real",
                    "outcome": "crashed" if math.isnan(noise[3 * i, turn]) else "ok",
                    "budget_steps": None, "budget_epochs": whole.epochs, "samples": None,
                    "epochs": None,
                    "accuracy": 0.8 + 0.01 * away + 0.005 * noise[3 * i, turn],
                    "cpu_percent_mean": 50 * math.exp(0.04 * noise[3 * i + 1, turn]),
                    "peak_epoch": 40 + 5 * away + 2 * noise[3 * i + 2, turn],
                }
                for turn in range(repeats)
            )  # fmt: skip
            group = Group(name, workload, Conditions("m", "d", "s"), rows)
            groups[workload, "cpu", name] = (group,)
    return StudyRuns(STUDY, groups)


def is_wrong(claim: Claim, word: Word, truth: float) -> bool:
    """Whether a verdict is wrong. At the edge: either, where the claim is about such a difference;
    who differs in nothing is the same in both truths."""
    if word is Word.CANNOT_TELL:
        return False
    if claim.type is Type.RANKING:
        # by accuracy and epochs somebody is below at the edge, and nobody alone
        return truth == 0 or claim.metric == "cpu_percent" or word is Word.SUPPORTED
    names = set(STUDY.names(claim)[0]) | set(STUDY.names(claim)[1])
    if truth and names & set(LOW):
        return True
    if claim.type is Type.DIRECTION:
        return word is Word.SUPPORTED
    return word is Word.CONTRADICTED


def wrongly_judged(truth: float, draw: Draw, repeats: int, rounds: int) -> float:
    """The share of studies in which any claim is judged wrongly."""
    rng = np.random.default_rng([1, repeats])
    wrong = 0
    for _ in range(rounds):
        verdicts, _family = verdicts_on(STUDY, simulated(truth, draw, repeats, rng), CLAIMS, ALPHA)
        wrong += any(
            is_wrong(claim, verdict.word, truth)
            for claim, verdict in zip(CLAIMS, verdicts, strict=True)
        )
    return wrong / rounds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    table = {
        f"{name}, {n} repeats": {
            each: wrongly_judged(truth, draw, n, chosen.rounds) for each, draw in DRAWS.items()
        }
        for name, truth in TRUTHS.items()
        for n in REPEATS
    }
    if chosen.json:
        print(json.dumps(table, indent=1))
    else:
        show("truth", table)
    worst = max(x for shares in table.values() for x in shares.values())
    return 1 if worst > allowed(chosen.rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
