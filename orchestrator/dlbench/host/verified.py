"""What was seen to run, on what: recorded in the release files, shown as a page of the docs.

A release is recorded when all its ways to train were proven on every workload, or on some, which
the record then names; never where one of them failed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dlbench import paths
from dlbench.environments import cuda_sets, releases
from dlbench.environments.releases import Release
from dlbench.host import gpu_preflight
from dlbench.monitor.gpu import inventory
from dlbench.workloads import workloads

_ONLY = " only"
"""Behind the names of workloads, where they were not all."""


def word(
    device: str, packages: str, *, whole: bool = True, selection: Sequence[str] = ("all",)
) -> str:
    """What `verified` in a release.toml says of packages that were proven on this device.

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
        if lacking:
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


def _write(release: Release, proven: str, tried: Sequence[str]) -> str:
    """Add what was proven on these workloads to the release's file; what was added, and where."""
    if proven in release.verified and not {*tried} >= {*workloads()}:
        return f'"{proven}" was verified on every workload before: nothing to add.'
    start = f"{proven}{',' if ':' in proven else ':'} "
    on_some, lacks_a_way = f"{start}on ", f"{start}not "
    before = [each for each in release.verified if each.startswith((on_some, lacks_a_way))]
    whole = [each for each in before if each.endswith(_ONLY)]  # of every way to train
    names = [name for each in whole for name in each[len(on_some) : -len(_ONLY)].split(", ")]
    every = [*dict.fromkeys((*names, *tried))]
    said = proven if {*every} >= {*workloads()} else f"{on_some}{', '.join(every)}{_ONLY}"
    kept = [each for each in release.verified if each != said and each not in before]
    path = release.folder / "release.toml"
    line = "verified = [" + ", ".join(f'"{each}"' for each in (*kept, said)) + "]"
    text = re.sub(r"^verified = \[[^\]]*\]", lambda _: line, path.read_text("utf-8"), flags=re.M)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        return f'verified "{said}" (not written: {error.strerror})'
    place = f"{release.folder.parent.name}/{release.folder.name}/release.toml"
    return f'verified "{said}", written to {place}'


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
    for release in releases.load_releases(releases.shipped()):
        seen = {kind: _seen(release, kind) for kind in releases.VERIFIED}
        rows.append(
            f"| {release.name} | {seen['cpu'] or 'no'} |"
            f" {seen['gpu-build'] or _unproven(release)} |"
            f" {seen['gpu'] or 'no' if release.cuda else release.no_gpu} | {_libraries(release)} |"
        )
    return _HEADING + "\n".join(rows) + "\n"


def _seen(release: Release, kind: str) -> str:
    """On what it was seen to run; empty: it was not."""
    said = [each for each in release.verified if each.partition(":")[0] == kind]
    return "; ".join(each.partition(": ")[2] or "yes" for each in said)


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

*CPU*: every way to train was proven equal to the reference on every workload that dlbench had
then (at least digits-, mnist-, cifar10- and svhn-cnn, imdb-lstm, jarvis-fcrn-10 and two graphs
for proofs alone), and trained, on a CPU. *GPU packages, on a CPU*: the packages of `gpu.lock`
were installed with the libraries they need and proven equal in the same way, on a machine without
a GPU, with a stand-in for the driver that says "no device". So every library is found and every
symbol binds, and the build computes right on the CPU; its GPU code did not run. *On a GPU*:
proven on the GPU that is named. Where that column says no, the release's GPU code has never run.
*On … only*: proven on these workloads; the others were not tried. *Not tuned*, *not fused*: that
way to train came later and was not tried. *Without CUDA's libraries*: it
opens them only to use a GPU, and they were not there.
*Linked to the archives' libraries*: it does not start without them, and they were not there.
*From archives, untried*: the archives' addresses and digests are known from public sources, but
nobody has downloaded them with dlbench yet.

If you have a GPU, one command runs the whole check and prints what to send in:

    dlbench verify --gpu all --record

"""
