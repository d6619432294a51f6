"""A trial to run: a small program in place of bench, and a small image for it to run in."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import sysconfig
import tarfile
import textwrap
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dlbench.engines.base import Limits, Request, Running
from dlbench.engines.docker import DockerEngine
from dlbench.engines.process import ProcessEngine

if TYPE_CHECKING:
    import docker


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def campaign() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"


def write_bench(folder: Path, program: str) -> Path:
    """A package `bench` that runs `program`, in `folder`."""
    package = folder / "bench"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(textwrap.dedent(program))
    return package


@pytest.fixture
def request_for(tmp_path: Path, campaign: str) -> Callable[[str], Request]:
    """Makes the request for a trial that runs the given program."""

    def make(program: str) -> Request:
        data, out = tmp_path / "data", tmp_path / "out"
        data.mkdir(exist_ok=True)
        out.mkdir(exist_ok=True)
        (data / "numbers.txt").write_text("1 2 3")
        (tmp_path / "job.json").write_text('{"v": 1}')
        return Request(
            trial="trial-1",
            campaign=campaign,
            environment=sys.executable,
            bench=write_bench(tmp_path / "code", program),
            job=tmp_path / "job.json",
            data=data,
            out=out,
            log=tmp_path / "log.txt",
        )

    return make


class Bed:
    """One engine, and the trials started on it in a test: all closed at its end."""

    def __init__(self, engine: ProcessEngine | DockerEngine, environment: str, kind: str) -> None:
        self.engine = engine
        self.environment = environment
        self.kind = kind
        self._started: list[Running] = []

    def start(self, request: Request) -> Running:
        running = self.engine.start(replace(request, environment=self.environment))
        self._started.append(running)
        return running

    def need_control_groups(self, own: bool = False) -> None:
        """Skip where this user may not make them (`own`: ourselves, not through the daemon)."""
        if os.geteuid() != 0 if own else bool(self.engine.unenforced(Limits(0.5, 1 << 30))):
            reason = "this user may not make control groups here"
            if "cgroups" in os.environ.get("DLBENCH_TEST_REQUIRE", ""):
                pytest.fail(reason)
            pytest.skip(reason)

    def close(self) -> None:
        for running in self._started:
            running.close()


@pytest.fixture
def process_bed() -> Iterator[Bed]:
    bed = Bed(ProcessEngine(), sys.executable, "process")
    yield bed
    bed.close()


@pytest.fixture
def ungrouped_bed() -> Iterator[Bed]:
    bed = Bed(ProcessEngine(control_groups=False), sys.executable, "ungrouped")
    yield bed
    bed.close()


@pytest.fixture
def docker_bed(docker_client: docker.DockerClient, python_image: str) -> Iterator[Bed]:
    bed = Bed(DockerEngine(docker_client), python_image, "docker")
    yield bed
    bed.close()


@pytest.fixture(params=["process", pytest.param("docker", marks=pytest.mark.docker)])
def bed(request: pytest.FixtureRequest) -> Bed:
    """Every test that takes it runs on both engines."""
    found = request.getfixturevalue(f"{request.param}_bed")
    assert isinstance(found, Bed)
    return found


@pytest.fixture(params=["process", "ungrouped", pytest.param("docker", marks=pytest.mark.docker)])
def any_bed(request: pytest.FixtureRequest) -> Bed:
    """As `bed`, and processes without control groups too."""
    found = request.getfixturevalue(f"{request.param}_bed")
    assert isinstance(found, Bed)
    return found


@pytest.fixture(scope="session")
def python_image(docker_client: docker.DockerClient) -> Iterator[str]:
    """The interpreter that runs the tests, with the libraries it needs, as an image."""
    identity = docker_client.api.import_image_from_data(
        _interpreter_tar(), changes=["ENV PATH=/usr/local/bin:/usr/bin:/bin"]
    )
    image = identity.split('"status":"')[1].split('"')[0]
    yield image
    docker_client.api.remove_image(image, force=True)


def _interpreter_tar() -> bytes:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    stdlib = Path(sysconfig.get_path("stdlib"))
    binary = Path(sys.base_prefix) / "bin" / version
    left_out = {
        "test",
        "site-packages",
        "idlelib",
        "tkinter",
        "ensurepip",
        "lib2to3",
        "__pycache__",
    }

    def keep(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        parts = set(Path(entry.name).parts)
        return None if parts & left_out or "config-" in entry.name else entry

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", dereference=True) as tar:
        for folder in ("tmp", "usr/local/bin"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        tar.add(binary, "usr/local/bin/python")
        tar.add(stdlib, f"usr/local/lib/{version}", filter=keep)
        modules = sorted((stdlib / "lib-dynload").glob("*.so"))
        for library in _libraries([binary, *modules]):
            tar.add(library, str(library).lstrip("/"))
    return buffer.getvalue()


def _libraries(files: list[Path]) -> set[Path]:
    listing = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True).stdout
    words = (word for line in listing.splitlines() for word in line.split())
    return {Path(word) for word in words if word.startswith("/") and not word.endswith(":")}
