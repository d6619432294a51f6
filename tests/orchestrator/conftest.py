"""A release that misbehaves on demand: its variants say how."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from docker.errors import ImageNotFound

from dlbench import paths
from dlbench.cli import main
from dlbench.engines.connect import connect
from dlbench.running import jobs
from tests.orchestrator.command import Command, Printed
from tests.scheduling import DOCKER_USED

CHECKOUT = Path(__file__).resolve().parents[2]

_ADAPTER = '''
"""NumPy's adapter, spoilt: the variant says what goes wrong in the second training step."""
import ctypes, json, os, signal, subprocess, sys, time
import numpy as np
from bench.adapters import numpy as plain
from bench.formats import Unsupported

VARIANTS = ("good",)
OUT = sys.argv[3]
with open(sys.argv[1]) as file:
    JOB = json.load(file)

def set_up(options):
    if options.variant == "unsupported":
        raise Unsupported("it has no such thing as a second step")

def describe():
    return plain.describe()

def build(graph, recipe, options):
    model = Spoilt(graph, recipe, options.seed, np.float32)
    model.variant = options.variant
    return model

def raw(data):
    with open(os.path.join(OUT, "events.jsonl"), "ab") as file:
        file.write(data)

class Spoilt(plain.Reference):
    count = 0

    def train_step(self, batch):
        self.count += 1
        if JOB["action"] == "verify":  # it can dissemble, too
            return super().train_step(batch)
        if self.count == 2:
            getattr(self, self.variant.replace("-", "_"))()
        if self.variant == "nan" and self.count >= 2:
            return float("nan")
        if self.variant == "slow":
            time.sleep(0.2)
        return super().train_step(batch)

    def good(self): pass
    def slow(self): pass
    def nan(self): pass
    def segfault(self): ctypes.string_at(0)
    def raises(self): raise RuntimeError("on purpose")
    def exits(self): os._exit(7)
    def leaves(self): os._exit(0)
    def garbage(self): raw(b"\\xff\\xfe not an event\\n"); time.sleep(30)
    def long_line(self): raw(b"x" * 5_000_000 + b"\\n"); time.sleep(30)
    def wrong_version(self): raw(b'{"v": 99, "t": 1.0, "event": "end"}\\n'); time.sleep(30)
    def fills(self):
        with open(os.path.join(OUT, "big"), "wb") as file:
            for _ in range(256):
                file.write(os.urandom(1 << 20)); file.flush()
        time.sleep(30)
    def hides(self):
        self.files = [open(os.path.join(OUT, str(i)), "wb", buffering=0) for i in range(5)]
        for file in self.files:
            os.unlink(file.name)
            os.posix_fallocate(file.fileno(), 0, 10 << 20)
        time.sleep(30)
    def allocates(self):
        with open(os.path.join(OUT, "big"), "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 12 << 30)
    def flood(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        with open(os.path.join(OUT, "events.jsonl"), "ab", buffering=0) as file:
            while True:
                line = b'{"v":1,"t":%f,"event":"progress","epoch":1,"step":1,"steps":9}\\n'
                file.write(1000 * (line % time.monotonic()))
    def huge(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        line = b'{"v":1,"t":%f,"event":"epoch","epoch":%d,"loss":1,"steps_ms":[%s],"metrics":{},'
        line += b'"train_s":0,"first":0,"data_ms":0}\\n'
        for epoch in range(1, 8):
            raw(line % (time.monotonic(), epoch, b",".join([b"0.0"] * 500_000)))
        time.sleep(300)
    def forges(self):
        raw(b'{"v":1,"t":%f,"event":"end","x":%s}\\n' % (time.monotonic(), b"9" * 400))
        time.sleep(30)
    def memory(self):
        self.hoard = np.ones(2_000_000_000, np.uint8)
    def child(self):
        word = "stray-" + JOB["id"]
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", word])
        time.sleep(300)
'''

VARIANTS = (
    "good", "slow", "nan", "segfault", "raises", "exits", "leaves", "garbage", "long-line",
    "wrong-version", "fills", "hides", "allocates", "flood", "huge", "forges", "memory", "child",
    "unsupported",
)  # fmt: skip


def make_bundle(folder: Path) -> Path:
    """bench/ and images/ of this checkout, with the releases `spoilt`, `broken` and `unbuilt`."""
    shutil.copytree(CHECKOUT / "bench", folder / "bench", ignore=shutil.ignore_patterns("__pyc*"))
    (folder / "bench/adapters/spoilt.py").write_text(_ADAPTER)
    (folder / "bench/adapters/broken.py").write_text("import a_module_that_is_not_there\n")
    images = folder / "images"
    shutil.copytree(CHECKOUT / "images/numpy", images / "numpy")
    shutil.copy(CHECKOUT / "images/Dockerfile", images / "Dockerfile")
    original = next((CHECKOUT / "images/numpy").iterdir())
    for framework, adapter in (("spoilt", "spoilt"), ("broken", "broken"), ("unbuilt", "numpy")):
        release = images / framework / original.name
        shutil.copytree(original, release)
        text = (release / "release.toml").read_text()
        text = text.replace('framework = "numpy"', f'framework = "{framework}"')
        text = text.replace('adapter = "numpy"', f'adapter = "{adapter}"')
        if framework == "spoilt":
            quoted = ", ".join(f'"{variant}"' for variant in VARIANTS)
            text = text.replace('variants = ["numpy"]', f"variants = [{quoted}]")
        (release / "release.toml").write_text(text)
    lock = images / "unbuilt" / original.name / "cpu.lock"
    lock.write_text(re.sub(r"sha256:\w{4}", "sha256:0000", lock.read_text()))
    return folder


@pytest.fixture(scope="session")
def bundle_folder(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Path]:
    yield make_bundle(tmp_path_factory.mktemp("bundle"))
    if DOCKER_USED not in request.config.stash:
        return  # another process of this run may need the images still
    client = connect()
    for image in client.images.list(filters={"label": "org.dlbench.kind=release"}):
        if image.labels["org.dlbench.release"].startswith(("spoilt@", "broken@")):
            with suppress(ImageNotFound):  # it went with one that was built on it
                client.images.remove(image.id, force=True)


@pytest.fixture
def bundle(bundle_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This process sees the releases of the bundle instead of the ordinary ones."""
    monkeypatch.setattr(paths, "bundled", lambda name: bundle_folder / name)
    jobs.bench_digest.cache_clear()
    yield bundle_folder
    jobs.bench_digest.cache_clear()


@pytest.fixture(scope="session")
def orchestrator(bundle_folder: Path):
    """A `dlbench` command line of its own process, that sees the bundle."""

    def command(*arguments: str) -> list[str]:
        start = (
            "import sys, pathlib; from dlbench import paths;"
            f"paths.bundled = lambda name: pathlib.Path({str(bundle_folder)!r}) / name;"
            "from dlbench.cli import main; sys.exit(main())"
        )
        return [sys.executable, "-c", start, *arguments]

    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "orchestrator")}
    return command, environment


@pytest.fixture
def launch(orchestrator):
    """Start a command line in the background; whatever the test does, it is gone afterwards."""
    command, environment = orchestrator
    started = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command(*arguments), env=environment, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: str | Path) -> Printed:
        monkeypatch.setattr(sys, "argv", ["dlbench", *map(str, arguments)])
        code = main()
        printed = capsys.readouterr()
        return Printed(code, printed.out, printed.err)

    return run
