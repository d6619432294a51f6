"""Turns what a container daemon says into what the user can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dlbench.errors import UserError

if TYPE_CHECKING:
    from docker.errors import APIError


class GpuRefused(UserError):
    """The daemon can't give the trial the GPUs it asks for."""


class ImageMissing(UserError):
    """The environment's image is not with this daemon."""


class DaemonGone(UserError):
    """The daemon stopped answering while a trial was running."""


_TOOLKIT = (
    "Install the NVIDIA driver and nvidia-container-toolkit, run "
    "`sudo nvidia-ctk runtime configure --runtime=docker` and restart the daemon; "
    "or run with `--device cpu`."
)
_DRIVER = "Update the NVIDIA driver of this machine, or choose an older release."

# In these orders: the first sign found decides.
_GPU_SIGNS = (
    (
        "unsatisfied condition: cuda",
        "The NVIDIA driver is too old for this release's CUDA",
        _DRIVER,
    ),
    ("unsatisfied condition: driver", "The NVIDIA driver is too old for this release", _DRIVER),
    (
        'could not select device driver "cdi"',
        "Docker knows no CDI names here",
        "Leave out `nvidia.com/gpu=`; or update Docker: from 28.2 on it knows them, from 25 on if"
        " its feature `cdi` is switched on.",
    ),
    ("could not select device driver", "Docker has no NVIDIA runtime", _TOOLKIT),
    ("unknown or invalid runtime name: nvidia", "Docker has no NVIDIA runtime", _TOOLKIT),
    (
        "unresolvable cdi devices",
        "The container engine knows no NVIDIA device of that name",
        "`nvidia-ctk cdi list` shows the names that it knows; choose one with `--gpu`, or describe"
        " the GPUs anew: `sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`.",
    ),
    (
        "unknown device",
        "There is no such GPU on this machine",
        "`nvidia-smi -L` shows those there are; choose one with `--gpu`.",
    ),
    (
        "invoking the nvidia container runtime hook directly",
        "NVIDIA's toolkit is set to CDI here, and Docker does not ask it so",
        "Name the GPU as CDI does, `--gpu nvidia.com/gpu=all`; or set the toolkit back: `sudo"
        " nvidia-ctk config --set nvidia-container-runtime.mode=auto --in-place`.",
    ),
    (
        "driver/library version mismatch",
        "The NVIDIA driver was updated, and the one before is still loaded",
        "Restart this machine.",
    ),
    (
        "nvml error: driver not loaded",
        "The NVIDIA driver is installed but not loaded",
        "`sudo modprobe nvidia` loads it, or says why not.",
    ),
    (
        "cgroup subsystem devices not found",
        "The NVIDIA Container Toolkit is too old for this machine's cgroup v2",
        "Update it to 1.8 or newer.",
    ),
    (
        "bpf_prog_query(bpf_cgroup_device) failed",
        "NVIDIA's runtime may not set rights to devices in a rootless daemon",
        "Run `sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place`.",
    ),
    ("libnvidia-ml.so", "The NVIDIA driver is not installed or not loaded", _TOOLKIT),
    ("nvidia-container-cli", "The NVIDIA runtime could not prepare the GPU", _TOOLKIT),
    ("nvidia-container-runtime", "The NVIDIA runtime could not prepare the GPU", _TOOLKIT),
)

_OTHER_SIGNS = (
    (
        "no space left on device",
        "The container daemon's disk is full",
        "Free some space, for example with `dlbench images prune`.",
    ),
    (
        "bind source path does not exist",
        "The container daemon does not see this machine's files",
        "Use a daemon on this machine (unset DOCKER_HOST or choose another context), or "
        "`--engine process`.",
    ),
    (
        "mounts denied",
        "The container daemon is not allowed to mount the campaign's folder",
        "Share that folder in its settings, or choose another with --out.",
    ),
    (
        "minimum memory limit allowed",
        "The memory limit is lower than the daemon accepts",
        "Give more with --memory.",
    ),
    (
        "range of cpus is from",
        "The CPU limit is higher than the machine has cores",
        "Give less with --cpus.",
    ),
    (
        "executable file not found",
        "The image has no interpreter named `python`",
        "Build it again with `dlbench images build`.",
    ),
)


def explain(error: APIError, image: str) -> UserError:
    """The user's error for a refusal to create or start a trial's container."""
    message = (error.explanation or str(error)).strip()
    lowered = message.lower()
    if "no such image" in lowered or "image not known" in lowered:
        return ImageMissing(
            f"The container daemon has no image {image}.", "Build it with `dlbench images build`."
        )
    for kind, signs in ((GpuRefused, _GPU_SIGNS), (UserError, _OTHER_SIGNS)):
        for sign, problem, remedy in signs:
            if sign in lowered:
                return kind(f"{problem} (the daemon says: {_short(message)}).", remedy)
    return UserError(
        f"The container daemon refuses to start the trial: {_short(message)}.",
        "`dlbench doctor` checks the daemon.",
    )


def gone(error: Exception) -> DaemonGone:
    """The user's error for a connection that broke."""
    return DaemonGone(
        f"The container daemon stopped answering ({type(error).__name__}).",
        "Start it again; `dlbench run --resume DIR` finishes what is left.",
    )


def _short(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= 300 else f"{line[:297]}…"
