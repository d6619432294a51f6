"""What the shell offers when the user presses Tab; nothing is loaded before that.

A fault in somebody's own files must not end in a traceback at the prompt: then nothing is offered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable


def _offered(names: Callable[[str], Iterable[str]]) -> Callable[[str], list[str]]:
    """Those of the names that begin with what was typed, each once."""

    def beginning(incomplete: str) -> list[str]:
        try:
            found = [name for name in names(incomplete) if name.startswith(incomplete)]
        except Exception:
            return []
        return list(dict.fromkeys(found))

    return beginning


@_offered
def releases(incomplete: str) -> Iterable[str]:
    """Frameworks, their releases, and behind a colon the ways to train."""
    from dlbench.environments.releases import load_releases

    for release in load_releases():
        if ":" in incomplete:
            yield from (f"{release.name}:{variant}" for variant in release.variants)
            yield from (f"{release.framework}:{variant}" for variant in release.variants)
        else:
            yield from (release.framework, release.name)


@_offered
def workloads(_: str) -> Iterable[str]:
    from dlbench.workloads import workloads as known

    return (name for name, workload in known().items() if not workload.only_proof)


@_offered
def suites(_: str) -> Iterable[str]:
    from dlbench.suites import names

    return names()


@_offered
def studies(_: str) -> Iterable[str]:
    from dlbench.studies.reading import names

    return names()


@_offered
def metrics(_: str) -> Iterable[str]:
    from dlbench.analysis.metrics import KNOWN

    return [metric.alias or metric.column for metric in KNOWN]


@_offered
def campaigns(_: str) -> Iterable[str]:
    from dlbench.campaigns.campaign_list import campaign_folders

    return map(str, campaign_folders())


@_offered
def confounds(_: str) -> Iterable[str]:
    from dlbench.confounds.catalog import CONFOUNDS

    return [one.name for one in CONFOUNDS]
