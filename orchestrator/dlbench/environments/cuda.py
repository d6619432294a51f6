"""Whether a release's GPU packages can work on a GPU at all, told before anything is run."""

from __future__ import annotations

import re

from dlbench.environments.releases import Release


def refusal(release: Release, driver: str, sm: int) -> str | None:
    """Why this release cannot run with this driver on a GPU of this generation (sm_75: 75).

    None means: nothing known speaks against it.
    """
    if "gpu" not in release.devices:
        return f"{release.name} has no GPU packages."
    cuda = release.cuda
    if cuda is None:
        return None
    if cuda.least_driver is not None and _numbers(driver) < _numbers(cuda.least_driver):
        return (
            f"{release.name} is made for CUDA {cuda.version}, which needs driver "
            f"{cuda.least_driver} or newer; this machine has {driver}."
        )
    if cuda.newest_sm is not None and sm > cuda.newest_sm:
        return (
            f"{release.name} is made for CUDA {cuda.version}, which knows GPUs up to "
            f"sm_{cuda.newest_sm}; this one is sm_{sm}."
        )
    if cuda.oldest_sm is not None and sm < cuda.oldest_sm:
        return (
            f"{release.name} is made for CUDA {cuda.version}, which no longer knows GPUs older "
            f"than sm_{cuda.oldest_sm}; this one is sm_{sm}."
        )
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
