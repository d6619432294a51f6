"""`dlbench list confounds`: what can be put back, where it was seen; what a suite's study had."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dlbench.cli.console import folded, print_json, say, width
from dlbench.statistics.words import listing

if TYPE_CHECKING:
    from dlbench.confounds.confound import Confound
    from dlbench.studies.claims import Study, StudyConfound


def list_confounds(*, as_json: bool) -> None:
    from dlbench.confounds.catalog import CONFOUNDS
    from dlbench.studies import reading

    studies = reading.studies()
    rows = [
        {
            "name": one.name,
            "about": one.about,
            "acts_on": one.acts_on,
            "parameters": {
                key: {"expects": each.words, "default": each.default, "optional": each.optional}
                for key, each in one.parameters.items()
            },
            "proof": _proof(one),
            "sources": list(_sources(one, studies)),
        }
        for one in CONFOUNDS
    ]
    if as_json:
        print_json(rows)
        return
    for one in CONFOUNDS:
        text = f"{one.name}{_parameters(one)} ({one.acts_on}). {one.about}"
        for line in (text, f"  Seen in {_seen(one, studies)}."):
            say(folded(line, 2, width()), whole=True)
    say("Run one: dlbench run --workload mnist-cnn --as intended --confound no-dropout", whole=True)
    say("A study's own: dlbench run --suite elshawi2021 --as published", whole=True)
    say("`dlbench show suite NAME` says which a study had, in which framework, and where.")


def _parameters(one: Confound) -> str:
    """`:to=…[,lr=…]`, as it is written behind the name; what has a default with that."""
    said = ""
    for key, each in one.parameters.items():
        value = "…" if each.default is None else str(each.default).lower()
        text = f"{',' if said else ':'}{key}={value}"
        said += text if each.default is None and not each.optional else f"[{text}]"
    return said


def _proof(one: Confound) -> str:
    if one.in_bench:
        return "the model is proven as intended; what is altered is outside it"
    return "the altered model is proven to be altered just so"


def _sources(one: Confound, studies: tuple[Study, ...]) -> Iterator[dict[str, Any]]:
    for study in studies:
        for had in study.confounds:
            if had.confound.partition(":")[0] == one.name:
                yield {"study": study.name, **asdict(had)}


def _seen(one: Confound, studies: tuple[Study, ...]) -> str:
    """`elshawi2021 (mxnet, theano) and tian2020 (all)`."""
    found: dict[str, dict[str, None]] = {}
    for source in _sources(one, studies):
        found.setdefault(source["study"], {}).update(dict.fromkeys(source["frameworks"]))
    every = {study.name: len(study.frameworks) for study in studies}
    return listing(
        [
            f"{study} ({'all' if len(names) == every[study] else ', '.join(names)})"
            for study, names in found.items()
        ]
    )


def of_study(study: Study) -> Iterator[str]:
    """What `--as published` puts back, one line each; then what it can't."""
    put_back = [one for one in study.confounds if one.put_back]
    if put_back:
        yield "With --as published:"
        yield from (f"- {_line(study, one)}: {one.confound}" for one in put_back)
    others = [one for one in study.confounds if not one.put_back]
    if others:
        yield "Known and not put back:"
        yield from (f"- {_line(study, one)}. {one.note}" for one in others)


def _line(study: Study, one: StudyConfound) -> str:
    everyone = len(one.frameworks) == len(study.frameworks)
    who = "all" if everyone else ", ".join(one.frameworks)
    return f"{who} on {', '.join(one.workloads)}: {one.said} [{one.place}]"
