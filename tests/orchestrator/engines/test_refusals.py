"""What daemons are known to say, and what the user reads instead."""

from __future__ import annotations

import pytest
from docker.errors import APIError

from dlbench.engines.refusals import GpuRefused, ImageMissing, explain
from dlbench.errors import UserError


@pytest.mark.parametrize(
    ("said", "kind", "problem", "remedy"),
    [
        (
            'could not select device driver "" with capabilities: [[gpu]]',
            GpuRefused,
            "no NVIDIA runtime",
            "nvidia-container-toolkit",
        ),
        (
            "OCI runtime create failed: nvidia-container-cli: requirement error: "
            "unsatisfied condition: cuda>=12.6, please update your driver",
            GpuRefused,
            "driver is too old",
            "Update the NVIDIA driver",
        ),
        (
            "nvidia-container-cli: initialization error: load library failed: "
            "libnvidia-ml.so.1: cannot open shared object file",
            GpuRefused,
            "not installed or not loaded",
            "driver",
        ),
        (
            "nvidia-container-cli: device error: 7: unknown device",
            GpuRefused,
            "no such GPU",
            "nvidia-smi -L",
        ),
        (
            'could not select device driver "cdi" with capabilities: []',
            GpuRefused,
            "knows no CDI names",
            "Leave out `nvidia.com/gpu=`",
        ),
        (
            "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=GPU-1",
            GpuRefused,
            "no NVIDIA device of that name",
            "nvidia-ctk cdi list",
        ),
        (
            "error running prestart hook #0: exit status 1, stdout: , stderr: Using requested mode"
            " 'cdi' invoking the NVIDIA Container Runtime Hook directly (e.g. specifying the docker"
            " --gpus flag) is not supported.",
            GpuRefused,
            "toolkit is set to CDI",
            "`--gpu nvidia.com/gpu=all`",
        ),
        (
            "nvidia-container-cli: initialization error: nvml error: driver/library version"
            " mismatch: unknown",
            GpuRefused,
            "driver was updated",
            "Restart this machine",
        ),
        (
            "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown",
            GpuRefused,
            "not loaded",
            "modprobe nvidia",
        ),
        (
            "nvidia-container-cli: container error: cgroup subsystem devices not found: unknown",
            GpuRefused,
            "too old for this machine's cgroup v2",
            "1.8 or newer",
        ),
        (
            "nvidia-container-cli: mount error: failed to add device rules: unable to find any"
            " existing device filters attached to the cgroup: bpf_prog_query(BPF_CGROUP_DEVICE)"
            " failed: operation not permitted: unknown",
            GpuRefused,
            "rootless",
            "no-cgroups",
        ),
        ("No such image: sha256:0000", ImageMissing, "has no image", "images build"),
        (
            "write /var/lib/docker/tmp: no space left on device",
            UserError,
            "disk is full",
            "prune",
        ),
        ("something never seen before", UserError, "something never seen before", "doctor"),
    ],
)
def test_known_sayings(said: str, kind: type[UserError], problem: str, remedy: str) -> None:
    error = explain(APIError("500 Server Error", explanation=said), "sha256:0000")
    assert type(error) is kind
    assert problem in error.problem
    assert remedy in error.remedy
