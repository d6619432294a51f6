"""A build backend that builds nothing: it lets pip download an sdist without running its code.

pip asks every sdist for its metadata, even to download it, and would run a `setup.py` of 2018 with
the host's newest Python for that, which fails more often than not. The name and version it wants
are in the sdist's PKG-INFO. This folder is on PYTHONPATH only while pip downloads.
"""

import sys
from pathlib import Path


def get_requires_for_build_wheel(config_settings: object = None) -> list[str]:  # noqa: ARG001
    return []


def prepare_metadata_for_build_wheel(
    metadata_directory: str,
    config_settings: object = None,  # noqa: ARG001
) -> str:
    found: dict[str, str] = {}
    for line in Path("PKG-INFO").read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.strip().partition(": ")
        found.setdefault(key, value)
    name, version = found["Name"], found["Version"]
    folder = f"{name.replace('-', '_')}-{version.replace('-', '_')}.dist-info"
    place = Path(metadata_directory) / folder
    place.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (place / "METADATA").write_text(metadata, encoding="utf-8")
    return folder


# What pip asks for where an sdist has no pyproject.toml.
__legacy__ = sys.modules[__name__]
