"""How a trial's container is made: what it sees, what it may use, what it may not do."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlbench.engines import gpu_requests
from dlbench.engines.base import COMMON_VARIABLES, Request, cache_variables
from dlbench.engines.gpu_requests import CDI
from dlbench.errors import UserError

if TYPE_CHECKING:
    from docker.api import APIClient
    from docker.types import Mount

CAMPAIGN_LABEL = "org.dlbench.campaign"
TRIAL_LABEL = "org.dlbench.trial"
NOBODY = 65534
_WEIGHTS = "/weights/weights.npz"
_TMP_BYTES = 2 << 30
_SHM_BYTES = 1 << 30


@dataclass(frozen=True)
class Daemon:
    """What a daemon says of itself, as far as it changes how containers are made."""

    rootless: bool
    podman: bool
    cgroupfs: bool
    """It puts containers where we say; with the systemd driver systemd decides."""
    unenforced: tuple[str, ...]
    pins: bool = True
    """It can pin a container to cores."""
    cores: int = 0
    """Of its machine; 0: it does not say."""
    cdi: bool = False
    """It is asked for NVIDIA's GPUs by CDI names."""

    @classmethod
    def ask(cls, api: APIClient) -> Daemon:
        info: dict[str, Any] = api.info()
        security = info.get("SecurityOptions") or []
        lacking = {
            "memory": not info.get("MemoryLimit", True),
            "CPU": not info.get("CpuCfsQuota", True) and not info.get("CPUCfsQuota", True),
            "pids": not info.get("PidsLimit", True),
        }
        return cls(
            rootless=any("rootless" in option for option in security),
            podman=gpu_requests.is_podman(info),
            cdi=gpu_requests.by_name(info),
            pins=bool(info.get("CPUSet", True)),
            cores=int(info.get("NCPU") or 0),
            cgroupfs=info.get("CgroupDriver") == "cgroupfs",
            unenforced=tuple(
                f"The container daemon can't enforce a {name} limit on this machine."
                for name, missing in lacking.items()
                if missing
            ),
        )


def create(
    api: APIClient,
    daemon: Daemon,
    request: Request,
    cgroup_parent: str | None,
    cores: tuple[int, ...] = (),
) -> str:
    """Create the trial's container, not yet started; its id. Raises docker's APIError.

    `cores`: those that it is pinned to; none: every one."""
    user, userns = _user(daemon)
    if user == (NOBODY, NOBODY):
        _give_to_nobody(request)
    limits = request.limits
    host_config = api.create_host_config(
        mounts=_mounts(request),
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        read_only=True,
        tmpfs={"/tmp": _tmp_options(*user)},
        shm_size=_SHM_BYTES,
        userns_mode=userns,
        pids_limit=limits.pids,
        mem_limit=limits.memory_bytes,
        # As much as memory alone: no swap, which would turn a limit into a slow trial.
        memswap_limit=limits.memory_bytes,
        cpuset_cpus=",".join(map(str, cores)) or None,
        nano_cpus=None if limits.cpus is None else round(limits.cpus * 1e9),
        device_requests=_devices(request.gpus, daemon),
        ulimits=_file_limits(limits.file_bytes),
        cgroup_parent=cgroup_parent,
        # The output is read from the attached stream; the daemon keeps no second copy of it.
        log_config=_no_log(),
    )
    created = api.create_container(
        image=request.environment,
        entrypoint=["python"],
        command=_command(request),
        working_dir="/code",
        hostname="trial",
        user=f"{user[0]}:{user[1]}",
        environment=_environment(request),
        labels={CAMPAIGN_LABEL: request.campaign, TRIAL_LABEL: request.trial},
        host_config=host_config,
        # With it goes StdinOnce: standard input ends when the attached orchestrator is gone.
        stdin_open=True,
        healthcheck={"test": ["NONE"]},
        # A proxy's address in the user's docker settings may hold a password.
        use_config_proxy=False,
    )
    return str(created["Id"])


def _command(request: Request) -> list[str]:
    weights = [_WEIGHTS] if request.weights is not None else []
    return ["-m", "bench", "/job/job.json", "/data", "/out", *weights]


def _user(daemon: Daemon) -> tuple[tuple[int, int], str | None]:
    """Who the trial is: never a user who has rights on this machine that we lack."""
    uid, gid = os.getuid(), os.getgid()
    if daemon.rootless:
        # Inside a rootless daemon number 0 is this very user, and every other number somebody else
        # who can't write to the output folder.
        return ((uid, gid), "keep-id") if daemon.podman else ((0, 0), None)
    return ((NOBODY, NOBODY) if uid == 0 else (uid, gid)), None


def _give_to_nobody(request: Request) -> None:
    """Root runs trials as nobody: give it the folders to write to, check those to read."""
    for folder in (request.out, request.cache):
        if folder is not None:
            os.chown(folder, NOBODY, NOBODY, follow_symlinks=False)
    read = [(request.job, 0o4), (request.bench, 0o5), (request.data, 0o5)]
    read += [(request.weights, 0o4)] if request.weights is not None else []
    for path, needed in read:
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & needed != needed:
            raise UserError(
                f"{path} can't be read by the unprivileged user that trials run as.",
                f"Allow it with `chmod -R a+rX {path}`.",
            )


def _mounts(request: Request) -> list[Mount]:
    from docker.types import Mount

    def bind(target: str, source: Path, writable: bool = False) -> Mount:
        return Mount(target, str(source.resolve()), type="bind", read_only=not writable)

    mounts = [
        bind("/job/job.json", request.job),
        bind("/code/bench", request.bench),
        bind("/data", request.data),
        bind("/out", request.out, writable=True),
    ]
    if request.weights is not None:
        mounts.append(bind(_WEIGHTS, request.weights))
    if request.cache is not None:
        mounts.append(bind("/cache", request.cache, writable=True))
    for number, folder in enumerate(request.libraries):
        mounts.append(bind(f"/libraries/{number}", folder))
    return mounts


def _environment(request: Request) -> dict[str, str]:
    variables = {**COMMON_VARIABLES, "HOME": "/tmp", "TMPDIR": "/tmp", "PYTHONPATH": "/code"}
    if not request.gpus:
        # Also where NVIDIA's is the default runtime and an image asks for all devices by itself.
        variables["NVIDIA_VISIBLE_DEVICES"] = "void"
        variables["CUDA_VISIBLE_DEVICES"] = ""
    if request.cache is not None:
        variables.update(cache_variables("/cache"))
    if request.libraries:
        places = (f"/libraries/{number}" for number in range(len(request.libraries)))
        variables["LD_LIBRARY_PATH"] = ":".join(places)
    return {**variables, **request.variables}


def _tmp_options(uid: int, gid: int) -> str:
    # exec, because Theano, torch.compile and Triton run what they have just compiled in there.
    # An owner, because runc gives it the mode of the image's own /tmp, whatever is asked for.
    return f"rw,exec,nosuid,nodev,mode=1777,uid={uid},gid={gid},size={_TMP_BYTES}"


def _devices(gpus: tuple[str, ...], daemon: Daemon) -> list[Any] | None:
    from docker.types import DeviceRequest

    if not gpus:
        return None
    if daemon.cdi or any(gpu.startswith(CDI) for gpu in gpus):
        names = [gpu if gpu.startswith(CDI) else f"{CDI}{gpu}" for gpu in gpus]
        return [DeviceRequest(driver="cdi", device_ids=names)]
    capabilities = [["gpu", "compute", "utility"]]
    if gpus == ("all",):
        return [DeviceRequest(count=-1, capabilities=capabilities)]
    return [DeviceRequest(device_ids=list(gpus), capabilities=capabilities)]


def _file_limits(most: int) -> list[Any]:
    """No core files, and no file that alone is more than all output may be."""
    from docker.types import Ulimit

    return [
        Ulimit(name=name, soft=size, hard=size) for name, size in (("core", 0), ("fsize", most))
    ]


def _no_log() -> Any:
    from docker.types import LogConfig

    return LogConfig(type="none")
