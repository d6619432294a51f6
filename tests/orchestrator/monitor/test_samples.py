"""Reading a samples file in whatever state a killed orchestrator left it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.errors import UserError
from dlbench.monitor.samples import GpuSample, Sample, header_line, read_samples, sample_line

HEADER = header_line("cgroup-v2", 10.0, 2.0, ("0",))
SAMPLE = Sample(1.5, 0.25, 1000, 900, 12.5, 800, (GpuSample("0", 93.0, 5, 4, 70.1, 12.0, 61, 0),))


def test_a_sample_comes_back_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_bytes(HEADER + sample_line(SAMPLE))
    recorded = read_samples(file)
    assert recorded is not None
    assert recorded.samples == (SAMPLE,)
    assert (recorded.source, recorded.hz, recorded.cpus) == ("cgroup-v2", 10.0, 2.0)
    assert recorded.gpus == ("0",)
    assert recorded.totals is None


@pytest.mark.parametrize("cut", range(1, len(sample_line(SAMPLE)) - 1, 7))
def test_a_torn_last_line_costs_only_itself(cut: int, tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_bytes(HEADER + sample_line(SAMPLE) * 3 + sample_line(SAMPLE)[:cut])
    recorded = read_samples(file)
    assert recorded is not None
    assert len(recorded.samples) == 3
    assert recorded.torn == 1


@pytest.mark.parametrize("content", [b"", HEADER[:9], b"\x00" * 64, b"[]"])
def test_a_file_that_says_nothing_gives_nothing(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_bytes(content)
    assert read_samples(file) is None
    assert read_samples(tmp_path / "none.jsonl") is None


def test_another_version_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_bytes(HEADER.replace(b'"v":1', b'"v":2') + sample_line(SAMPLE))
    with pytest.raises(UserError, match=r"samples\.jsonl has format version 2"):
        read_samples(file)
