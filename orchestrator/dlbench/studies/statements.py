"""A claim being judged: the trials that it is about, the comparisons made of them, the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from dlbench.statistics.evidence import UNKNOWN, Evidence, Tau, kendall
from dlbench.studies.claims import Claim, Study
from dlbench.studies.contrasts import NOBODY, Contrast, Side, combined, side_of
from dlbench.studies.quantities import QUANTITIES, Quantity
from dlbench.studies.runs import StudyRuns

DEVICES = ("cpu", "gpu")


@dataclass
class Statement:
    """A claim being judged: its evidence, and the comparisons that this comes from."""

    evidence: Evidence = UNKNOWN
    sides: list[Side] = field(default_factory=list)
    contrasts: list[Contrast] = field(default_factory=list)
    ordered: list[tuple[Contrast, Evidence, int]] = field(default_factory=list)
    """Pairs that the claim orders: for Kendall's tau."""
    prediction: str = ""
    """A magnitude's, in words."""

    def order(self, pair: Contrast, evidence: Evidence, seen: int) -> Evidence:
        """Note that the claim orders this pair: `seen` is 1 where the values have its order."""
        self.ordered.append((pair, evidence, seen))
        return evidence

    def beyond(self, pair: Contrast, sign: int, bound: float | None) -> Evidence:
        """As `lies_beyond`, of a pair that the claim orders."""
        return self.order(pair, lies_beyond(pair, sign, bound), sign * pair.seen)

    def tau(self, share: float) -> Tau | None:
        known = [(e, seen) for c, e, seen in self.ordered if c.aligned is not None]
        return kendall(known, share, len(self.ordered))


@dataclass(frozen=True)
class Trials:
    """A study's trials, of which statements are made for `family` claims judged together."""

    study: Study
    runs: StudyRuns
    family: int
    alpha: float
    parts: int = 1
    """How many comparisons the claim at hand is made of."""

    def side(
        self, claim: Claim, name: str, workload: str, quantity: Quantity, made: Statement,
        device: str = "",
    ) -> Side:  # fmt: skip
        """A contender; `keras@gpu` says on which device, else it is the claim's."""
        who, _, own = name.partition("@")
        place: str = own or device or self.device(claim, workload, quantity)
        group = self.runs.group(workload, place, who)
        missing = self.study.frameworks[who].release
        if not self.runs.has(workload, place):
            missing = NOBODY
        side = side_of(name, workload, place, group, quantity, missing)
        made.sides.append(side)
        return side

    def device(self, claim: Claim, workload: str, quantity: Quantity) -> str:
        """The claim's; where the device changes nothing but rounding, one that has trials."""
        wanted: tuple[str, ...] = DEVICES if claim.device == "both" else (claim.device,)
        others = [device for device in DEVICES if device not in wanted]
        possible: list[str] = [*wanted, *(others if quantity.any_device else ())]
        for device in possible:
            if self.runs.has(workload, device):
                return device
        return wanted[0]

    def contrast(self, first: Side, second: Side, quantity: Quantity, made: Statement) -> Contrast:
        contrast = Contrast(first, second, quantity, self.family, self.alpha, self.parts)
        made.contrasts.append(contrast)
        return contrast

    def contenders(self, claim: Claim, workload: str, made: Statement) -> Callable[[str], Side]:
        """The side of each name, made once."""
        quantity = QUANTITIES[claim.metric]
        sides: dict[str, Side] = {}

        def of(name: str) -> Side:
            if name not in sides:
                if claim.metric == "speedup":
                    sides[name] = self._speed_up(claim, name, workload, made)
                else:
                    sides[name] = self.side(claim, name, workload, quantity, made)
            return sides[name]

        return of

    def _speed_up(self, claim: Claim, name: str, workload: str, made: Statement) -> Side:
        time = QUANTITIES["train_time"]
        both = [self.side(claim, f"{name}@{device}", workload, time, made) for device in DEVICES]
        side = combined(name, both, "ratio", QUANTITIES["speedup"])
        made.sides.append(side)
        return side


def lies_beyond(pair: Contrast, sign: int, bound: float | None) -> Evidence:
    """Of "the first is greater (sign 1) or less (-1) than the second by more than bound"."""
    if sign > 0:
        return pair.greater(bound)
    if bound is None:
        return pair.greater(None).denied()
    return pair.greater(1 / bound if pair.quantity.kind.scale == "ratio" else -bound).denied()


def across_workloads(side: Side) -> Side:
    """Compared across workloads: their data and scale differ by nature."""
    if side.measurements is None:
        return side
    return replace(side, measurements=replace(side.measurements, data="", scale="", keys=None))
