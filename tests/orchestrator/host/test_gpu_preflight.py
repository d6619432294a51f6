"""Before a GPU trial starts, the user reads which GPU it uses and whether it can work there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dlbench.engines import gpu_requests
from dlbench.environments import gpu_fit, releases
from dlbench.errors import UserError
from dlbench.host import diagnosis, gpu_preflight
from dlbench.host.machine import cautions, gpu_cautions
from dlbench.monitor import gpu
from dlbench.monitor.gpu import Device, Inventory
from dlbench.planning.choices import Choices
from dlbench.planning.notices import check_gpus, notices
from dlbench.planning.plan import draft
from dlbench.running import jobs
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.preparation import GpuImpossible, prepare_environments, refusal_of
from dlbench.running.workshop import Workshop, open_workshop
from dlbench.workloads import workloads


def see(
    monkeypatch: pytest.MonkeyPatch, *generations: str, driver: str = "535.104.05", busy: int = 0
) -> None:
    cards = [
        Device(f"Card {i}", 8 << 30, compute, processes=busy, index=i, uuid=f"GPU-{i}{i}{i}{i}")
        for i, compute in enumerate(generations)
    ]
    seen = Inventory(tuple(cards), driver, "12.2", None if cards else "No driver is loaded.")
    monkeypatch.setattr(gpu, "inventory", lambda: seen)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def planned(*frameworks: str, which: str) -> Any:
    return draft(Choices(frameworks=frameworks, gpu=which, workloads=("digits-cnn",)), "process")


def workshop() -> Workshop:
    return open_workshop("process")


def test_all_of_one_needs_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    see(monkeypatch, "7.0")
    assert planned("mxnet", which="all").notes == ()


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("all", "GPU 0 (Card 0) is used, the other 2 stay idle"),
        ("1,2", "GPU 1 (Card 1) is used, the other stays idle"),
        # In a container the driver numbers them, not the order in which they were asked for.
        ("2,1", "GPU 1 (Card 1) is used, the other stays idle"),
        ("GPU-2222,0", "GPU 0 (Card 0) is used, the other stays idle"),
        ("nvidia.com/gpu=all", "GPU 0 (Card 0) is used, the other 2 stay idle"),
        ("nvidia.com/gpu=2,1", "GPU 1 (Card 1) is used, the other stays idle"),
    ],
)
def test_of_several_gpus_the_one_that_is_used_is_named(
    which: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    see(monkeypatch, "7.0", "7.5", "8.0")
    (note,) = planned("mxnet", which=which).notes
    assert words in note and "`--gpu each` compares them" in note


def test_each_gpu_is_a_device_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    see(monkeypatch, "7.0", "7.5")
    plan = planned("mxnet", which="each")
    assert plan.notes == ()
    repeats = max(trial.round for trial in plan.trials) + 1
    assert len(plan.trials) == 2 * repeats
    assert {trial.gpus for trial in plan.trials} == {("0",), ("1",)}
    assert {trial.compared_device for trial in plan.trials} == {"gpu:0", "gpu:1"}
    assert {trial.device for trial in plan.trials} == {"gpu"}
    for number in range(repeats):  # both in every round
        assert {t.gpus for t in plan.trials if t.round == number} == {("0",), ("1",)}


def test_each_beside_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    see(monkeypatch, "7.0", "7.5")
    choices = Choices(
        frameworks=("mxnet",), gpu="each", devices=("cpu", "gpu"), workloads=("digits-cnn",)
    )
    trials = draft(choices, "process").trials
    assert {trial.compared_device for trial in trials} == {"cpu", "gpu:0", "gpu:1"}
    assert {trial.gpus for trial in trials if trial.device == "cpu"} == {()}


def test_each_of_none_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    see(monkeypatch)
    with pytest.raises(UserError, match=r"needs GPUs, and none is seen here\. No driver is loaded"):
        planned("mxnet", which="each")


def test_a_hopeless_pair_is_refused_with_the_nearest_that_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    see(monkeypatch, "7.0", driver="440.33")
    refusal = gpu_preflight.refusal(releases.find("mxnet@1.9.1"), None)
    assert refusal is not None
    assert "needs driver 520.61 or newer; this machine has 440.33." in refusal
    assert "The nearest release that works here is mxnet@1.3.0" in refusal
    said = list(notices(planned("mxnet@1.9.1", which="all").trials, (), workshop(), busy=False))
    assert said[0] == f"None of these trials can run here: `dlbench run` would refuse. {refusal}"
    both = planned("mxnet@1.9.1", "mxnet@1.3.0", which="all").trials
    check_gpus(both, workshop())  # one of them can
    said = list(notices(both, (), workshop(), busy=False))
    assert said[0] == f"GPU trials of mxnet@1.9.1 will end as `unsupported`. {refusal}"


def test_the_pair_that_counts_is_that_of_the_used_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    see(monkeypatch, "7.0", "12.0")
    chainer = releases.find("chainer@7.8.1")
    assert gpu_preflight.refusal(chainer, None, ("0",)) is None
    refusal = gpu_preflight.refusal(chainer, None, ("1",))
    assert refusal is not None and "works on GPUs up to sm_90; this one is sm_120" in refusal
    assert "It can use GPU 0 (Card 0): `--gpu 0`." in refusal
    assert gpu_preflight.refusal(chainer, None, ("nvidia.com/gpu=1",)) == refusal
    check_gpus(planned("chainer@7.8.1", which="0").trials, workshop())
    with pytest.raises(UserError, match="this one is sm_120") as refused:
        check_gpus(planned("chainer@7.8.1", which="1").trials, workshop())
    assert refused.value.remedy == "Leave out --gpu and --device gpu to run on the CPU."
    each = planned("chainer@7.8.1", which="each").trials
    check_gpus(each, workshop())  # GPU 0 is left
    said = list(notices(each, (), workshop(), busy=False))
    assert sum("will end as `unsupported`" in sentence for sentence in said) == 1


def test_an_old_build_on_a_new_gpu_is_warned_of_and_given_more_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    see(monkeypatch, "8.0")
    old = releases.find("tensorflow@1.15.5")
    assert gpu_preflight.refusal(old, None) is None
    assert gpu_preflight.warning(old, ("all",)) == (
        "tensorflow@1.15.5 has machine code for GPUs up to sm_70 only; this one is sm_80. The"
        " driver must compile all GPU code when it first runs, which can take an hour, and it may"
        " fail."
    )
    assert planned("tensorflow@1.15.5", which="all").notes == (
        gpu_preflight.warning(old, ("all",)),
    )
    (trial, *_) = planned("tensorflow@1.15.5", which="all").trials
    assert jobs._limits(trial, old).seconds == trial.seconds + gpu_fit.COMPILE_S
    new = releases.find("tensorflow@2.10.1")
    (trial, *_) = planned("tensorflow@2.10.1", which="all").trials
    assert gpu_preflight.warning(new, ("all",)) == ""
    assert jobs._limits(trial, new).seconds == trial.seconds


@pytest.mark.parametrize(("busy", "words"), [(1, "another program"), (3, "3 other programs")])
def test_a_busy_gpu_is_said_before_and_beside_the_numbers(
    busy: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    see(monkeypatch, "7.0", busy=busy)
    (note,) = planned("mxnet", which="all").notes
    assert f"GPU 0 (Card 0) is in use by {words}" in note
    machine = {
        "gpus": [{"name": "Card 0", "processes": busy}],
        "load_average": 0,
        "cores_usable": 2,
    }
    (sentence,) = gpu_cautions({"abc": machine}, {"gpu"})
    assert f"GPU 0 (Card 0) was in use by {words} when the campaign began" in sentence


def test_energy_of_a_busy_gpu_beside_it_is_spoken_of(monkeypatch: pytest.MonkeyPatch) -> None:
    see(monkeypatch, "7.0", "7.5")
    first, second = gpu.inventory().devices
    busy = Inventory((first, replace(second, processes=2)), "535.104.05")
    monkeypatch.setattr(gpu, "inventory", lambda: busy)
    _, note = planned("mxnet", which="all").notes
    assert note.startswith("GPU 1 (Card 1) is in use by 2 other programs: what it draws is counted")
    assert planned("mxnet", which="0").notes == ()


@pytest.mark.parametrize("gpus", [None, [], ["invented"], [{"name": "x"}], [{"processes": 0}]])
def test_an_idle_or_unknown_gpu_is_not_spoken_of(gpus: Any) -> None:
    machine = {"abc": {"gpus": gpus, "load_average": 0.0, "cores_usable": 2}}
    assert gpu_cautions(machine, {"gpu"}) == cautions(machine) == []


PODMAN = {"BuildahVersion": "1.39.3", "ServerVersion": "5.4.2", "Runtimes": {"crun": {}}}


@pytest.mark.parametrize(
    ("info", "words"),
    [
        ({"Runtimes": {"nvidia": {}, "runc": {}}}, ""),
        ({"Runtimes": {"runc": {}}}, gpu_preflight.NO_RUNTIME),
        ({"Runtimes": None, "DiscoveredDevices": None}, gpu_preflight.NO_RUNTIME),
        ({"DiscoveredDevices": [{"ID": "vendor.com/net=eth0"}]}, gpu_preflight.NO_RUNTIME),
        ({"DiscoveredDevices": [{"ID": "nvidia.com/gpu=0"}]}, ""),
        ({"DiscoveredDevices": None, "CDISpecDirs": ["/nowhere"]}, gpu_preflight.NO_RUNTIME),
    ],
)
def test_what_a_daemon_needs_to_pass_gpus_on(
    info: dict[str, Any], words: str, tmp_path: Path
) -> None:
    assert gpu_preflight.no_passing_on(info, str(tmp_path)) == words
    hook = tmp_path / "nvidia-container-runtime-hook"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    assert gpu_preflight.no_passing_on(info, str(tmp_path)) == ""


@pytest.mark.parametrize(
    ("name", "text", "described"),
    [
        ("nvidia.yaml", "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: []\n", True),
        ("nvidia.json", '{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu"}', True),
        ("other.yaml", "kind: vendor.com/net\n# not nvidia.com/gpu\n", False),
        ("broken.yaml", "\0\0", False),
        ("nvidia.txt", "kind: nvidia.com/gpu\n", False),
    ],
)
def test_podman_finds_gpus_that_are_described_to_cdi(
    name: str, text: str, described: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text(text)
    monkeypatch.setattr(gpu_requests, "_FOLDERS", (str(tmp_path / "none"), str(tmp_path)))
    hook = tmp_path / gpu_requests.HOOK  # it is Docker's alone, and so is a runtime of its own
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    told = {**PODMAN, "Runtimes": {"nvidia": {}}}
    lacking = gpu_preflight.no_passing_on(told, str(tmp_path))
    assert lacking == ("" if described else gpu_preflight.NO_CDI)
    # Docker from 25 on has folders of its own, and lists no devices before 28.2.
    docker = {"Runtimes": {"runc": {}}, "CDISpecDirs": [str(tmp_path)]}
    lacking = gpu_preflight.no_passing_on(docker, "/nowhere")
    assert lacking == ("" if described else gpu_preflight.NO_RUNTIME)
    assert gpu_requests.by_name(docker, "/nowhere") == described
    assert not gpu_requests.by_name(docker, str(tmp_path))  # the hook needs no description


@pytest.mark.parametrize("version", ["4.9.3", "5.3.2"])
def test_a_podman_that_would_leave_gpus_out_is_refused(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvidia.yaml").write_text("kind: nvidia.com/gpu\n")
    monkeypatch.setattr(gpu_requests, "_FOLDERS", (str(tmp_path),))
    assert gpu_preflight.no_passing_on(PODMAN) == ""
    old = {**PODMAN, "ServerVersion": version}
    assert gpu_preflight.no_passing_on(old) == gpu_preflight.OLD_PODMAN


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("7", "There is no GPU 7 here: this machine has GPUs 0 (Card 0) and 1 (Card 1)."),
        ("0,7", "There is no GPU 7 here"),
        ("GPU-9999", "There is no GPU-9999 here"),
        ("nvidia.com/gpu=5", "There is no GPU 5 here"),
        ("MIG-1234", "There is no MIG-1234 here"),
        ("MIG-GPU-1234/1/0", None),  # as older drivers call parts; the engine knows
        ("1", None),
    ],
)
def test_a_gpu_that_is_not_there_is_refused_before_anything_is_made(
    which: str, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    see(monkeypatch, "7.0", "7.5")
    trials = planned("mxnet", which=which).trials
    if words is None:
        check_gpus(trials, workshop())
        return
    with pytest.raises(UserError) as refused:
        check_gpus(trials, workshop())
    assert words in refused.value.problem


def test_a_gpu_that_can_t_be_used_is_not_said_to_be_none(monkeypatch: pytest.MonkeyPatch) -> None:
    see(monkeypatch, "7.0", "7.5")
    broken = replace(
        gpu.inventory(), devices=gpu.inventory().devices[1:], reason="GPU is lost.", remedy="Look."
    )
    monkeypatch.setattr(gpu, "inventory", lambda: broken)
    refusal = gpu_preflight.refusal(releases.find("mxnet"), None, ("0",)) or ""
    assert refusal.endswith("has GPU 1 (Card 1). Another can't be used. GPU is lost. Look.")
    assert gpu_preflight.refusal(releases.find("mxnet"), None, ("1",)) is None
    (said,) = (each for each in diagnosis._gpus() if each.topic == "Broken GPU")
    assert (said.text, said.remedy) == ("one can't be used. GPU is lost.", "Look.")


def divide(monkeypatch: pytest.MonkeyPatch, *parts: str) -> None:
    """Two GPUs, of which the second is divided into these."""
    see(monkeypatch, "8.0", "8.0")
    first, second = gpu.inventory().devices
    own = tuple(replace(second, name="Card 1 MIG 1g", uuid=part) for part in parts)
    cards = (first, replace(second, divided=True, parts=own))
    monkeypatch.setattr(gpu, "inventory", lambda: Inventory(cards, "535.104.05", "12.2"))


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("all", "GPU 1 (Card 1) is divided (MIG)"),
        ("1", "Give one of its parts, `--gpu MIG-…`"),
        ("GPU-1111", "no program can use it as a whole"),
        ("0", None),
        ("MIG-b", None),
        ("MIG-c", "There is no MIG-c here"),
    ],
)
def test_of_a_divided_gpu_only_parts_can_be_used(
    which: str, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    divide(monkeypatch, "MIG-a", "MIG-b")
    found = gpu_preflight.refusal(releases.find("mxnet@1.9.1"), None, (which,))
    assert found is None if words is None else words in str(found)


def test_a_part_is_told_from_its_gpu_and_from_its_sisters(monkeypatch: pytest.MonkeyPatch) -> None:
    divide(monkeypatch, "MIG-a", "MIG-b")
    assert gpu_preflight.in_order(("MIG-b", "MIG-a", "0", "MIG-b")) == ("0", "MIG-b", "MIG-a")
    assert gpu_preflight.model(("MIG-a",)) == ["535.104.05", "Card 1 MIG 1g", "8.0"]
    too_old = gpu_preflight.refusal(releases.find("pytorch@2.13.0"), None, ("MIG-a",))
    assert too_old is not None and "needs driver 580.65.06" in too_old
    divide(monkeypatch)
    found = gpu_preflight.refusal(releases.find("mxnet@1.9.1"), None, ("1",))
    assert "Give one of the parts that you make of it" in str(found)


@pytest.mark.parametrize(
    ("allotted", "which", "words"),
    [
        ("1", "all", "CUDA_VISIBLE_DEVICES is '1' here: `--gpu all` would also use"),
        ("1", "nvidia.com/gpu=all", "Give `--gpu 1`, or unset it."),
        ("", "all", "Unset it to use them."),
        ("NoDevFiles", "all", "GPUs that this shell was not given"),
        ("1,0", "all", None),
        ("GPU-0000,GPU-1111", "all", None),
        ("1", "0", None),  # it was asked for by its name
    ],
)
def test_all_is_no_more_than_what_a_shell_was_given(
    allotted: str, which: str, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    see(monkeypatch, "7.0", "7.5")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", allotted)
    found = gpu_preflight.refusal(releases.find("mxnet@1.9.1"), None, (which,))
    assert found is None if words is None else words in str(found)


def test_each_is_no_more_than_what_a_shell_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    see(monkeypatch, "7.0", "7.5")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with pytest.raises(UserError, match="`--gpu each` would also use") as refused:
        planned("mxnet", which="each")
    assert refused.value.remedy == "Give `--gpu 0`, or unset it."


def docker(version: str, **info: Any) -> Any:
    api = SimpleNamespace(api_version=version)
    return SimpleNamespace(api=api, info=lambda: {"Runtimes": {"runc": {}}, **info})


def test_a_daemon_that_can_t_is_no_end_where_a_gpu_is_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    mxnet = releases.find("mxnet@1.9.1")
    see(monkeypatch, "7.0")
    said = gpu_preflight.refusal(mxnet, docker("1.41"))
    assert said is not None and said.startswith(gpu_preflight.NO_RUNTIME)
    assert said.endswith("Or give `--engine process`: it needs no container.")
    both = {"Runtimes": {"nvidia": {}}}
    assert gpu_preflight.refusal(mxnet, docker("1.40", **both)) is None
    said = gpu_preflight.refusal(mxnet, docker("1.39", **both))
    assert said is not None and "from Docker 19.03 on" in said
    see(monkeypatch)  # then nothing that could be installed beside Docker would help
    assert (
        gpu_preflight.refusal(mxnet, docker("1.41")) == "No GPU is seen here. No driver is loaded."
    )


def test_what_the_driver_does_not_tell_is_no_ground(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Device("Card", None, None, index=0, uuid="GPU-0")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(gpu, "inventory", lambda: Inventory((card,), "535.104.05"))
    assert gpu_preflight.refusal(releases.find("mxnet@1.9.1"), None) is None


def test_only_the_gpu_that_was_used_is_called_busy() -> None:
    uuid = "GPU-00112233-aaaa-bbbb-cccc-445566778899"
    cards = [
        {"name": "A", "processes": 1, "index": 1, "digest": "other"},
        {"name": "B", "processes": 1, "index": 3, "digest": gpu.digest_of(uuid)},
    ]
    machines = {"abc": {"gpus": cards}}
    (said,) = gpu_cautions(machines, {f"gpu:{gpu.digest_of(uuid)}"})
    assert "GPU 3 (B) was in use by another program" in said and "energy are also theirs" in said
    (said,) = gpu_cautions(machines, {"gpu:1"})
    assert "GPU 1 (A)" in said
    assert gpu_cautions(machines, {"gpu:0"}) == [] and len(gpu_cautions(machines, {"gpu"})) == 2


def test_one_gpu_named_twice_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    see(monkeypatch, "7.0", "7.5")
    assert gpu_preflight.in_order(("1", "GPU-1111", "0", "1")) == ("0", "1")
    assert gpu_preflight.in_order(("1", "all")) == ("all",)
    assert gpu_preflight.in_order(("nvidia.com/gpu=all",)) == ("nvidia.com/gpu=all",)
    assert gpu_preflight.in_order(("9", "MIG-1", "0")) == ("0", "9", "MIG-1")
    see(monkeypatch)
    assert gpu_preflight.in_order(("1", "0")) == ("1", "0")


def test_another_gpu_that_would_do_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    see(monkeypatch, "12.0", "7.0")
    refusal = gpu_preflight.refusal(releases.find("chainer@7.8.1"), None, ("all",))
    assert refusal is not None
    assert refusal.endswith("It can use GPU 1 (Card 1): `--gpu 1`.")


def test_of_each_gpu_only_the_hopeless_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever comes first in the rounds."""
    see(monkeypatch, "7.0", "12.0")
    trials = planned("chainer@7.8.1", which="each").trials
    found = {trial.gpus: refusal_of(trial, workshop()) for trial in trials}
    assert found["0",] is None
    assert "this one is sm_120" in str(found["1",])

    class Made(Workshop):
        def check(self, release: object, device: str) -> None: ...
        def environment(self, *_: object, **__: object) -> str:
            return "made"

    made = Made(workshop().engine, None)
    for order in (trials, tuple(reversed(trials))):
        assert prepare_environments(order, made, CampaignObserver()) == {
            ("chainer@7.8.1", "gpu"): "made"
        }
    hopeless = [trial for trial in trials if trial.gpus == ("1",)]
    (refused,) = prepare_environments(hopeless, made, CampaignObserver()).values()
    assert isinstance(refused, GpuImpossible)


def test_a_proof_holds_for_one_model_of_gpu_and_one_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    see(monkeypatch, "7.0", "8.0")
    first = gpu_preflight.model(("all",))
    assert first == gpu_preflight.model(("0",)) == ["535.104.05", "Card 0", "7.0"]
    assert gpu_preflight.model(("1",)) != first
    see(monkeypatch, "7.0", "8.0", driver="600.10")
    assert gpu_preflight.model(("all",)) != first


def test_the_suite_plans_every_workload_on_both_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    see(monkeypatch, "8.0", driver="600.10")
    plan = draft(Choices(suite="cpu-vs-gpu"), "docker")
    assert plan.notes == ()
    trainable = {name for name, each in workloads().items() if not each.only_proof}
    for device in ("cpu", "gpu"):
        planned_there = [trial for trial in plan.trials if trial.device == device]
        assert {trial.workload for trial in planned_there} == trainable
        assert {trial.release for trial in planned_there} == {t.release for t in plan.trials}
    assert len(plan.trials) == 2 * 6 * len(trainable) * plan.suite.repeats
