"""The docker engine: a trial in a container of its own, isolated and measured by the kernel."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from signal import Signals
from typing import TYPE_CHECKING, Any

from dlbench.engines import cgroups, container, refusals
from dlbench.engines.base import NOT_ASKED, Exit, Limits, Request, Running, Scope
from dlbench.engines.boundedlog import BoundedLog
from dlbench.engines.control_group import ControlGroup, remove_folder
from dlbench.engines.core_choice import choose_cores
from dlbench.engines.keeper import Keeper
from dlbench.errors import UserError

if TYPE_CHECKING:
    import docker
    from docker.api import APIClient


_LINE_BYTES = 1 << 16
"""A longer line is written in pieces."""


class DockerEngine:
    """Starts trials as containers of one daemon."""

    name = "docker"

    def __init__(self, client: docker.DockerClient) -> None:
        self._api: APIClient = client.api

    @cached_property
    def _daemon(self) -> container.Daemon:
        return container.Daemon.ask(self._api)

    @property
    def _local(self) -> bool:
        return bool(self._api.base_url == "http+docker://localhost")

    def pin(self, request: Request) -> tuple[tuple[int, ...], str]:
        """The cores that its container is pinned to, or why it is not."""
        if request.cores is None:
            return (), NOT_ASKED
        if not self._local or self._daemon.cores != (os.cpu_count() or 0):
            return (), "The container daemon is on another machine, or in a virtual one."
        if not self._daemon.pins:
            return (), "The container daemon can't pin containers to cores here."
        return choose_cores(os.sched_getaffinity(0), request.cores), ""

    @cached_property
    def _roots(self) -> dict[str, Path]:
        """The tops of the control group hierarchies, if trials can have a group right below them.

        In a group of ours around the container the kernel's totals outlive the container."""
        if os.geteuid() != 0 or not self._local:
            return {}
        if not self._daemon.cgroupfs or self._daemon.rootless:
            return {}
        return _real_roots(cgroups.mounts(Path("/proc/self/mountinfo").read_text()))

    def unenforced(self, limits: Limits) -> tuple[str, ...]:
        """Which limits this daemon can't hold containers to: one sentence each."""
        limited = {"memory": limits.memory_bytes is not None, "CPU": limits.cpus is not None}
        return tuple(
            sentence
            for sentence in self._daemon.unenforced
            if all(wanted or f" {name} " not in sentence for name, wanted in limited.items())
        )

    def start(self, request: Request) -> RunningContainer:
        """Start the trial. Raises `UserError` (`GpuRefused`, `ImageMissing`) if refused."""
        from docker.errors import APIError
        from requests.exceptions import RequestException

        parents: dict[str, Path] = {}
        identity = None
        try:
            name = cgroups.group_name(request.campaign, request.trial)
            parents = {controller: root / name for controller, root in self._roots.items()}
            _prepare(parents)
            parent = f"/{name}" if parents else None
            pinned = self.pin(request)
            identity = container.create(self._api, self._daemon, request, parent, pinned[0])
            return RunningContainer(self._api, identity, request, parents, pinned)
        except BaseException as error:
            if identity is not None:
                with suppress(APIError, RequestException):
                    self._api.remove_container(identity, force=True, v=True)
            _remove(parents)
            if isinstance(error, APIError):
                raise refusals.explain(error, request.environment) from error
            if isinstance(error, RequestException):
                raise refusals.gone(error) from error
            raise

    def sweep(self, campaign: str) -> list[str]:
        from docker.errors import NotFound
        from requests.exceptions import RequestException

        label = f"{container.CAMPAIGN_LABEL}={campaign}"
        try:
            containers = self._api.containers(all=True, filters={"label": [label]})
            for left in containers:
                with suppress(NotFound):
                    self._api.remove_container(left["Id"], force=True, v=True)
        except RequestException as error:
            raise refusals.gone(error) from error
        for root in set(self._roots.values()):
            for folder in root.glob(f"{cgroups.prefix(campaign)}*"):
                remove_folder(folder)
        return [f"container {left['Id'][:12]}" for left in containers]


class RunningContainer(Running):
    """A started trial; see `base.Running`."""

    def __init__(
        self,
        api: APIClient,
        identity: str,
        request: Request,
        parents: dict[str, Path],
        pinned: tuple[tuple[int, ...], str],
    ) -> None:
        self._api = api
        self._id = identity
        self._parents = parents
        self._keeper: Keeper | None = None
        self._exit: Exit | None = None
        self._failure: UserError | None = None
        self._over = threading.Event()
        self._closed = False
        # Attached before the start: this connection is the lifeline (the daemon ends the
        # container's standard input when it breaks) and brings the output, from its first byte.
        self._stream: Any = api.attach_socket(
            identity, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        )
        try:
            api.start(identity)
            log = BoundedLog(request.log)
        except BaseException:
            _hang_up(self._stream)
            raise
        self._copier = threading.Thread(
            target=_copy, args=(self._stream, log), name="trial-log", daemon=True
        )
        self._copier.start()
        pid = int(api.inspect_container(identity)["State"]["Pid"] or 0)
        self.scope = self._scope(pid, request.limits, pinned)
        threading.Thread(target=self._await_end, name="trial-end", daemon=True).start()

    def _scope(self, pid: int, limits: Limits, pinned: tuple[tuple[int, ...], str]) -> Scope:
        own = cgroups.of_process(pid) if pid else {}
        # A process of that number here is another one if the daemon is on another machine.
        own = {name: path for name, path in own.items() if self._id in path.name}
        chosen = cgroups.choose(own)
        # Around it is our group, unless the daemon lives in a hierarchy of its own.
        inside = all(path.parent == self._parents.get(name) for name, path in chosen.items())
        folders = cgroups.choose(self._parents) if inside else chosen
        if not all(folder.exists() for folder in folders.values()):
            folders = {}
        if os.geteuid() == 0 and own:
            # bench ends by itself when its standard input does; the keeper makes sure that it does.
            self._keeper = Keeper(chosen.values())
        cores = float(len(pinned[0]) or len(os.sched_getaffinity(0)))
        return Scope(
            pid=pid if own else 0,
            cpus=cores if limits.cpus is None else min(limits.cpus, cores),
            cgroup=cgroups.counted(folders),
            container=self._id,
            pinned=pinned[0],
            unpinned=pinned[1],
        )

    def _await_end(self) -> None:
        """One long question to the daemon instead of many short ones."""
        try:
            code = int(self._api.wait(self._id, timeout=None)["StatusCode"])
            state = self._api.inspect_container(self._id)["State"]
            self._copier.join(timeout=5.0)
            killed = (
                bool(state.get("OOMKilled")) or cgroups.oom_kills(cgroups.choose(self._parents)) > 0
            )
            self._exit = Exit(code=_signed(code), oom=killed and code != 0)
        except Exception as error:  # whatever breaks, no caller may wait for ever
            self._failure = refusals.gone(error)
        finally:
            self._over.set()

    def wait(self, seconds: float) -> Exit | None:
        """As the protocol says; raises `DaemonGone` where the daemon no longer answers."""
        self._over.wait(max(0.0, seconds))
        if self._failure is not None:
            raise self._failure
        return self._exit

    def pids(self) -> set[int]:
        return ControlGroup(self.scope.cgroup).pids()

    def signal(self, number: Signals) -> None:
        from docker.errors import APIError
        from requests.exceptions import RequestException

        try:
            self._api.kill(self._id, number.name)
        except APIError:
            pass  # it has just ended
        except RequestException as error:
            raise refusals.gone(error) from error

    def close(self) -> None:
        from docker.errors import APIError
        from requests.exceptions import RequestException

        if self._closed:
            return
        self._closed = True
        with suppress(APIError, RequestException):
            self._api.remove_container(self._id, force=True, v=True)
        self._over.wait(5.0)
        if self._keeper is not None:
            self._keeper.dismiss()
        _hang_up(self._stream)
        self._copier.join(timeout=5.0)
        _remove(self._parents)


def _signed(code: int) -> int:
    """As Python counts: the daemon adds 128 to the number of a signal."""
    return 128 - code if 128 < code <= 128 + 64 else code


def _hang_up(stream: Any) -> None:
    """Close an attached stream: docker-py hands out the innermost of three objects around it."""
    with suppress(OSError, AttributeError):
        stream._sock.shutdown(socket.SHUT_RDWR)
    for layer in (getattr(stream, "_response", stream), stream):
        with suppress(OSError, ValueError, AttributeError):
            layer.close()


def _copy(stream: Any, log: BoundedLog) -> None:
    from docker.utils.socket import frames_iter_no_tty

    # Output and errors come apart and in pieces: whole lines are put together, none is torn.
    begun = {1: b"", 2: b""}
    with log:
        with suppress(OSError, ValueError):
            frames: Any = frames_iter_no_tty(stream)
            for source, data in frames:
                text = begun.get(source, b"") + data
                end = len(text) if len(text) > _LINE_BYTES else text.rfind(b"\n") + 1
                log.write(text[:end])
                begun[source] = text[end:]
        for rest in begun.values():
            log.write(rest)


def _real_roots(mounts: list[cgroups.Mount]) -> dict[str, Path]:
    """The tops of all hierarchies; nothing unless they are the machine's own, not a container's."""
    roots = {name: m.folder for m in mounts if m.root == "/" for name in m.controllers}
    chosen = cgroups.choose(roots)
    if unified := chosen.get(cgroups.UNIFIED):
        real = not (unified / "cgroup.type").exists()
    else:
        real = bool(chosen) and (chosen["memory"] / "release_agent").exists()
    return roots if real else {}


def _prepare(parents: dict[str, Path]) -> None:
    """Make the memory group ourselves: older kernels count what is below only if told to."""
    if "memory" not in cgroups.choose(parents):
        return
    with suppress(OSError):
        parents["memory"].mkdir(exist_ok=True)
        (parents["memory"] / "memory.use_hierarchy").write_text("1")


def _remove(parents: dict[str, Path]) -> None:
    end = time.monotonic() + 2.0
    for folder in set(parents.values()):
        if folder.exists():
            remove_folder(folder, end - time.monotonic())
