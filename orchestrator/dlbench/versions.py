"""How versions and releases are ordered: by their numbers, not as text."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version


def version_order(version: str) -> tuple[Version, str]:
    """What to sort by. `3.15.1-jax`, a version and what it runs on, sorts as 3.15.1, then `jax`.

    Raises InvalidVersion.
    """
    number, _, flavour = version.partition("-")
    return Version(number), flavour


def release_order(release: str) -> tuple[str, Version, str]:
    """`framework@version` by framework, then by version; any text is accepted as a version."""
    framework, _, version = release.partition("@")
    try:
        return framework, *version_order(version)
    except InvalidVersion:
        number, _, flavour = version.partition("-")
        digits = re.findall(r"[0-9]+", number)
        return framework, Version(".".join(digits) or "0"), flavour
