"""bench/ knows nothing of the host, and runs where only Python 3.6 and NumPy are."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlbench.datasets import find as find_dataset
from dlbench.datasets import store
from dlbench.environments import interpreters, releases, venvs
from dlbench.workloads import find as find_workload

BENCH = Path(__file__).resolve().parents[2] / "bench"
FRAMEWORKS = {
    "torch": {"torch"},
    "tensorflow": {"tensorflow"},
    "keras": {"keras", "tensorflow", "theano", "jax", "torch"},
    "mxnet": {"mxnet"},
    "theano": {"theano", "lasagne"},
    "chainer": {"chainer", "cupy"},
    "jax": {"jax", "flax", "optax", "orbax"},
    "paddle": {"paddle"},
}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize(
    "path", sorted(BENCH.rglob("*.py")), ids=lambda p: str(p.relative_to(BENCH))
)
def test_imports(path: Path) -> None:
    allowed = set(sys.stdlib_module_names) | {"numpy", "bench"}
    part, *rest = path.relative_to(BENCH).parts
    if part == "adapters":
        framework = next((name for name in FRAMEWORKS if rest[0].startswith(name)), "")
        allowed |= FRAMEWORKS.get(framework, set())
    assert imported(path) <= allowed


def test_the_host_imports_no_framework_and_no_bench() -> None:
    host = BENCH.parent / "orchestrator"
    forbidden = {"bench"} | set().union(*FRAMEWORKS.values())
    for path in host.rglob("*.py"):
        assert not imported(path) & forbidden, path


@pytest.fixture(scope="module")
def python36() -> Path:
    """A real Python 3.6 with NumPy: the environment of a release that runs on it."""
    if interpreters.installed("3.6") is None:
        if "python3.6" in os.environ.get("DLBENCH_TEST_REQUIRE", ""):
            pytest.fail("Python 3.6 is required here but was not found")
        pytest.skip("Python 3.6 was not found")
    return venvs.prepare(releases.find("chainer@4.5.0"), "cpu").python


def run(python: Path, job: dict, data: Path, out: Path) -> list[dict]:
    (out / "job.json").write_text(json.dumps(job))
    process = subprocess.Popen(
        [python, "-m", "bench", out / "job.json", data, out],
        env={"PYTHONPATH": str(BENCH.parent), "PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
    )
    process.wait()
    process.stdin.close()
    return [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]


def job_for(action: str, data: store.Prepared) -> dict:
    workload = find_workload("digits-cnn")
    return {
        "v": 1, "id": "x", "action": action, "framework": "numpy", "version": "0",
        "adapter": "numpy", "variant": "numpy", "device": "cpu", "setting": "matched", "seed": 1,
        "threads": 1, "graph": workload.graph, "recipe": workload.recipe,
        "budget": {"epochs": 1, "steps": 20}, "data": data.to_job(), "save": True,
    }  # fmt: skip


def test_every_file_compiles_on_python36(python36: Path) -> None:
    code = "import sys\nfor p in sys.argv[1:]: compile(open(p, encoding='utf-8').read(), p, 'exec')"
    files = sorted(BENCH.rglob("*.py"))
    done = subprocess.run([python36, "-c", code, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_python36_trains_the_very_same(python36: Path, tmp_path: Path) -> None:
    data = store.prepare(find_dataset("digits"))
    found = {}
    for name, python in (("old", python36), ("new", Path(sys.executable))):
        out = tmp_path / name
        out.mkdir()
        events = run(python, job_for("train", data), data.folder, out)
        kinds = {event["event"]: event for event in events}
        assert "error" not in kinds, kinds["error"]
        assert kinds["stack"]["python"].startswith("3.6" if name == "old" else "3.")
        found[name] = kinds
        assert (out / "weights.npz").is_file()
    old, new = found["old"], found["new"]
    assert old["model"]["weights_sha256"] == new["model"]["weights_sha256"]
    assert old["epoch"]["first_losses"] == pytest.approx(new["epoch"]["first_losses"], rel=1e-3)


def test_bad_jobs_are_refused(tmp_path: Path) -> None:
    data = store.prepare_proof(find_dataset("digits"))
    lifeline, _ = os.pipe()
    for spoil in (
        {"v": 2}, {"action": "steal"}, {"graph": "none"}, {"threads": 0}, {"seed": "one"},
    ):  # fmt: skip
        (tmp_path / "job.json").write_text(json.dumps({**job_for("train", data), **spoil}))
        done = subprocess.run(
            [sys.executable, "-m", "bench", tmp_path / "job.json", data.folder, tmp_path],
            cwd=BENCH.parent, capture_output=True, text=True, stdin=lifeline,
        )  # fmt: skip
        assert done.returncode == 2, spoil
        assert "job" in done.stderr
        assert "Traceback" not in done.stderr
