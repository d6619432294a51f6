"""The process engine: a trial in its release's virtual environment, with no daemon.

A process is not isolated: it sees the user's files and network. It gets a clean environment, a
process group and, where this user may make one, a control group with the limits and the counters.
"""

from __future__ import annotations

import math
import os
import resource
import select
import shutil
import subprocess
import threading
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from signal import Signals

from dlbench.engines import cgroups, leftovers, orphans
from dlbench.engines.base import (
    COMMON_VARIABLES,
    NOT_ASKED,
    Exit,
    Limits,
    Request,
    Running,
    Scope,
    cache_variables,
)  # fmt: skip
from dlbench.engines.boundedlog import BoundedLog
from dlbench.engines.control_group import ControlGroup, create
from dlbench.engines.core_choice import choose_cores
from dlbench.engines.keeper import Keeper
from dlbench.errors import UserError

_PASSED_ON = ("PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH")

# The shell waits for a word before it becomes the trial. Until then the engine has time to move it
# into its control group, set its cores and write down that it exists; so nothing of the trial runs
# outside, and no code of ours runs between fork and exec, where threads make that unsafe.
_LAUNCH = 'ulimit -c 0; read -r word || exit 125; exec "$@"'


class ProcessEngine:
    """Starts trials as processes of this user."""

    name = "process"

    def __init__(self, control_groups: bool = True) -> None:
        """`control_groups`: whether to make them where that is possible."""
        self._wants_groups = control_groups

    @cached_property
    def _groups(self) -> tuple[bool, bool]:
        """Whether trials can have a control group here, and whether it can limit the CPU."""
        name = cgroups.group_name("probe", str(os.getpid()))
        group = create(name) if self._wants_groups else None
        if group is None:
            return False, False
        # Making one is not enough: moving a process needs rights further up the tree.
        probe = subprocess.Popen(["/bin/sh", "-c", "read -r word"], stdin=subprocess.PIPE)
        try:
            group.enter(probe.pid)
            return True, group.limits_cpu
        except OSError:
            return False, False
        finally:
            probe.communicate()
            group.remove()

    def unenforced(self, limits: Limits) -> tuple[str, ...]:
        """Which limits this machine can't hold processes to: one sentence each."""
        has_group, limits_cpu = self._groups
        sentences = []
        if limits.memory_bytes is not None and not has_group:
            sentences.append(
                "The memory limit can't be enforced: this user may not make a control group here."
            )
        if limits.cpus is not None and not limits_cpu and limits.cpus != int(limits.cpus):
            sentences.append(
                f"The CPU limit of {limits.cpus:g} is rounded up to {math.ceil(limits.cpus)} whole "
                "cores: this user may not make a control group here."
            )
        return tuple(sentences)

    def start(self, request: Request) -> RunningProcess:
        """Start the trial. Raises `UserError` if the interpreter is not there."""
        if not os.access(request.environment, os.X_OK):
            raise UserError(
                f"There is no interpreter at {request.environment}.",
                "Prepare the environment again with `dlbench images build --engine process`.",
            )
        private = leftovers.make_private(request.campaign, request.trial)
        group = None
        try:
            if self._groups[0]:
                group = create(cgroups.group_name(request.campaign, request.trial))
            if group is not None:
                leftovers.record_group(private, group)
                _set_limits(group, request.limits)
            return RunningProcess(request, private, group)
        except BaseException:
            if group is not None:
                group.remove()
            shutil.rmtree(private, ignore_errors=True)
            raise

    def sweep(self, campaign: str) -> list[str]:
        return leftovers.sweep(campaign)


class RunningProcess(Running):
    """A started trial; see `base.Running`."""

    def __init__(self, request: Request, private: Path, group: ControlGroup | None) -> None:
        self._request = request
        self._private = private
        self._group = group
        self._exit: Exit | None = None
        self._ending = threading.Lock()
        self._closed = False
        self._our_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        log = BoundedLog(request.log)
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _LAUNCH, "dlbench-trial", *_command(request)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=private / "code",
                env=_environment(request, private),
                start_new_session=True,
            )
        except BaseException:
            log.close()
            raise
        assert self._process.stdin is not None and self._process.stdout is not None
        self._lifeline = self._process.stdin
        self._output = self._process.stdout
        self._pid = self._process.pid
        self._pidfd = os.pidfd_open(self._pid)
        self._copier = threading.Thread(
            target=_copy, args=(self._output.fileno(), log), name="trial-log", daemon=True
        )
        self._copier.start()
        folders = group.folders if group is not None else {}
        mark = cgroups.group_name(request.campaign, request.trial)
        try:
            self._keeper = Keeper(folders.values(), self._pid, f"{leftovers.MARK}={mark}", private)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        if group is None:
            orphans.adopt(self._pid, self._keeper.pid)
        try:
            self.scope = self._place(request, cgroups.counted(folders))
            self._lifeline.write(b"go\n")
            self._lifeline.flush()
        except BaseException:
            self.close()
            raise

    def _place(self, request: Request, counted: dict[str, Path]) -> Scope:
        """Put the waiting process where it belongs; says which cores it has."""
        limits = request.limits
        if self._group is not None:
            self._group.enter(self._pid)
        _, hardest = resource.prlimit(self._pid, resource.RLIMIT_FSIZE)
        if hardest == resource.RLIM_INFINITY or hardest > limits.file_bytes:
            most = limits.file_bytes, limits.file_bytes
            resource.prlimit(self._pid, resource.RLIMIT_FSIZE, most)
        pinned, why = self._pin(request)
        cores = float(len(pinned) or len(os.sched_getaffinity(0)))
        quota = limits.cpus if self._group is not None and self._group.limits_cpu else None
        allotted = cores if quota is None else min(quota, cores)
        return Scope(self._pid, allotted, counted, None, pinned, why, (self._private,))

    def _pin(self, request: Request) -> tuple[tuple[int, ...], str]:
        """The cores that it is pinned to, or why it is not."""
        wanted, limit = request.cores, request.limits.cpus
        if limit is not None and not (self._group is not None and self._group.limits_cpu):
            # Nothing else holds it to its limit here.
            wanted = min(wanted or math.ceil(limit), math.ceil(limit))
        if wanted is None:
            return (), NOT_ASKED
        chosen = choose_cores(os.sched_getaffinity(0), wanted)
        try:
            os.sched_setaffinity(self._pid, chosen)
        except OSError as error:
            return (), f"The kernel refuses it ({error.strerror})."
        return chosen, ""

    def wait(self, seconds: float) -> Exit | None:
        if self._exit is None and _readable(self._pidfd, seconds):
            self._end()
        return self._exit

    def pids(self) -> set[int]:
        if self._group is not None:
            return self._group.pids()
        return leftovers.pids_of_trial(self._request.campaign, self._request.trial)

    def close(self) -> None:
        if self._exit is None:
            self.stop(0.0)
        if self._closed:
            return
        self._closed = True
        os.close(self._pidfd)
        if self._group is not None:
            self._group.remove()
        shutil.rmtree(self._private, ignore_errors=True)

    def signal(self, number: Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

    def _end(self) -> None:
        """The main process is over: end what it left running, then take its exit status.

        In this order, because until the status is taken the kernel gives its number to no other
        process: no other process can be hit.
        """
        with self._ending:
            if self._exit is not None:
                return
            self.signal(Signals.SIGKILL)
            oom = False
            if self._group is not None:
                self._group.kill()
                oom = cgroups.oom_kills(self._group.folders) > 0
            else:
                leftovers.end_trial(self._request.campaign, self._request.trial)
                orphans.end_orphans(self._pid, self._keeper.pid)
            self._keeper.dismiss()
            _, status, usage = os.wait4(self._pid, 0)
            code = os.waitstatus_to_exitcode(status)
            self._process.returncode = code
            with suppress(BrokenPipeError):
                self._lifeline.close()
            self._copier.join(timeout=5.0)
            if not self._copier.is_alive():
                self._output.close()
            self._exit = Exit(
                code=code,
                oom=oom and code != 0,
                cpu_seconds=usage.ru_utime + usage.ru_stime,
                # The kernel counts from before exec, when the memory was still the orchestrator's:
                # a peak below ours is ours and says nothing of the trial.
                rss_peak_bytes=usage.ru_maxrss * 1024 if usage.ru_maxrss > self._our_peak else None,
            )


def _set_limits(group: ControlGroup, limits: Limits) -> None:
    try:
        group.limit(limits)
    except OSError as error:
        raise UserError(
            f"The kernel refuses the limits of {limits.cpus or 'all'} cores and "
            f"{limits.memory_bytes or 'all'} bytes of memory ({error.strerror}).",
            "Give other values with --cpus and --memory.",
        ) from error


def _command(request: Request) -> list[str]:
    paths = [request.job, request.data, request.out]
    paths += [request.weights] if request.weights is not None else []
    return [request.environment, "-m", "bench", *(str(path.absolute()) for path in paths)]


def _environment(request: Request, private: Path) -> dict[str, str]:
    """All that the trial sees of ours: an allow-list, and folders of its own."""
    (private / "code").mkdir()
    (private / "code" / "bench").symlink_to(request.bench.absolute(), target_is_directory=True)
    for name in ("home", "tmp"):
        (private / name).mkdir()
    passed = {k: v for k, v in os.environ.items() if k in _PASSED_ON or k.startswith("LC_")}
    variables = {
        **passed,
        **COMMON_VARIABLES,
        "HOME": str(private / "home"),
        "TMPDIR": str(private / "tmp"),
        "PYTHONPATH": str(private / "code"),
    }
    # CUDA knows no CDI names; what stands behind the `=` is what it calls them.
    shown = [gpu.rpartition("=")[2] for gpu in request.gpus]
    if shown != ["all"]:  # which it does not know either: it is what nothing said means
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(shown)
    if request.cache is not None:
        variables.update(cache_variables(str(request.cache.absolute())))
    if request.libraries:
        before = [passed["LD_LIBRARY_PATH"]] if passed.get("LD_LIBRARY_PATH") else []
        variables["LD_LIBRARY_PATH"] = ":".join([*map(str, request.libraries), *before])
    mark = cgroups.group_name(request.campaign, request.trial)
    return {**variables, **request.variables, leftovers.MARK: mark}


def _readable(handle: int, seconds: float) -> bool:
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(max(0.0, seconds) * 1000))


def _copy(source: int, log: BoundedLog) -> None:
    """Move a trial's output into its log, and go on emptying the pipe when the log is full."""
    with log:
        while data := os.read(source, 1 << 16):
            log.write(data)
