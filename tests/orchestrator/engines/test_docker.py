"""What only a container does: the locks on its door, and how the daemon says no."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dlbench.engines import cgroups, refusals
from dlbench.engines.base import Limits, Request
from dlbench.engines.docker import DockerEngine
from dlbench.errors import UserError

from .conftest import Bed

if TYPE_CHECKING:
    import docker

pytestmark = pytest.mark.docker
RequestFor = Callable[[str], Request]

LOOK_AROUND = """
    import errno, json, os, socket, sys
    def attempt(action):
        try:
            action()
        except OSError as error:
            return errno.errorcode[error.errno]
        return "done"
    def fork_many():
        children = []
        try:
            for _ in range(200):
                child = os.fork()
                if child == 0:
                    import time
                    time.sleep(60)
                children.append(child)
        finally:
            for child in children:
                os.kill(child, 9)
                os.waitpid(child, 0)
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    network = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    seen = {
        "uid": os.getuid(),
        "gid": os.getgid(),
        "capabilities": [int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")],
        "no_new_privileges": status["NoNewPrivs"].strip(),
        "seccomp": status["Seccomp"].strip(),
        "interfaces": [name for _, name in socket.if_nameindex()],
        "network": attempt(lambda: network.connect(("192.0.2.1", 80))),
        "root": attempt(lambda: open("/intruder", "w")),
        "usr": attempt(lambda: open("/usr/intruder", "w")),
        "code": attempt(lambda: open("/code/bench/__main__.py", "a")),
        "data": attempt(lambda: open("/data/numbers.txt", "a")),
        "job": attempt(lambda: open("/job/job.json", "a")),
        "out": attempt(lambda: open("/out/file", "w")),
        "tmp": attempt(lambda: open("/tmp/file", "w")),
        "fork": attempt(fork_many),
        "hostname": socket.gethostname(),
    }
    json.dump(seen, open("/out/seen.json", "w"))
    """


def test_the_locks_seen_from_inside(docker_bed: Bed, request_for: RequestFor) -> None:
    request = replace(request_for(LOOK_AROUND), limits=Limits(pids=50))
    # Only the mount stands between the trial and these.
    for file in (request.job, request.data / "numbers.txt", request.bench / "__main__.py"):
        file.chmod(0o666)
    running = docker_bed.start(request)
    ended = running.wait(60)
    assert ended is not None and ended.code == 0, request.log.read_text()
    seen = json.loads((request.out / "seen.json").read_text())
    assert seen.pop("uid") == (os.getuid() or 65534)
    assert seen.pop("gid") == (os.getgid() or 65534)
    assert seen == {
        "capabilities": [0, 0, 0],
        "no_new_privileges": "1",
        "seccomp": "2",
        "interfaces": ["lo"],
        "network": "ENETUNREACH",
        "root": "EROFS",
        "usr": "EROFS",
        "code": "EROFS",
        "data": "EROFS",
        "job": "EROFS",
        "out": "done",
        "tmp": "done",
        "fork": "EAGAIN",
        "hostname": "trial",
    }


def test_lines_of_output_and_errors_are_not_torn(docker_bed: Bed, request_for: RequestFor) -> None:
    request = request_for(
        """
        import sys
        for number in range(300):
            for stream in (sys.stdout, sys.stderr):
                stream.write("<")
                stream.flush()
                stream.write("%d>\\n" % number)
                stream.flush()
        sys.stdout.write("no newline")
        """
    )
    assert docker_bed.start(request).wait(60) is not None
    lines = request.log.read_text().splitlines()
    assert sorted(lines) == sorted([f"<{n}>" for n in range(300)] * 2 + ["no newline"])


def test_compiled_code_runs_from_the_temporary_folder(
    docker_bed: Bed, request_for: RequestFor
) -> None:
    request = request_for(
        """
        import os, shutil, subprocess, sys
        shutil.copy(sys.executable, "/tmp/python")
        subprocess.run(["/tmp/python", "-S", "-c", "print('it runs')"],
                       env={"PYTHONHOME": "/usr/local"}, check=True)
        """
    )
    running = docker_bed.start(request)
    ended = running.wait(60)
    assert ended is not None and ended.code == 0, request.log.read_text()
    assert "it runs" in request.log.read_text()


def test_close_leaves_no_container_and_no_group(
    docker_client: docker.DockerClient, docker_bed: Bed, request_for: RequestFor
) -> None:
    request = request_for("import sys; sys.stdin.read()")
    running = docker_bed.start(request)
    filters = {"label": f"org.dlbench.trial={request.trial}"}
    mine = [running.scope.container]
    listed = docker_client.containers.list(filters=filters)
    assert [c.id for c in listed if c.labels["org.dlbench.campaign"] == request.campaign] == mine
    running.close()
    assert running.scope.container not in [
        c.id for c in docker_client.containers.list(all=True, filters=filters)
    ]
    name = cgroups.group_name(request.campaign, request.trial)
    for mount in cgroups.mounts(Path("/proc/self/mountinfo").read_text()):
        assert not (mount.folder / name).exists()


def test_a_gpu_without_nvidia_runtime_is_refused(
    docker_client: docker.DockerClient, docker_bed: Bed, request_for: RequestFor
) -> None:
    if "nvidia" in docker_client.info().get("Runtimes", {}):
        pytest.skip("this daemon has an NVIDIA runtime")
    for gpus in (("all",), ("0",), ("GPU-6a1f2c3d-0000-1111-2222-333344445555",)):
        with pytest.raises(refusals.GpuRefused) as refused:
            docker_bed.start(replace(request_for("pass"), gpus=gpus))
        assert "no NVIDIA runtime" in refused.value.problem
        assert "nvidia-container-toolkit" in refused.value.remedy
    left = docker_client.containers.list(
        all=True, filters={"label": f"org.dlbench.campaign={request_for('').campaign}"}
    )
    assert left == []


def test_missing_image(docker_client: docker.DockerClient, request_for: RequestFor) -> None:
    request = replace(request_for("pass"), environment="sha256:" + "0" * 64)
    with pytest.raises(refusals.ImageMissing) as refused:
        DockerEngine(docker_client).start(request)
    assert "dlbench images build" in refused.value.remedy


def test_missing_folder_and_too_little_memory(docker_bed: Bed, request_for: RequestFor) -> None:
    request = request_for("pass")
    with pytest.raises(UserError, match="does not see this machine's files"):
        docker_bed.start(replace(request, data=request.data / "nowhere"))
    with pytest.raises(UserError, match="memory limit is lower"):
        docker_bed.start(replace(request, limits=Limits(memory_bytes=1 << 20)))
    with pytest.raises(UserError, match="higher than the machine has cores"):
        docker_bed.start(replace(request, limits=Limits(cpus=4096)))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's trials run as somebody else")
def test_unreadable_data_is_said_before_the_start(docker_bed: Bed, request_for: RequestFor) -> None:
    request = request_for("pass")
    request.data.chmod(0o700)
    with pytest.raises(UserError, match="can't be read by the unprivileged user") as refused:
        docker_bed.start(request)
    assert "chmod" in refused.value.remedy


class Proxy:
    """A way to a daemon that can be cut."""

    def __init__(self, listen: Path, target: str) -> None:
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(listen))
        self._server.listen()
        self._target = target
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._target)
                self._connections += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=(source, sink), daemon=True).start()

    def cut(self) -> None:
        for connection in (self._server, *self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def proxy(
    docker_client: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Proxy]:
    from dlbench.engines.connect import first_that_answers

    address = first_that_answers()[0].url
    assert address.startswith("unix://")
    way = Proxy(tmp_path / "d.sock", address.removeprefix("unix://"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'd.sock'}")
    yield way
    way.cut()


def test_a_daemon_that_goes_away_is_a_clear_error(
    proxy: Proxy, docker_bed: Bed, python_image: str, request_for: RequestFor
) -> None:
    from dlbench.engines.connect import connect

    request = replace(request_for("import time; time.sleep(600)"), environment=python_image)
    running = DockerEngine(connect()).start(request)
    assert running.wait(0.1) is None
    proxy.cut()
    begin = time.monotonic()
    with pytest.raises(refusals.DaemonGone) as gone:
        running.wait(30)
    assert time.monotonic() - begin < 30
    assert "--resume" in gone.value.remedy
    running.close()
    assert len(docker_bed.engine.sweep(request.campaign)) == 1
