"""Whether the user has accepted NVIDIA's terms, without which its archives are not downloaded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from dlbench import paths
from dlbench.environments.cuda_sets import CudaSet
from dlbench.errors import UserError

TERMS = (
    "Downloading NVIDIA's archives means accepting NVIDIA's terms. The libraries may be used on"
    " this machine; the image layer that holds them must not be published or passed on."
)


def accepted() -> dict[str, str]:
    """The licences that were accepted, each with when."""
    try:
        content = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    known = content.get("accepted") if isinstance(content, dict) else None
    return dict(known) if isinstance(known, dict) else {}


def accept(licences: Iterable[str]) -> None:
    """Record that the user accepts these."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    content = {"v": 1, "accepted": {**dict.fromkeys(licences, now), **accepted()}}
    path = _file()
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_name(f"{path.name}.new")
    written.write_text(json.dumps(content, indent=1), encoding="utf-8")
    written.replace(path)


def lacking(chosen: CudaSet) -> list[str]:
    """The licences of this set that were not accepted yet."""
    known = accepted()
    return [licence for licence in chosen.licences if licence not in known]


def check(chosen: CudaSet, who: str) -> None:
    """Refuse to go on where a licence was not accepted."""
    if missing := lacking(chosen):
        raise UserError(
            f"{who} needs CUDA's libraries from NVIDIA's archives, under terms that you have not"
            f" accepted yet: {'; '.join(missing)}.",
            "Read them, then run `dlbench images accept-cuda`.",
        )


def _file() -> Path:
    return paths.cache() / "cuda" / "accepted.json"
