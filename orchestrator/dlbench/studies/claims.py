"""A study and what it claims: the words of the data files in `studies/`."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from dlbench.statistics.words import listing


class Type(StrEnum):
    DIRECTION = "direction"
    RANKING = "ranking"
    NO_DIFFERENCE = "no difference"
    MAGNITUDE = "magnitude"
    ASSOCIATION = "association"


RELATIONS = {
    "greater": "has a higher {metric} than {second}",
    "less": "has a lower {metric} than {second}",
    "differs": "differs in {metric} from {second}",
    "differs-somewhere": "differs in {metric} from {second} at some setting",
    "overtaken": "has a higher {metric} than {second} at first and a lower accuracy at the end",
    "greatest": "has the highest {metric} of all",
    "least": "has the lowest {metric} of all",
    "second-least": "has the second lowest {metric} of all",
    "nowhere-greatest": "has the highest {metric} everywhere",
    "equal": "does not differ in {metric} from {second}",
    "unchanged": "do not change {metric}",
    "is": "has a {metric} of {value}",
    "does-not-imply": "does not imply a better {second}",
    "unrelated": "is not correlated with {second}",
    "proportional": "is proportional to {second}",
    "near": "goes with a high {second}",
}
"""What a claim says of `first` and `second`, in words."""
OVER = ("each", "most", "some", "mean")
"""Whether a claim holds on each workload, on most, on some, or for the mean over them."""
DEVICES = ("cpu", "gpu", "both")
ALL, OTHERS, EACH_OTHER = "all", "others", "each other"
_MOST_NAMED = 4
"""Workloads that a sentence names one by one."""


@dataclass(frozen=True)
class StudyFramework:
    """What a study calls by a name of its own, and the release that stands for it."""

    name: str
    version: str
    release: str
    variant: str | None = None
    stand_in: str = ""
    """Why the release is not the study's version; empty where it is."""
    saves_state: bool = False
    """Whether what the study saved of it holds the optimiser's state beside the weights."""


@dataclass(frozen=True)
class StudyWorkload:
    """A workload at the study's scale."""

    name: str
    data: str
    epochs: int | None = None
    """None: the study varied them."""
    rows: int | None = None
    """Rows trained on in an epoch; None: not known."""
    accuracy: str = "accuracy"
    """The column that stands for what the study calls accuracy."""
    swept: tuple[str, ...] = ()
    """What the study itself varied from trial to trial: any value of these is its own."""


@dataclass(frozen=True)
class StudyConfound:
    """What differed in a framework's code, beside the framework."""

    frameworks: tuple[str, ...]
    workloads: tuple[str, ...]
    confound: str
    """As `--confound` takes it; empty: there is none that does it."""
    put_back: bool
    """Whether `--as published` does."""
    place: str
    """Where it was read: in the paper, or in which part of the code."""
    said: str
    """What it was, in a few words that follow "with"."""
    note: str
    """More, or why it is not put back."""


@dataclass(frozen=True)
class Published:
    """One published figure."""

    table: str
    device: str
    workload: str
    """A pattern where the table does not tell data sets apart."""
    framework: str
    quantity: str
    value: float
    sd: float | None
    n: int | None
    labels: Mapping[str, str]
    """What else tells its row from others, such as `seeds`."""
    note: str = ""


@dataclass(frozen=True)
class Claim:
    id: str
    study: str
    place: str
    """Where it stands in the paper."""
    type: Type
    device: str
    workloads: tuple[str, ...]
    metric: str
    first: tuple[str, ...]
    relation: str
    second: tuple[str, ...]
    over: str
    smallest: float | None
    """The smallest effect that matters: a factor or a difference; None: any."""
    significant: bool | None
    """Whether the paper calls it significant; None: it does not say."""
    values: Mapping[tuple[str, str], float]
    """Figures of the text, by workload (empty: any) and name."""
    differs: str
    """Where the paper contradicts itself."""
    needs: str
    """What no campaign has; empty: a campaign can be judged."""
    said: str
    """What the paper says, in our words."""

    def stated(self, workload: str, name: str) -> float | None:
        """The figure that the claim gives for it."""
        return self.values.get((workload, name), self.values.get(("", name)))


@dataclass(frozen=True)
class Study:
    name: str
    title: str
    where: str
    machine: str
    design: str
    runs: int
    """Of each contender, as published."""
    paired: bool
    """Whether it compared them in pairs."""
    notes: tuple[str, ...]
    frameworks: Mapping[str, StudyFramework]
    workloads: Mapping[str, StudyWorkload]
    figures: tuple[Published, ...]
    claims: tuple[Claim, ...]
    confounds: tuple[StudyConfound, ...] = ()

    def framework_of(self, release: str, variant: str) -> StudyFramework | None:
        """Whom of the study a release is: the one that it stands for, else one of its family."""
        family = release.partition("@")[0]
        every = list(self.frameworks.values())
        same = [one for one in every if one.release == release]
        same = same or [one for one in every if one.release.partition("@")[0] == family]
        own = [one for one in same if one.variant in (None, variant)]
        return next(iter(own or same), None)

    def had(self, framework: str, workload: str) -> Iterator[StudyConfound]:
        """What differed in this framework's code for this workload."""
        for one in self.confounds:
            if framework in one.frameworks and workload in one.workloads:
                yield one

    def confounds_of(self, framework: str, workload: str) -> tuple[str, ...]:
        """Those that `--as published` puts back."""
        return tuple(one.confound for one in self.had(framework, workload) if one.put_back)

    def not_put_back(self, framework: str, workload: str) -> tuple[str, ...]:
        return tuple(one.said for one in self.had(framework, workload) if not one.put_back)

    @cached_property
    def contenders(self) -> tuple[str, ...]:
        """One name a release: ways to train in the same one are only named where they matter."""
        first: dict[str, str] = {}
        for framework in self.frameworks.values():
            first.setdefault(framework.release, framework.name)
        return tuple(first.values())

    @property
    def stand_ins(self) -> tuple[str, ...]:
        return tuple(
            f"{one.release} stands for {one.name}, version {one.version}: {one.stand_in}."
            for one in self.frameworks.values()
            if one.stand_in
        )

    def published(
        self, device: str, workload: str, framework: str, quantity: str
    ) -> Iterator[Published]:
        """The figures of its tables; a table for both devices has those of either."""
        for one in self.figures:
            if (
                one.quantity == quantity
                and one.framework == framework
                and (one.device == device or "both" in (one.device, device))
                and fnmatch.fnmatchcase(workload, one.workload)
            ):
                yield one

    def names(self, claim: Claim) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Who is claimed to differ from whom, with `all` and `others` spelt out."""
        first = self.contenders if claim.first == (ALL,) else claim.first
        if claim.second == (OTHERS,):
            return first, tuple(name for name in self.contenders if name not in first)
        return first, first if claim.second == (EACH_OTHER,) else claim.second


def sentence(study: Study, claim: Claim, metric_words: str) -> str:
    """The claim in one sentence: the same words for all of its kind."""
    if (
        claim.needs
        or claim.type in (Type.ASSOCIATION, Type.MAGNITUDE)
        or claim.first == ("workloads",)
    ):
        return f"{claim.said}{_where(study, claim)}"
    words = RELATIONS[claim.relation]
    nobody = claim.relation == "nowhere-greatest"
    several = len(claim.first) > 1 or (claim.first == (ALL,) and not nobody)
    if several:
        for one, many in (("has ", "have "), ("differs ", "differ "), ("does ", "do ")):
            words = words.replace(one, many, 1)
    first = "the frameworks" if claim.first == (ALL,) else listing(claim.first)
    if nobody:
        first = "no single framework"
    second = "the others" if claim.second == (OTHERS,) else listing(claim.second)
    said = f"{first} {words.format(metric=metric_words, second=second)}"
    said = said.replace("@", " on ")
    for device in ("cpu", "gpu"):
        said = re.sub(rf"\b{device}\b", f"the {device.upper()}", said)
    return f"{said}{_where(study, claim)}"


def _where(study: Study, claim: Claim) -> str:
    amount = {"most": "most of ", "some": "some of ", "mean": "average over "}.get(claim.over, "")
    if len(claim.workloads) == len(study.workloads) > 1:
        on = f"{amount.replace('of ', '')}all workloads".replace("most all", "most")
    elif len(claim.workloads) > _MOST_NAMED:
        on = f"{amount}{len(claim.workloads)} workloads"
    else:
        on = f"{amount}{listing(claim.workloads)}"
    device = "" if claim.device == "both" else f", {claim.device.upper()}"
    return f" ({on}{device})"
