"""What was seen to run, on what and when: recorded in the release files, a page of the docs.

A release is recorded when all its ways to train were proven on every workload, or on some; never
where one of them failed. A record says which ways and workloads those were, because both grow.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from dlbench import paths
from dlbench.environments import cuda_sets, releases
from dlbench.environments.releases import Release
from dlbench.host import gpu_preflight
from dlbench.monitor.gpu import inventory
from dlbench.statistics.words import listing
from dlbench.workloads import workloads

_WRITTEN = re.compile(r"(.+?)[:,] (\S+) on (\S+), (\d{4}-\d\d-\d\d)")


@dataclass(frozen=True)
class Record:
    """One entry of `verified` in a release.toml."""

    what: str
    """A word of `VERIFIED`; after a colon may stand on what."""
    variants: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    day: str = ""
    """None of the three: every way to train on every workload that there was then, no day noted."""

    @classmethod
    def read(cls, text: str) -> Record:
        if found := _WRITTEN.fullmatch(text):
            what, variants, names, day = found.groups()
            return cls(what, tuple(variants.split("+")), tuple(names.split("+")), day)
        return cls(text)

    @property
    def text(self) -> str:
        if not self.day:
            return self.what
        mark = "," if ":" in self.what else ":"
        ways, names = "+".join(self.variants), "+".join(self.workloads)
        return f"{self.what}{mark} {ways} on {names}, {self.day}"


def word(
    device: str, packages: str, *, whole: bool = True, selection: Sequence[str] = ("all",)
) -> str:
    """What a record says of packages that were proven on this device.

    Not `whole`: without the libraries of its CUDA set. `selection`: the GPUs that were given, of
    which the first was used."""
    if device == "cpu":
        if packages == "cpu":
            return "cpu"
        return "gpu-build" if whole else "gpu-build: without CUDA's libraries"
    gpus = inventory()
    card = gpu_preflight.used(gpus, selection)
    return f"gpu: {card.name if card else 'a GPU'}, driver {gpus.driver}"


def record(
    done: Sequence[Mapping[str, Any]],
    device: str,
    packages: str,
    partial: Collection[str] = (),
    selection: Sequence[str] = ("all",),
) -> list[str]:
    """Put what passed into the release files; the lines to send in.

    `partial`: releases that ran without the libraries of their CUDA set. `selection`: GPUs."""
    told = []
    for name in dict.fromkeys(str(entry["release"]) for entry in done):
        release = releases.find(name)
        own = [entry for entry in done if entry["release"] == name]
        passed = {(entry["variant"], entry["workload"]) for entry in own if entry["passed"]}
        tried = list(dict.fromkeys(str(entry["workload"]) for entry in own))
        lacking = [
            f"{variant} on {workload}"
            for variant in release.variants
            for workload in tried
            if (variant, workload) not in passed
        ]
        refused = {str(entry.get("reason") or "") for entry in own if not entry.get("checks")}
        if lacking and not passed and len(refused) == 1 and (why := refused.pop()):
            told.append(f"{name}: not recorded: {why}")
        elif lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            told.append(f"{name}: not recorded, not proven: {lacking[0]}{more}.")
        else:
            proven = word(device, packages, whole=name not in partial, selection=selection)
            told.append(f"{name}: {_write(release, proven, tried)}")
            chosen = cuda_sets.of_release(release, packages)
            if chosen is not None and chosen.untried and name not in partial:
                told.append(f"CUDA {chosen.name}: {_tried(chosen.name)}")
    if told and device == "gpu":
        told.append("Please send these lines in: they say what works on which GPU.")
    return told


def _write(release: Release, what: str, tried: Sequence[str]) -> str:
    """Add what was proven on these workloads to the release's file; what was added, and where."""
    today = datetime.now(UTC).date().isoformat()
    new = Record(what, release.variants, tuple(tried), today)
    kept: list[Record] = []
    for each in map(Record.read, release.verified):
        if each.what == what and each.day and {*each.variants} <= {*new.variants}:
            left = tuple(name for name in each.workloads if name not in new.workloads)
            if each.day == today and each.variants == new.variants:
                new = replace(new, workloads=(*left, *new.workloads))
            elif left:
                kept.append(replace(each, workloads=left))
        else:
            kept.append(each)
    lines = "".join(f'    "{each.text}",\n' for each in (*kept, new))
    path = release.folder / "release.toml"
    text = re.sub(
        r"^verified = \[[^\]]*\]",
        lambda _: f"verified = [\n{lines}]",
        path.read_text("utf-8"),
        flags=re.M,
    )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        return f'verified "{new.text}" (not written: {error.strerror})'
    place = f"{release.folder.parent.name}/{release.folder.name}/release.toml"
    return f'verified "{new.text}", written to {place}'


def _tried(name: str) -> str:
    """Note that the archives of a CUDA set were downloaded and used."""
    path = paths.bundled("images") / "cuda" / f"{name}.toml"
    text = re.sub(
        r"^(# Nobody has yet .*\n)?untried = true\n", "", path.read_text("utf-8"), flags=re.M
    )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        return f"its archives are tried (not written: {error.strerror})"
    return f"its archives are tried, written to cuda/{name}.toml"


def page() -> str:
    """The page that says, release by release, what was verified and what was not."""
    rows = [
        "| release | CPU | GPU packages, on a CPU | on a GPU | CUDA's libraries |",
        "|---|---|---|---|---|",
    ]
    sets: dict[frozenset[str], str] = {}
    for release in releases.load_releases(releases.shipped()):
        seen = {kind: _seen(release, kind, sets) for kind in releases.VERIFIED}
        rows.append(
            f"| {release.name} | {seen['cpu'] or 'no'} |"
            f" {seen['gpu-build'] or _unproven(release)} |"
            f" {seen['gpu'] or 'no' if release.cuda else release.no_gpu} | {_libraries(release)} |"
        )
    which = [f"- {letter}: {', '.join(_ordered(names))}" for names, letter in sets.items()]
    missing = {*workloads()} - frozenset().union(*sets)
    if sets and missing:
        which.append(f"- in none of them: {', '.join(_ordered(missing))}")
    listed = ["", "Workloads:", "", *which] if sets else []
    return _HEADING + "\n".join((*rows, *listed)) + "\n"


def _seen(release: Release, kind: str, sets: dict[frozenset[str], str]) -> str:
    """On what it was seen to run, and when; empty: it was not. `sets`: of workloads, by letter."""
    said = []
    for each in map(Record.read, release.verified):
        name, _, more = each.what.partition(": ")
        if name != kind:
            continue
        if not each.day:
            said.append(more or "yes")
            continue
        letter = sets.setdefault(frozenset(each.workloads), chr(ord("a") + len(sets)))
        many = "workload" if len(each.workloads) == 1 else "workloads"
        lacking = [variant for variant in release.variants if variant not in each.variants]
        without = f", not {listing(lacking)}" if lacking else ""
        start = f"{more}: " if more else ""
        said.append(f"{start}{len(each.workloads)} {many} ({letter}){without}, {each.day}")
    return "; ".join(said)


def _ordered(names: Iterable[str]) -> list[str]:
    """As `dlbench list workloads` has them."""
    order = list(workloads())
    return sorted(names, key=lambda name: (order.index(name) if name in order else 999, name))


def _unproven(release: Release) -> str:
    """What is said of GPU packages that nobody has proven; why, where that is known."""
    if release.cuda is None:
        return "-"
    linked = release.cuda.set is not None and not release.cuda.needs
    return "no: linked to the archives' libraries" if linked else "no"


def _libraries(release: Release) -> str:
    cuda = release.cuda
    if cuda is None:
        return "-"
    chosen = cuda_sets.of_release(release, "gpu")
    if chosen is None:
        return f"{cuda.version}, as packages"
    return f"{cuda.version}, from archives" + (", untried" if chosen.untried else "")


_HEADING = """# What was verified

Made from `verified` in the release files by `dlbench list releases --verified`; do not edit it.

*CPU*: every way to train was proven equal to the reference, and trained, on a CPU: on at least
digits-, mnist-, cifar10- and svhn-cnn, imdb-lstm, jarvis-fcrn-10 and two graphs for proofs alone.
[models.md](models.md) says which release was proven on which other workload.

*GPU packages, on a CPU*: the packages of `gpu.lock` were installed with the libraries they need and
proven equal in the same way, on a machine without a GPU, with a stand-in for the driver that says
"no device". So every library is found and every symbol binds, and the build computes right on the
CPU; its GPU code did not run. A cell says on how many workloads, with a letter for which those are
(below the table), and on which day the last of these proofs was made: by the code of that day, and
in every way to train that is not named after *not*. Workloads with the same small graph and recipe
share a proof, and `fused` differs from the first way on detectors alone. What is not named was not
tried: workloads and ways to train came later, as did the op softmax, which no workload has.

*On a GPU*: proven on the GPU that is named. Where that column says no, the release's GPU code has
never run.

*Without CUDA's libraries*: it opens them only to use a GPU, and they were not there.
*Linked to the archives' libraries*: it does not start without them, and they were not there.
*From archives, untried*: the archives' addresses and digests are known from public sources, but
nobody has downloaded them with dlbench yet.

If you have a GPU, one command runs the whole check and prints what to send in:

    dlbench verify --gpu all --record

"""
