"""GPUs all the way into a container and back, with stand-ins for all that is NVIDIA's.

A daemon of our own finds a stand-in for NVIDIA's hook on its path. The hook writes down what it was
asked for and puts a stand-in for the driver into the container; the monitor reads a stand-in for
the management library. What dlbench asks for, asserts, samples and records is dlbench's own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dlbench.engines.container import Daemon, _devices
from tests.orchestrator.engines.conftest import _interpreter_tar
from tests.orchestrator.monitor.test_gpu import compile_library

CHECKOUT = Path(__file__).resolve().parents[3]
UUID_0 = "GPU-00000000-aaaa-bbbb-cccc-000000000000"
UUID_1 = "GPU-11111111-aaaa-bbbb-cccc-111111111111"
GIB = 1 << 30

HOOK = """#!{python}
import json, pathlib, shutil, sys
bundle = pathlib.Path(json.load(sys.stdin)["bundle"])
config = json.loads((bundle / "config.json").read_text())
asked = dict(each.split("=", 1) for each in config["process"]["env"])
here = pathlib.Path({here!r})
with (here / "asked.jsonl").open("a") as log:
    log.write(json.dumps({{k: asked[k] for k in asked if k.startswith("NVIDIA_")}}) + "\\n")
target = pathlib.Path(config["root"]["path"]) / "usr/lib/x86_64-linux-gnu"
target.mkdir(parents=True, exist_ok=True)
shutil.copy(here / "libcuda.so.1", target / "libcuda.so.1")
"""

# Runs in place of bench, with its real modules: says what is visible, trains for a moment.
TRIAL = """
import sys, time
from bench import formats, gpus
events = formats.Events(sys.argv[3] + "/events.jsonl")
events.write("hello", bench="0", python="3", pid=1)
try:
    events.write("stack", framework="x", version="1", gpus=gpus.check())
    time.sleep(float(open("/data/seconds").read()))
    events.write("result", metrics={}, loss=0.0, epochs=1, steps=1, samples=1, threads_alive=1)
except formats.Unsupported as error:
    events.write("error", outcome="unsupported", message=str(error))
events.write("end")
events.close()
"""

# The host's side, in a process of its own because NVML is loaded once for all of it.
HOST = """
import json, os, sys
from dataclasses import asdict
from pathlib import Path
from dlbench.engines.base import Request
from dlbench.engines.connect import connect
from dlbench.engines.docker import DockerEngine
from dlbench.monitor.gpu import digests
from dlbench.monitor.resources import Stretch, summarise
from dlbench.monitor.samples import read_samples
from dlbench.running.execute import execute

folder, image, gpus = Path(sys.argv[1]), sys.argv[2], tuple(sys.argv[3].split(","))
variables = json.loads(sys.argv[4])
(folder / "out").mkdir(); (folder / "data").mkdir(exist_ok=True)

class Engine(DockerEngine):
    def start(self, request):
        running = super().start(request)
        os.environ["STAND_IN_PID"] = str(running.scope.pid)  # it holds memory of GPU 0
        return running

request = Request(
    trial="t", campaign="passthrough", environment=image, bench=folder / "code/bench",
    job=folder / "job.json", data=folder / "data", out=folder / "out", log=folder / "log.txt",
    gpus=gpus, variables={"BENCH_GPUS": ",".join(digests(gpus)), **variables},
)
ended = execute(Engine(connect()), request, folder, hz=20)
samples = read_samples(folder / "samples.jsonl")
print(json.dumps({
    "outcome": ended.outcome, "reason": ended.reason,
    "events": [[e.kind, e.fields] for e in ended.events],
    "digests": digests(gpus),
    "gpus": samples.gpus if samples else [],
    "samples": [asdict(g) for s in (samples.samples if samples else ()) for g in s.gpus],
    "resources": asdict(summarise(samples, [Stretch("train", 0.0, 0.5)])) if samples else None,
    "log": (folder / "log.txt").read_text(),
}))
"""


@dataclass
class Stage:
    """The daemon with its hook, and an image to run."""

    folder: Path
    socket: str
    image: str

    def asked(self) -> list[dict[str, str]]:
        log = self.folder / "asked.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def run(self, folder: Path, gpus: str, seconds: float = 0.7, **stand_in: str) -> dict[str, Any]:
        shutil.rmtree(self.folder / "asked.jsonl", ignore_errors=True)
        (self.folder / "asked.jsonl").unlink(missing_ok=True)
        code = folder / "code" / "bench"
        code.mkdir(parents=True)
        for name in ("__init__.py", "formats.py", "gpus.py"):
            shutil.copy(CHECKOUT / "bench" / name, code / name)
        (code / "__main__.py").write_text(textwrap.dedent(TRIAL))
        (folder / "job.json").write_text("{}")
        (folder / "data").mkdir()
        (folder / "data" / "seconds").write_text(str(seconds))
        inside = {k: v for k, v in stand_in.items() if k == "STAND_IN_SHOW"}
        done = subprocess.run(
            [sys.executable, "-c", HOST, str(folder), self.image, gpus, json.dumps(inside)],
            env={
                **os.environ,
                **stand_in,
                "DOCKER_HOST": self.socket,
                "DLBENCH_CACHE": str(folder / "cache"),
                "PYTHONPATH": str(CHECKOUT / "orchestrator"),
                "LD_LIBRARY_PATH": str(self.folder),
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        reason = "a daemon of its own is needed (dockerd, as root)"
        if "docker" in os.environ.get("DLBENCH_TEST_REQUIRE", ""):
            pytest.fail(reason)
        pytest.skip(reason)

    folder = tmp_path_factory.mktemp("gpu")
    folder.chmod(0o755)
    compile_library(folder)
    source = Path(__file__).with_name("stand_in_cuda.c")
    command = ["gcc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", folder / "libcuda.so.1", source]
    subprocess.run(command, check=True)
    hook = folder / "bin" / "nvidia-container-runtime-hook"
    hook.parent.mkdir()
    hook.write_text(HOOK.format(python=sys.executable, here=str(folder)))
    hook.chmod(0o755)
    socket = f"unix://{folder}/docker.sock"
    daemon = subprocess.Popen(
        ["dockerd", "--bridge=none", "--iptables=false", "--shutdown-timeout=1",
         f"--data-root={folder}/data", f"--exec-root={folder}/exec", f"--pidfile={folder}/pid",
         f"--host={socket}"],
        env={**os.environ, "PATH": f"{hook.parent}:{os.environ['PATH']}"},
        stdout=(folder / "log").open("w"), stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        client = _answering(socket, daemon)
        identity = client.api.import_image_from_data(
            _interpreter_tar(), changes=["ENV PATH=/usr/local/bin:/usr/bin:/bin"]
        )
        image = identity.split('"status":"')[1].split('"')[0]
        client.close()
        yield Stage(folder, socket, image)
    finally:
        daemon.terminate()
        daemon.wait(60)
        for mount in ("data", "exec"):
            shutil.rmtree(folder / mount, ignore_errors=True)


def _answering(socket: str, daemon: subprocess.Popen[bytes]) -> Any:
    import docker

    end = time.monotonic() + 60
    while time.monotonic() < end and daemon.poll() is None:
        try:
            return docker.DockerClient(base_url=socket, timeout=60)
        except docker.errors.DockerException:
            time.sleep(0.2)
    pytest.fail("the daemon does not start")


def kinds(found: dict[str, Any]) -> dict[str, Any]:
    return dict(found["events"])


@pytest.mark.docker
@pytest.mark.parametrize(
    ("gpus", "asked", "indices"),
    [
        ("all", "all", ["0", "1"]),
        pytest.param("0,1", "0,1", ["0", "1"], marks=pytest.mark.slow),
        pytest.param("1", "1", ["1"], marks=pytest.mark.slow),
        (UUID_0, UUID_0, ["0"]),
    ],
)
def test_what_is_asked_for_is_what_is_seen(
    gpus: str, asked: str, indices: list[str], stage: Stage, tmp_path: Path
) -> None:
    found = stage.run(tmp_path, gpus)
    assert (found["outcome"], found["reason"]) == ("ok", ""), found["log"]
    assert stage.asked() == [
        {"NVIDIA_VISIBLE_DEVICES": asked, "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    ]
    # UUID by UUID, as digests: no recorded line names a device.
    assert kinds(found)["stack"]["gpus"] == found["digests"]
    assert len(found["digests"]) == len(indices)
    assert found["gpus"] == indices
    assert "GPU-" not in json.dumps(found)


@pytest.mark.docker
def test_samples_belong_to_the_trial(stage: Stage, tmp_path: Path) -> None:
    found = stage.run(tmp_path, "0", seconds=1.2)
    assert found["outcome"] == "ok"
    # The container's process, as the host numbers it, is the one that holds 2 of the 3 GiB in use.
    assert 2 * GIB in {sample["process_memory_bytes"] for sample in found["samples"]}
    assert {sample["memory_bytes"] for sample in found["samples"]} == {3 * GIB}
    assert {sample["power_w"] for sample in found["samples"]} == {70.5}
    assert found["resources"]["gpu_memory_peak_bytes"] == 2 * GIB
    assert found["resources"]["gpu_energy_j"] > 0


@pytest.mark.docker
@pytest.mark.parametrize(
    ("gpus", "shown"),
    [
        ("0", "1"),
        pytest.param("0,1", "0", marks=pytest.mark.slow),
        pytest.param(UUID_1, "all", marks=pytest.mark.slow),
    ],
)
def test_other_gpus_than_those_it_was_given_are_refused(
    gpus: str, shown: str, stage: Stage, tmp_path: Path
) -> None:
    found = stage.run(tmp_path, gpus, STAND_IN_SHOW=shown)
    assert found["outcome"] == "unsupported"
    assert f"it was given {len(gpus.split(','))} GPUs and sees" in found["reason"]


@pytest.mark.docker
def test_a_gpu_that_vanishes_ends_the_trial_and_says_so(stage: Stage, tmp_path: Path) -> None:
    found = stage.run(tmp_path, "0", seconds=60, STAND_IN_LOST="5")
    assert found["outcome"] == "gpu-lost"
    assert found["reason"] == "GPU 0 vanished while it ran: the driver has lost it."


@pytest.mark.docker
@pytest.mark.slow
def test_a_gpu_that_is_not_there_is_not_seen(stage: Stage, tmp_path: Path) -> None:
    found = stage.run(tmp_path, "7")
    assert found["gpus"] == []
    assert stage.asked()[0]["NVIDIA_VISIBLE_DEVICES"] == "7"
    assert kinds(found)["stack"]["gpus"] == []


def daemon(**facts: Any) -> Daemon:
    class Api:
        def info(self) -> dict[str, Any]:
            return {"CgroupDriver": "cgroupfs", **facts}

    return Daemon.ask(Api())  # type: ignore[arg-type]


DISCOVERED = [{"Source": "cdi", "ID": "nvidia.com/gpu=0"}]


@pytest.mark.parametrize(
    ("facts", "gpus", "names"),
    [
        ({"DiscoveredDevices": DISCOVERED}, ("0", "1"), ["nvidia.com/gpu=0", "nvidia.com/gpu=1"]),
        ({"DiscoveredDevices": DISCOVERED}, ("all",), ["nvidia.com/gpu=all"]),
        ({"DiscoveredDevices": DISCOVERED}, (UUID_0,), [f"nvidia.com/gpu={UUID_0}"]),
        ({"BuildahVersion": "1.39"}, ("0",), ["nvidia.com/gpu=0"]),
        # Podman takes no notice of a request for what NVIDIA's runtime understands.
        ({"BuildahVersion": "1.39", "Runtimes": {"nvidia": {}}}, ("0",), ["nvidia.com/gpu=0"]),
        ({"Runtimes": {"nvidia": {}}}, ("nvidia.com/gpu=1",), ["nvidia.com/gpu=1"]),
    ],
)
def test_newer_daemons_are_asked_by_cdi_names(
    facts: dict[str, Any], gpus: tuple[str, ...], names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (request,) = _devices(gpus, daemon(**facts)) or ()
    assert (request["Driver"], request["DeviceIDs"]) == ("cdi", names)


@pytest.mark.parametrize(
    ("facts", "hook"),
    [({}, False), ({"DiscoveredDevices": [{"Source": "cdi", "ID": "vendor.com/net=0"}]}, False),
     ({"Runtimes": {"nvidia": {}}}, False), ({"DiscoveredDevices": DISCOVERED}, True)],
)  # fmt: skip
def test_others_are_asked_for_what_nvidia_s_hook_understands(
    facts: dict[str, Any], hook: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if hook:
        (tmp_path / "nvidia-container-runtime-hook").write_text("#!/bin/sh\n")
        (tmp_path / "nvidia-container-runtime-hook").chmod(0o755)
    (request,) = _devices(("0", UUID_1), daemon(**facts)) or ()
    assert request["DeviceIDs"] == ["0", UUID_1]
    assert request["Capabilities"] == [["gpu", "compute", "utility"]]
    (request,) = _devices(("all",), daemon(**facts)) or ()
    assert (request["Count"], request["DeviceIDs"]) == (-1, [])
    assert _devices((), daemon(**facts)) is None
