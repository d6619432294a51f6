"""What a trial's container sees, without a daemon."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dlbench.engines.base import Request
from dlbench.engines.container import _command, _mounts


def test_weights_are_mounted_to_be_read_alone(tmp_path: Path) -> None:
    plain = Request(
        trial="t", campaign="c", environment="image", bench=tmp_path, job=tmp_path / "job.json",
        data=tmp_path, out=tmp_path, log=tmp_path / "log",
    )  # fmt: skip
    assert _command(plain) == ["-m", "bench", "/job/job.json", "/data", "/out"]
    request = replace(plain, weights=tmp_path / "digest.npz")
    assert _command(request)[-1] == "/weights/weights.npz"
    (mount,) = [m for m in _mounts(request) if m["Target"] == "/weights/weights.npz"]
    assert mount["ReadOnly"] is True
    assert mount["Source"] == str(tmp_path / "digest.npz")
    assert [m["Target"] for m in _mounts(request) if not m["ReadOnly"]] == ["/out"]
