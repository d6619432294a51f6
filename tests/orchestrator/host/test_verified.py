"""What was verified is recorded where all of it passed, with what it was; the page says that."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest

from dlbench import paths
from dlbench.environments import cuda_sets, releases
from dlbench.environments.releases import Release
from dlbench.host import verified
from dlbench.monitor.gpu import Device, Inventory
from dlbench.workloads import workloads

CHECKOUT = Path(__file__).resolve().parents[3]
TODAY = "2026-11-20"


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A catalog that may be written to, on a day that does not change."""
    on_day(monkeypatch, TODAY)
    shutil.copytree(CHECKOUT / "images", tmp_path / "images")
    monkeypatch.setattr(paths, "bundled", lambda name: tmp_path / name)
    yield tmp_path / "images"
    releases._read_all.cache_clear()
    cuda_sets._read_all.cache_clear()


def on_day(monkeypatch: pytest.MonkeyPatch, day: str) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls.fromisoformat(f"{day}T12:00:00").replace(tzinfo=tz)

    monkeypatch.setattr(verified, "datetime", Clock)


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


def text(what: str, name: str, *names: str, day: str = TODAY) -> str:
    """A record of every way to train of this release on these workloads; none: on all."""
    ways = "+".join(releases.find(name).variants)
    return f"{what} {ways} on {'+'.join(names or workloads())}, {day}"


def cell(name: str) -> str:
    """What the page says of this release's GPU packages on a CPU."""
    (row,) = [line for line in verified.page().splitlines() if line.startswith(f"| {name} |")]
    return row.split("|")[3].strip()


def test_what_passed_is_written_with_ways_workloads_and_day(catalog: Path) -> None:
    name = "keras@2.2.4"
    before = (catalog / "keras/2.2.4/release.toml").read_text()
    assert "gpu-build" not in before
    line, _ = verified.record(proofs(name), "cpu", "gpu")
    said = text("gpu-build:", name)
    assert line == f'{name}: verified "{said}", written to keras/2.2.4/release.toml'
    assert recorded(catalog, name) == ("cpu", said)
    verified.record(proofs(name), "cpu", "gpu")
    assert recorded(catalog, name) == ("cpu", said)
    after = (catalog / "keras/2.2.4/release.toml").read_text()
    assert (
        after.replace(f'verified = [\n    "cpu",\n    "{said}",\n]', 'verified = ["cpu"]') == before
    )


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
def test_of_one_day_there_is_one_record(catalog: Path, partial: bool, start: str) -> None:
    name = "keras@2.2.4"
    without = {name} if partial else set()
    first, second, *_ = workloads()
    verified.record(proofs(name)[:1], "cpu", "gpu", without)
    assert recorded(catalog, name)[1:] == (text(start, name, first),)
    releases._read_all.cache_clear()
    verified.record(proofs(name)[1:2], "cpu", "gpu", without)
    assert recorded(catalog, name)[1:] == (text(start, name, first, second),)
    releases._read_all.cache_clear()
    said = cell(name)
    assert said.startswith(
        "without CUDA's libraries: 2 workloads (" if partial else "2 workloads ("
    )
    assert said.endswith(f"), {TODAY}")
    (letter,) = said[said.index("(") + 1 : said.index(")")]
    assert f"- {letter}: {first}, {second}" in verified.page().splitlines()


def test_what_is_proven_again_has_the_newer_day(
    catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "keras@2.2.4"
    first, second, third, *_ = workloads()
    verified.record(proofs(name)[:2], "cpu", "gpu")
    releases._read_all.cache_clear()
    on_day(monkeypatch, "2026-12-01")
    verified.record(proofs(name)[1:3], "cpu", "gpu")
    older = text("gpu-build:", name, first)
    newer = text("gpu-build:", name, second, third, day="2026-12-01")
    assert recorded(catalog, name)[1:] == (older, newer)
    releases._read_all.cache_clear()
    assert cell(name).count("workload") == 2 and "1 workload (" in cell(name)
    verified.record(proofs(name)[:1], "cpu", "gpu")
    newest = text("gpu-build:", name, second, third, first, day="2026-12-01")
    assert recorded(catalog, name)[1:] == (newest,)


def test_a_way_to_train_that_came_later_is_said_to_lack(
    catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "mxnet@1.3.0"
    path = catalog / "mxnet" / "1.3.0" / "release.toml"
    first, second, *_ = workloads()
    before = f"gpu-build: hybrid on {first}+{second}, 2026-11-01"
    path.write_text(
        path.read_text().replace('verified = ["cpu"]', f'verified = ["cpu", "{before}"]')
    )
    releases._read_all.cache_clear()
    assert "2 workloads (" in cell(name) and cell(name).endswith("not imperative, 2026-11-01")
    both = [each for each in proofs(name) if each["workload"] == first]
    verified.record(both, "cpu", "gpu")
    left = f"gpu-build: hybrid on {second}, 2026-11-01"
    assert recorded(catalog, name)[1:] == (left, text("gpu-build:", name, first))


def test_a_record_of_more_ways_to_train_stays(catalog: Path) -> None:
    name, (first, *_) = "keras@2.2.4", workloads()
    path = catalog / "keras" / "2.2.4" / "release.toml"
    before = f"gpu-build: fit+since-removed on {first}, 2026-11-01"
    path.write_text(
        path.read_text().replace('verified = ["cpu"]', f'verified = ["cpu", "{before}"]')
    )
    releases._read_all.cache_clear()
    verified.record(proofs(name)[:1], "cpu", "gpu")
    assert recorded(catalog, name)[1:] == (before, text("gpu-build:", name, first))


def test_a_release_that_was_refused_is_sent_in_with_the_reason(catalog: Path) -> None:
    why = "pytorch@2.13.0 runs with CUDA 13.0, which needs driver 580.65.06 or newer."
    entries = [{**each, "passed": False, "checks": [], "reason": why} for each in proofs("pytorch")]
    line, _ = verified.record(entries, "gpu", "gpu")
    assert line == f"pytorch@2.13.0: not recorded: {why}"


@pytest.mark.parametrize("release", releases.load_releases(), ids=lambda release: release.name)
def test_every_record_can_be_read(release: Release) -> None:
    records = [verified.Record.read(each) for each in release.verified]
    assert tuple(each.text for each in records) == release.verified
    for each in records:
        assert each.what == "cpu" or (each.day and {*each.workloads} <= {*workloads()})
        assert {*each.variants} <= {*release.variants}


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
    assert '"gpu: Tesla V100, driver 535.104.05, hybrid+imperative+fused on ' in line
    line, _ = verified.record(proofs("mxnet@1.9.1"), "gpu", "gpu", (), ("1",))
    assert '"gpu: T4, driver' in line


def test_a_gpu_is_named_and_asked_for(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Inventory((Device("Tesla V100", None, "7.0", index=0, uuid="GPU-1"),), "535.104.05")
    monkeypatch.setattr(verified, "inventory", lambda: seen)
    line, request = verified.record(proofs("mxnet@1.9.1"), "gpu", "gpu")
    said = text("gpu: Tesla V100, driver 535.104.05,", "mxnet@1.9.1")
    assert f'verified "{said}"' in line
    assert "send these lines in" in request
    assert said in recorded(catalog, "mxnet@1.9.1")
    releases._read_all.cache_clear()
    (row,) = [line for line in verified.page().splitlines() if "| mxnet@1.9.1 |" in line]
    assert f"| Tesla V100, driver 535.104.05: {len(workloads())} workloads (" in row


def test_without_its_cuda_set_it_says_so(catalog: Path) -> None:
    name = "tensorflow@2.2.0"
    (line,) = verified.record(proofs(name), "cpu", "gpu", {name})
    assert "gpu-build: without CUDA's libraries, function+fit on " in line


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
