"""What was verified is recorded where all of it passed, with what it was; the page says that."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlbench import paths
from dlbench.environments import cuda_sets, releases
from dlbench.host import verified
from dlbench.monitor.gpu import Device, Inventory
from dlbench.workloads import workloads

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A catalog that may be written to."""
    shutil.copytree(CHECKOUT / "images", tmp_path / "images")
    monkeypatch.setattr(paths, "bundled", lambda name: tmp_path / name)
    yield tmp_path / "images"
    releases._read_all.cache_clear()
    cuda_sets._read_all.cache_clear()


def proofs(name: str, *, but: str = "") -> list[dict[str, Any]]:
    release = releases.find(name)
    return [
        {"release": release.name, "variant": variant, "workload": each, "passed": each != but}
        for variant in release.variants
        for each in workloads()
    ]


def recorded(catalog: Path, name: str) -> tuple[str, ...]:
    releases._read_all.cache_clear()
    framework, version = name.split("@")
    return releases.load(catalog / framework / version / "release.toml").verified


def test_what_passed_whole_is_written(catalog: Path) -> None:
    name = "keras@2.2.4"
    before = (catalog / "keras/2.2.4/release.toml").read_text()
    assert "gpu-build" not in before.partition("verified")[2].partition("\n")[0]
    line, _ = verified.record(proofs(name), "cpu", "gpu")
    assert line == f'{name}: verified "gpu-build", written to keras/2.2.4/release.toml'
    assert recorded(catalog, name) == ("cpu", "gpu-build")
    verified.record(proofs(name), "cpu", "gpu")
    assert recorded(catalog, name) == ("cpu", "gpu-build")
    after = (catalog / "keras/2.2.4/release.toml").read_text()
    assert len(after.splitlines()) == len(before.splitlines())


def test_what_failed_is_not_written(catalog: Path) -> None:
    name = "keras@2.2.4"
    (line,) = verified.record(proofs(name, but="mnist-cnn"), "cpu", "gpu")
    assert line == f"{name}: not recorded, not proven: fit on mnist-cnn."
    few = [e for e in proofs(name, but="mnist-cnn") if e["workload"].startswith("mnist-")]
    (line,) = verified.record(few, "cpu", "gpu")
    assert line == f"{name}: not recorded, not proven: fit on mnist-cnn."
    assert recorded(catalog, name) == ("cpu",)


def test_a_way_to_train_that_was_not_tried_is_lacking(catalog: Path) -> None:
    name = "mxnet@1.3.0"
    hybrid = [each for each in proofs(name) if each["variant"] == "hybrid"]
    (line,) = verified.record(hybrid, "cpu", "gpu")
    first, *others = workloads()
    lacking = f"imperative on {first} and {len(others)} more"
    assert line == f"{name}: not recorded, not proven: {lacking}."
    assert recorded(catalog, name) == ("cpu",)


@pytest.mark.parametrize(
    "partial, start", [(False, "gpu-build:"), (True, "gpu-build: without CUDA's libraries,")]
)
def test_some_workloads_are_named(catalog: Path, partial: bool, start: str) -> None:
    name = "keras@2.2.4"
    without = {name} if partial else set()
    first, second, *_ = workloads()
    verified.record(proofs(name)[:1], "cpu", "gpu", without)
    assert recorded(catalog, name)[1:] == (f"{start} on {first} only",)
    verified.record(proofs(name)[:2], "cpu", "gpu", without)
    assert recorded(catalog, name)[1:] == (f"{start} on {first}, {second} only",)
    (row,) = [line for line in verified.page().splitlines() if f"| {name} |" in line]
    assert f"on {first}, {second} only |" in row
    # every workload stands for some, before and after
    verified.record(proofs(name), "cpu", "gpu", without)
    whole = recorded(catalog, name)
    assert whole == ("cpu", start.strip(":,"))
    line, *_ = verified.record(proofs(name)[:1], "cpu", "gpu", without)
    assert line.endswith("was verified on every workload before: nothing to add.")
    assert recorded(catalog, name) == whole


def test_what_was_proven_before_stays(catalog: Path) -> None:
    name = "keras@2.2.4"
    first, second, *_ = workloads()
    for number in (1, 0):
        verified.record([proofs(name)[number]], "cpu", "gpu")
        releases._read_all.cache_clear()
    assert recorded(catalog, name)[1:] == (f"gpu-build: on {second}, {first} only",)
    verified.record(proofs(name)[2:], "cpu", "gpu")  # the last ones that were missing
    assert recorded(catalog, name)[1:] == ("gpu-build",)


@pytest.mark.parametrize("before", ["on {} only; not tuned", "not fused"])
def test_a_record_that_lacks_a_way_to_train_is_replaced(catalog: Path, before: str) -> None:
    name = "keras@2.2.4"
    first, second, *_ = workloads()
    path = catalog / "keras" / "2.2.4" / "release.toml"
    lacking = f'verified = ["cpu", "gpu-build: {before.format(second)}"]'
    path.write_text(path.read_text().replace('verified = ["cpu"]', lacking))
    releases._read_all.cache_clear()
    verified.record(proofs(name)[:1], "cpu", "gpu")
    assert recorded(catalog, name)[1:] == (f"gpu-build: on {first} only",)


def test_archives_are_untried_until_a_release_was_proven_with_them(catalog: Path) -> None:
    path = catalog / "cuda" / "9.0.toml"
    name = "keras@2.2.4"
    verified.record(proofs(name)[:1], "cpu", "gpu", {name})
    assert "untried" in path.read_text()  # it ran without them
    _, tried = verified.record(proofs(name)[:1], "cpu", "gpu")
    assert tried == "CUDA 9.0: its archives are tried, written to cuda/9.0.toml"
    cuda_sets._read_all.cache_clear()
    assert "untried" not in path.read_text() and not cuda_sets.find("9.0").untried
    assert cuda_sets.find("9.2").untried
    releases._read_all.cache_clear()
    assert len(verified.record(proofs(name)[:1], "cpu", "gpu")) == 1


def test_of_several_gpus_the_one_that_was_used_is_named(
    catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards = (
        Device("Tesla V100", None, "7.0", index=0, uuid="GPU-1"),
        Device("T4", None, "7.5", index=1, uuid="GPU-2"),
    )
    monkeypatch.setattr(verified, "inventory", lambda: Inventory(cards, "535.104.05"))
    line, _ = verified.record(proofs("mxnet@1.9.1"), "gpu", "gpu")
    assert '"gpu: Tesla V100, driver' in line
    line, _ = verified.record(proofs("mxnet@1.9.1"), "gpu", "gpu", (), ("1",))
    assert '"gpu: T4, driver' in line


def test_a_gpu_is_named_and_asked_for(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Inventory((Device("Tesla V100", None, "7.0", index=0, uuid="GPU-1"),), "535.104.05")
    monkeypatch.setattr(verified, "inventory", lambda: seen)
    line, request = verified.record(proofs("mxnet@1.9.1"), "gpu", "gpu")
    assert 'verified "gpu: Tesla V100, driver 535.104.05"' in line
    assert "send these lines in" in request
    assert "gpu: Tesla V100, driver 535.104.05" in recorded(catalog, "mxnet@1.9.1")
    (row,) = [line for line in verified.page().splitlines() if "| mxnet@1.9.1 |" in line]
    assert "| Tesla V100, driver 535.104.05 |" in row


def test_without_its_cuda_set_it_says_so(catalog: Path) -> None:
    name = "tensorflow@2.2.0"
    (line,) = verified.record(proofs(name), "cpu", "gpu", {name})
    assert "gpu-build: without CUDA's libraries" in line


def test_the_page_of_the_docs_is_the_one_that_the_tool_makes() -> None:
    page = (CHECKOUT / "docs" / "verified.md").read_text()
    made = "make it again with `dlbench list releases --verified > docs/verified.md`"
    assert page == verified.page(), made


def test_the_page_has_a_row_for_every_release_and_no_gpu_where_none_was() -> None:
    rows = [line for line in verified.page().splitlines() if "@" in line and line[0] == "|"]
    assert len(rows) == len(releases.load_releases(releases.shipped()))
    (theano,) = [row for row in rows if row.startswith("| theano@1.0.5 ")]
    assert "pygpu and libgpuarray" in theano
    (old,) = [row for row in rows if row.startswith("| keras@2.2.4 ")]
    assert old.endswith("| 9.0, from archives, untried |")
