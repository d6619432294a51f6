"""What the shell offers when the user presses Tab; nothing is loaded before that.

A fault in somebody's own files must not end in a traceback at the prompt: then nothing is offered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable


def _beginning(names: Callable[[], Iterable[str]], incomplete: str) -> list[str]:
    try:
        return [name for name in names() if name.startswith(incomplete)]
    except Exception:
        return []


def releases(incomplete: str) -> list[str]:
    """Frameworks, their releases, and behind a colon the ways to train."""

    def names() -> Iterable[str]:
        from dlbench.environments.releases import load_releases

        for release in load_releases():
            if ":" in incomplete:
                yield from (f"{release.name}:{variant}" for variant in release.variants)
                yield from (f"{release.framework}:{variant}" for variant in release.variants)
            else:
                yield from (release.framework, release.name)

    return list(dict.fromkeys(_beginning(names, incomplete)))


def workloads(incomplete: str) -> list[str]:
    def names() -> Iterable[str]:
        from dlbench.workloads import workloads as known

        return (name for name, workload in known().items() if not workload.only_proof)

    return _beginning(names, incomplete)


def suites(incomplete: str) -> list[str]:
    def names() -> Iterable[str]:
        from dlbench.suites import names as known

        return known()

    return _beginning(names, incomplete)


def studies(incomplete: str) -> list[str]:
    def names() -> Iterable[str]:
        from dlbench.studies.reading import names as known

        return known()

    return _beginning(names, incomplete)


def metrics(incomplete: str) -> list[str]:
    def names() -> Iterable[str]:
        from dlbench.analysis.metrics import KNOWN

        return [metric.alias or metric.column for metric in KNOWN]

    return _beginning(names, incomplete)


def campaigns(incomplete: str) -> list[str]:
    def names() -> Iterable[str]:
        from dlbench.campaigns.campaign_list import campaign_folders

        return [str(folder) for folder in campaign_folders()]

    return _beginning(names, incomplete)


def confounds(incomplete: str) -> list[str]:
    def names() -> Iterable[str]:
        from dlbench.confounds.catalog import CONFOUNDS

        return [one.name for one in CONFOUNDS]

    return _beginning(names, incomplete)
