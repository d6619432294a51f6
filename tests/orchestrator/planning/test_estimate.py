"""What a plan will cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dlbench.engines.process import ProcessEngine
from dlbench.environments import releases
from dlbench.environments.releases import Release
from dlbench.planning.choices import Choices
from dlbench.planning.estimate import Forecast, environments_to_make, forecast
from dlbench.planning.plan import draft
from dlbench.running.workshop import Workshop

NUMPY = Choices(frameworks=("numpy",), repeats=2)


class NothingReady(Workshop):
    def is_ready(self, release: Release, device: str) -> bool:
        return False


class EverythingReady(Workshop):
    def is_ready(self, release: Release, device: str) -> bool:
        return True


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path))


def forecast_of(choices: Choices, kind: type[Workshop] = EverythingReady) -> Forecast:
    return forecast(draft(choices, "process").trials, kind(ProcessEngine(), None))


def test_longer_trials_are_forecast_to_take_longer() -> None:
    short = forecast_of(replace(NUMPY, epochs=1))
    long = forecast_of(replace(NUMPY, epochs=20))
    assert short.total_s == pytest.approx(2 * short.seconds[0])
    assert long.total_s > short.total_s
    half = forecast_of(replace(NUMPY, epochs=20, cpus=0.5))
    assert half.total_s > long.total_s


def test_no_trial_is_forecast_to_take_longer_than_it_may() -> None:
    asked = replace(NUMPY, workloads=("mnist-cnn",), data="synthetic", epochs=5000)
    long = forecast_of(replace(asked, time_limit="90s"))
    assert long.total_s == pytest.approx(180)
    assert (long.stopped, long.to_json()["stopped"]) == (2, 2)
    assert forecast_of(replace(asked, epochs=1)).stopped == 0


def test_what_is_missing_is_named_once_with_its_size() -> None:
    missing = forecast_of(replace(NUMPY, workloads=("mnist-cnn",)), NothingReady)
    assert [need.kind for need in missing.needs] == ["environment", "data"]
    environment, data = missing.needs
    assert releases.find("numpy").name in environment.text
    assert environment.bytes > 1e6
    assert data.bytes > 1e6
    assert missing.download_bytes == environment.bytes + data.bytes
    assert missing.disk_bytes > missing.download_bytes


def test_synthetic_data_is_not_downloaded() -> None:
    chosen = replace(NUMPY, workloads=("mnist-cnn",), data="synthetic")
    made = forecast_of(chosen)
    assert made.download_bytes == 0
    assert [need.name for need in made.needs] == ["mnist"]


def test_the_forecast_as_json() -> None:
    content = forecast_of(NUMPY).to_json()
    assert [trial["seed"] for trial in content["trials"]] == [1, 2]
    assert content["total_s"] == pytest.approx(
        sum(trial["estimate_s"] for trial in content["trials"]), abs=0.2
    )


def test_a_data_set_of_two_workloads_is_needed_once() -> None:
    both = forecast_of(replace(NUMPY, workloads=("mnist-cnn", "mnist-mlp")))
    assert [need.name for need in both.needs] == ["mnist"]


def test_models_that_share_a_graph_share_its_proof() -> None:
    names = ("oqmd-fcn-10", "mp-fcn-10", "jarvis-fcn-10")
    assert forecast_of(replace(NUMPY, workloads=names)).proofs == 1
    assert forecast_of(replace(NUMPY, workloads=(*names, "jarvis-fcrn-10"))).proofs == 2
    rates = replace(NUMPY, sweep=("optimizer.lr=0.1,0.2,0.3",))
    assert forecast_of(rates).proofs == 1, "coefficients are drawn anew in every proof"
    sizes = forecast_of(replace(NUMPY, sweep=("batch=8,16",)))
    assert sizes.proofs == 2
    assert sizes.to_json()["proofs_s"] == sizes.proofs_s > 0


def test_trials_that_end_at_once_cost_nothing() -> None:
    class NoGpu(NothingReady):
        def gpu_refusal(self, release: Release, gpus: tuple[str, ...] = ("all",)) -> str | None:
            return "There is no GPU."

    both = forecast_of(
        Choices(frameworks=("pytorch",), devices=("cpu", "gpu"), repeats=1, gpu="all"), NoGpu
    )
    by_device = {t.device: s for t, s in zip(both.trials, both.seconds, strict=True)}
    assert by_device["gpu"] == 0.0
    assert by_device["cpu"] > 0.0
    assert both.proofs == 1
    assert [need.text.partition(":")[0] for need in both.needs if need.kind == "environment"] == [
        f"environment of {releases.find('pytorch').name} (cpu)"
    ]


def test_archives_and_their_terms_are_part_of_it() -> None:
    class WithGpu(NothingReady):
        def gpu_refusal(self, release: Release, gpus: tuple[str, ...] = ("all",)) -> str | None:
            return None

    old = Choices(frameworks=("tensorflow@1.15.5",), gpu="all", repeats=1)
    (need, *_) = forecast_of(old, WithGpu).needs
    assert need.bytes > 2.1e9  # of CUDA 10.0 and cuDNN alone
    assert need.text.endswith("MB to download, after `dlbench images accept-cuda`")
    new = replace(old, frameworks=("mxnet@1.9.1",))
    (need, *_) = forecast_of(new, WithGpu).needs
    assert need.text.endswith("2,224 MB to download")


def test_a_package_that_two_releases_share_is_fetched_once() -> None:
    workshop = NothingReady(ProcessEngine(), None)
    pairs = [("keras@3.15.1-tensorflow", "gpu"), ("tensorflow@2.21.0", "gpu")]
    needs, download, disk = environments_to_make(pairs, workshop)
    assert download < 1.05 * max(need.bytes for need in needs)
    assert disk > 2 * download
