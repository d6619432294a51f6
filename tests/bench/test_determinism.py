"""Deterministic kernels: asked for where a framework documents them, refused in plain words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import determinism, formats
from bench.__main__ import _run
from bench.adapters import determinism as switches
from bench.adapters import numpy as numpy_adapter
from bench.adapters.base import Options

ROOT = Path(__file__).resolve().parents[2]
ASKED = Options(1, "numpy", None, "cpu", "matched", deterministic=True)


def test_nothing_is_set_unless_it_is_asked_for() -> None:
    assert determinism.ask(numpy_adapter, ASKED._replace(deterministic=False)) is None
    assert determinism.ask(numpy_adapter, ASKED) == {"switches": {}, "covers": ["cpu"]}


def test_an_adapter_from_outside_works_and_says_that_it_knows_no_way() -> None:
    options = Options(1, "plain", None, "cpu", "matched")  # as it was before there were more
    assert (options.gpu, options.deterministic) == (0, False)
    with pytest.raises(formats.Unsupported, match="knows no way"):
        determinism.ask(SimpleNamespace(), ASKED)


def torch_of(**more: Any) -> Any:
    cudnn = SimpleNamespace(deterministic=False, benchmark=True)
    return SimpleNamespace(backends=SimpleNamespace(cudnn=cudnn), **more)


def test_pytorch_is_asked_as_each_of_its_releases_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    old, called = torch_of(), []
    assert switches.torch_switches(old)["covers"] == ["gpu"]
    assert (old.backends.cudnn.deterministic, old.backends.cudnn.benchmark) == (True, False)
    new = switches.torch_switches(torch_of(use_deterministic_algorithms=called.append))
    assert called == [True] and new["covers"] == ["cpu", "gpu"]
    assert new["switches"]["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


def test_tensorflow_is_asked_as_each_of_its_releases_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("TF_DETERMINISTIC_OPS", "TF_CUDNN_DETERMINISTIC", "XLA_FLAGS"):
        monkeypatch.delenv(name, raising=False)
    assert switches.session_switches(SimpleNamespace(__version__="1.11.0")) is None
    found = switches.session_switches(SimpleNamespace(__version__="1.15.5"))
    assert found["switches"] == {"TF_CUDNN_DETERMINISTIC": "1"}
    before = SimpleNamespace(config=SimpleNamespace(experimental=SimpleNamespace()))
    assert switches.tensorflow_switches(before)["switches"] == {"TF_DETERMINISTIC_OPS": "1"}
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    flags = switches.xla_switches()["switches"]["XLA_FLAGS"]
    assert flags == "--xla_dump_to=x --xla_gpu_deterministic_ops=true"


@pytest.mark.parametrize(("asked", "outcome"), [(True, "unsupported"), (False, "crashed")])
def test_a_kernel_without_such_a_version_is_unsupported_and_no_crash(
    asked: bool, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: Any) -> None:
        raise RuntimeError("put_ does not have a deterministic implementation")

    monkeypatch.setattr("bench.trial.run", refuses)
    job = {"adapter": "numpy", "action": "train", "device": "cpu", "deterministic": asked}
    events = SimpleNamespace(write=lambda *_, **__: None)
    found, message = _run(job, "", "", events, None)
    assert (found, "put_" in message) == (outcome, True)


def test_a_job_from_before_asks_for_nothing(tmp_path: Path) -> None:
    texts = ("id", "framework", "version", "adapter", "variant")
    job = {
        "v": 1, **dict.fromkeys(texts, "x"), "action": "train", "device": "cpu",
        "setting": "matched", "seed": 1, "graph": {}, "recipe": {}, "data": {}, "budget": {},
        "save": False,
    }  # fmt: skip
    file = tmp_path / "job.json"
    file.write_text(json.dumps(job))
    assert formats.read_job(str(file))["deterministic"] is False
    file.write_text(json.dumps({**job, "deterministic": 1}))
    with pytest.raises(formats.BadJob, match="deterministic"):
        formats.read_job(str(file))


@pytest.mark.parametrize("threads", [1, 2])
def test_numpy_tells_the_threads_that_its_blas_has(threads: int) -> None:
    code = "import json\nfrom bench.adapters import numpy as a\nprint(json.dumps(a.describe()))"
    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, capture_output=True, text=True, check=True,
        env={"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)},
    )  # fmt: skip
    described = json.loads(told.stdout)
    assert (described["threads"], described["pools"]) == (threads, {"blas": threads})
    assert described["one_core"] == "all but matrix products"
