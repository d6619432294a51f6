"""How a container daemon is asked for NVIDIA's GPUs, told from what it says of itself.

There are two ways: by CDI names (the Container Device Interface), which Podman and newer Dockers
know, and through NVIDIA's hook, which Docker finds on its path.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CDI = "nvidia.com/gpu="
"""What CDI puts before a GPU's index, its UUID or `all`."""
HOOK = "nvidia-container-runtime-hook"
_FOLDERS = ("/etc/cdi", "/var/run/cdi")
"""Where CDI has its descriptions of devices, if a daemon does not say; Podman does not."""
_MOST = 1 << 20
_KIND = re.compile(rb"""["']?kind["']?\s*:\s*["']?nvidia\.com/gpu\b""")


def is_podman(info: Mapping[str, Any]) -> bool:
    """It is Podman's service that answers, not Docker's daemon."""
    return "podman" in str(info.get("InitBinary", "")) or "BuildahVersion" in info


def by_name(info: Mapping[str, Any], search_path: str | None = None) -> bool:
    """Whether this daemon is asked by CDI names.

    Podman knows no other way. Docker is asked so where nothing but CDI can pass GPUs on: its hook
    does not need descriptions, which may be older than the driver."""
    return is_podman(info) or (described(info) and not has_hook(search_path))


def described(info: Mapping[str, Any]) -> bool:
    """NVIDIA's GPUs are described to CDI, where this daemon looks for descriptions.

    Docker lists what it found from 28.2 on; from 25 on it says in which folders it looks."""
    found = (str(each.get("ID", "")) for each in info.get("DiscoveredDevices") or ())
    if any(name.startswith(CDI) for name in found):
        return True
    folders = info.get("CDISpecDirs") or (_FOLDERS if is_podman(info) else ())
    return any(_describes(Path(folder)) for folder in folders)


def has_hook(search_path: str | None = None) -> bool:
    """NVIDIA's hook is there, through which a Docker of any age passes GPUs on."""
    return shutil.which(HOOK, path=search_path or os.environ.get("PATH")) is not None


def _describes(folder: Path) -> bool:
    for pattern in ("*.yaml", "*.yml", "*.json"):
        for path in folder.glob(pattern):
            try:
                with path.open("rb") as file:
                    if _KIND.search(file.read(_MOST)):
                        return True
            except OSError:
                continue
    return False
