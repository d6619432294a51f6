"""The choice of the engine, and what it takes to make environments for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.engines.connect import NotAllowed
from dlbench.engines.process import ProcessEngine
from dlbench.environments import releases
from dlbench.errors import UserError
from dlbench.monitor import gpu
from dlbench.running.workshop import open_workshop


def test_a_misspelt_engine_is_named() -> None:
    with pytest.raises(UserError, match="Did you mean 'docker'"):
        open_workshop("dokcer")


def test_without_a_daemon_auto_says_what_it_takes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    workshop = open_workshop("auto")
    assert isinstance(workshop.engine, ProcessEngine)
    assert "process engine" in workshop.note
    assert (workshop.client, workshop.runtime, workshop.stats()) == (None, None, None)
    with pytest.raises(UserError, match=r"none\.sock"):
        open_workshop("docker")


def test_a_daemon_that_refuses_this_user_is_not_said_to_be_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def connect() -> None:
        raise NotAllowed("The container daemon refuses this user.", "Join its group.")

    monkeypatch.setattr("dlbench.engines.connect.connect", connect)
    assert open_workshop("auto").note == (
        "The container daemon refuses this user, so the process engine is used (`dlbench doctor`"
        " says more)."
    )


def test_the_process_engine_needs_no_word() -> None:
    assert open_workshop("process").note == ""


def test_an_environment_is_ready_once_it_is_made() -> None:
    workshop, numpy = open_workshop("process"), releases.find("numpy")
    workshop.check(numpy, "cpu")
    assert Path(workshop.environment(numpy, "cpu")).is_file()
    assert workshop.is_ready(numpy, "cpu")


def test_a_device_without_packages_is_refused_early() -> None:
    with pytest.raises(UserError, match="no packages for device 'gpu'"):
        open_workshop("process").check(releases.find("numpy"), "gpu")


def test_without_a_gpu_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = gpu.Inventory(reason="No driver is loaded.")
    monkeypatch.setattr(gpu, "inventory", lambda: seen)
    refusal = open_workshop("process").gpu_refusal(releases.find("pytorch"))
    assert refusal is not None
    assert "No driver is loaded." in refusal
