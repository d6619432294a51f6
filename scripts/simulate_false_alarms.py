"""How often equal contenders are told apart: the promise behind `--alpha`, by simulation.

Campaigns of contenders that are all alike are compared by the product's own code. What makes it
hard: heavy tails; a machine that drifts and whose load the contenders of a round share; one
contender that is noisier than the rest; runs that fail by chance.

    python scripts/simulate_false_alarms.py [--rounds 1000] [--json]

Exits with 1 if any share lies further above 5 % than chance explains.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "orchestrator"))

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402

from dlbench.statistics.comparison import compare  # noqa: E402
from dlbench.statistics.measurements import Measurements  # noqa: E402
from dlbench.statistics.stability import outlying_trials  # noqa: E402

ALPHA = 0.05
SIZES = ((2, 5), (2, 6), (3, 5), (4, 6), (5, 6), (6, 10), (10, 7), (10, 10))
"""Contenders and repeats; each is the fewest that can show something, or what people take."""

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Floats]


def quiet(rng: np.random.Generator, contenders: int, repeats: int) -> Floats:
    return rng.normal(0, 0.02, (contenders, repeats))


def heavy(rng: np.random.Generator, contenders: int, repeats: int) -> Floats:
    """Student's t with two degrees of freedom: now and then a run far off."""
    return 0.02 * rng.standard_t(2, (contenders, repeats))


def drifting(rng: np.random.Generator, contenders: int, repeats: int) -> Floats:
    """The machine gets slower, and what else it does concerns all contenders of a round."""
    rounds = np.linspace(0, 0.2, repeats) + rng.normal(0, 0.05, repeats)
    return quiet(rng, contenders, repeats) + rounds


def noisier(rng: np.random.Generator, contenders: int, repeats: int) -> Floats:
    """The first contender scatters five times as much as the rest."""
    noise = quiet(rng, contenders, repeats)
    noise[0] *= 5
    return noise


def failing(rng: np.random.Generator, contenders: int, repeats: int) -> Floats:
    """Every tenth run fails, whoever made it."""
    noise = quiet(rng, contenders, repeats)
    noise[rng.random(noise.shape) < 0.1] = math.nan
    return noise


DRAWS: dict[str, Draw] = {
    "normal noise": quiet,
    "heavy tails": heavy,
    "drift": drifting,
    "one noisier": noisier,
    "failures": failing,
}


def false_claims(draw: Draw, contenders: int, repeats: int, rounds: int, seed: int = 1) -> float:
    """The share of campaigns in which any two are told apart."""
    rng = np.random.default_rng([seed, contenders, repeats])
    keys = tuple(range(repeats))
    wrong = 0
    for _ in range(rounds):
        noise = draw(rng, contenders, repeats)
        groups = {
            str(i): Measurements(
                tuple(np.exp(own).tolist()), keys, tuple((~np.isnan(own)).tolist()),
                complete=not np.isnan(own).all(),
            )
            for i, own in enumerate(noise)
        }  # fmt: skip
        wrong += any(verdict.different for verdict in compare(groups, draws=20).verdicts)
    return wrong / rounds


def sticking_out(groups: int, repeats: int, rounds: int) -> float:
    """The share of campaigns of normal noise in which any trial is said to stick out."""
    rng = np.random.default_rng([1, groups, repeats])
    found = 0
    for _ in range(rounds):
        times = np.exp(rng.normal(0, 0.02, (groups, repeats)))
        found += any(outlying_trials(own, groups=groups) for own in times)
    return found / rounds


def allowed(rounds: int) -> float:
    """Alpha, and three standard errors of the simulation."""
    return ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / rounds)


def show(heading: str, table: Mapping[str, Mapping[str, float]]) -> None:
    """Shares in percent, one column for each way to draw noise."""
    print(f"| {heading} | " + " | ".join(DRAWS) + " |")
    print("|---|" + "---:|" * len(DRAWS))
    for name, shares in table.items():
        print(f"| {name} | " + " | ".join(f"{100 * x:.1f} %" for x in shares.values()) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    table = {
        f"{contenders} x {repeats}": {
            name: false_claims(draw, contenders, repeats, chosen.rounds)
            for name, draw in DRAWS.items()
        }
        for contenders, repeats in SIZES
    }
    outliers = {f"10 x {n}": sticking_out(10, n, chosen.rounds) for n in (5, 7, 10, 20)}
    if chosen.json:
        print(json.dumps({"claims": table, "sticking out": outliers}, indent=1))
    else:
        show("contenders x repeats", table)
        print("sticks out: " + ", ".join(f"{k} {100 * x:.1f} %" for k, x in outliers.items()))
    every = [x for row in table.values() for x in row.values()] + list(outliers.values())
    return 1 if max(every) > allowed(chosen.rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
