"""Where a framework sees no GPU its own words say why; a GPU that is full is another matter."""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import bench
from bench.adapters.base import Options
from bench.formats import Unsupported

FULL = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes."


def options(**changed: Any) -> Any:
    usual = {"seed": 1, "variant": "jit", "threads": None, "device": "gpu", "setting": "matched"}
    return Options(**{**usual, "gpu": 0, "deterministic": False, **changed})


def adapter(path: str) -> Any:
    """The module as it is with the stand-ins that are imported now."""
    spec = spec_from_file_location("adapter", Path(bench.__file__).parent / "adapters" / path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A stand-in whose `jax.devices` a test replaces; the module that asks it."""
    stand_in: Any = ModuleType("jax")
    stand_in.chosen = {}
    stand_in.config = SimpleNamespace(update=stand_in.chosen.__setitem__)
    stand_in.devices = lambda: ["first", "second"]
    monkeypatch.setitem(sys.modules, "jax", stand_in)
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "before")
    return stand_in


def set_up_jax(**changed: Any) -> None:
    adapter("jax_device.py").set_up(options(**changed))


@pytest.mark.parametrize(
    ("changed", "said"),
    [({}, "false"), ({"setting": "native"}, "before"), ({"device": "cpu"}, "before")],
)
def test_jax_takes_what_it_needs_where_models_are_compared(
    jax: Any, changed: dict[str, str], said: str
) -> None:
    seen = []
    jax.devices = lambda: seen.append(os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"]) or ["only"]
    set_up_jax(**changed)
    assert seen == [said]
    assert jax.chosen.get("jax_default_device") == (
        "only" if jax.chosen["jax_platforms"] == "cuda" else None
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RuntimeError("Unable to initialize backend 'cuda': no cuDNN"), "no cuDNN"),
        (AssertionError(), "AssertionError"),
    ],
)
def test_jax_says_why_it_sees_none(jax: Any, error: Exception, words: str) -> None:
    def fails() -> None:
        raise error

    jax.devices = fails
    with pytest.raises(Unsupported, match=words):
        set_up_jax()


def test_a_gpu_that_is_not_there_is_not_another(jax: Any) -> None:
    jax.devices = lambda: []
    with pytest.raises(Unsupported, match="sees no GPU"):
        set_up_jax()


def test_a_full_gpu_is_told_from_none_by_jax(jax: Any) -> None:
    def fails() -> None:
        raise RuntimeError(FULL)

    jax.devices = fails
    with pytest.raises(RuntimeError, match="Out of memory"):
        set_up_jax()


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("[20:01:01] src/x.cc:9: no CUDA-capable device\nStack trace:\n  a line", Unsupported),
        ("[20:01:01] src/storage/x.h:9: cudaMalloc failed: out of memory", Exception),
    ],
)
def test_mxnet_says_why(words: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    class MXNetError(Exception):
        pass

    def fails(*_: Any, **__: Any) -> None:
        raise MXNetError(words)

    mx: Any = ModuleType("mxnet")
    mx.base = SimpleNamespace(MXNetError=MXNetError)
    mx.nd = SimpleNamespace(zeros=fails)
    mx.gpu = lambda number: number
    monkeypatch.setitem(sys.modules, "mxnet", mx)
    with pytest.raises(kind) as raised:
        adapter("mxnet/__init__.py").set_up(options(variant="hybrid"))
    assert (raised.type is MXNetError) == (kind is Exception)
    assert " ".join(words.split()) in " ".join(str(raised.value).split())
