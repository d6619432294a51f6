"""One trial as it is planned: a line of plan.jsonl."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dlbench.confounds.confound import marked
from dlbench.engines.base import Limits
from dlbench.shapes import SECONDS, instance_of, label, list_of, number, optional, whole

VERSION = 1
"""Of a line of plan.jsonl."""
MOST_TRIALS = 100_000
"""In one campaign."""


@dataclass(frozen=True)
class Trial:
    """One trial to be run. Its id is the digest of what defines it (see running/jobs.py)."""

    id: str
    release: str
    workload: str
    device: str
    engine: str
    setting: str
    variant: str
    seed: int
    epochs: int
    seconds: float
    index: int = 0
    round: int = 0
    repeat: int = 0
    steps: int | None = None
    data: str = "real"
    threads: int | None = None
    cpus: float | None = None
    memory_bytes: int | None = None
    gpus: tuple[str, ...] = ()
    own_gpu: bool = False
    """Its GPU is a device of its own in the comparison (`--gpu each`)."""
    inference: bool = False
    save: bool = False
    usual_variant: bool = True
    """Whether `variant` is the release's usual one, which need not be named."""
    point: str = ""
    """The values of what is swept: `batch=8 threads=2`."""
    changes: tuple[str, ...] = ()
    """What differs from the workload's recipe: `batch=8`, `optimizer.lr=0.1`."""
    scale: str = ""
    """The scale that was asked for: `smoke`, `0.01`; empty: none."""
    rows: int | None = None
    """The most rows of each split; None: all."""
    share: float | None = None
    """The share of the rows of each split; None: all."""
    weights: str = ""
    """The digest of the weights that it starts from; empty: those of the seed."""
    weights_file: str = ""
    """The name of the file that they came from, for people."""
    confounds: tuple[str, ...] = ()
    """What is wrong in it on purpose: `no-dropout`, `batchnorm-keep:keep=0.95`."""
    deterministic: bool = False
    """Whether the framework is asked for kernels that repeat to the last bit."""

    @property
    def compared_device(self) -> str:
        """The device as comparisons name it: `cpu`, `gpu`, or one GPU of several, `gpu:1`."""
        return f"gpu:{self.gpus[0]}" if self.own_gpu else self.device

    @property
    def contender(self) -> tuple[str, ...]:
        """Who it is a replicate of: what all its repeats have in common."""
        own = self.release, self.variant, self.compared_device
        return self.workload, *own, self.setting, self.point, self._kernels, *self.confounds

    @property
    def case(self) -> tuple[str, ...]:
        """Where contenders are compared with each other: those with confounds never with others."""
        altered = "altered" if self.confounds else ""
        return self.workload, self.device, self.setting, self.point, self._kernels, altered

    @property
    def _kernels(self) -> str:
        return "deterministic" if self.deterministic else ""

    @property
    def place(self) -> str:
        """What people read: the workload, with the point of a sweep."""
        return f"{self.workload} ({self.point})" if self.point else self.workload

    @property
    def limits(self) -> Limits:
        return Limits(cpus=self.cpus, memory_bytes=self.memory_bytes, seconds=self.seconds)

    @property
    def label(self) -> str:
        """What people read: the release, with a variant that is not the usual, and confounds."""
        return marked(self.plain_label, self.confounds)

    @property
    def plain_label(self) -> str:
        """The same without confounds."""
        return self.release if self.usual_variant else f"{self.release}:{self.variant}"

    def to_json(self) -> dict[str, Any]:
        """A line of plan.jsonl."""
        return {"v": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Trial:
        """From a line of plan.jsonl, checked; one without a version is of version 1."""
        trial: Trial = _LINE(content)
        return trial


_LINE = instance_of(
    Trial, id=label, release=label, workload=label, device=label, engine=label, setting=label,
    variant=label, data=label, seconds=SECONDS, threads=optional(whole(1)),
    cpus=optional(number(0.0, 1e6)), memory_bytes=optional(whole(1, 2**60)),
    gpus=list_of(label, 64), point=label, changes=list_of(label, 100), scale=label,
    rows=optional(whole(1)), share=optional(number(0.0, 1.0)), weights=label,
    weights_file=label, confounds=list_of(label, 100),
)  # fmt: skip
