"""The workloads that ship with dlbench: what the studies state of their models; their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench import extensions
from dlbench.datasets import datasets, store
from dlbench.errors import UserError
from dlbench.planning import plan
from dlbench.planning.choices import Choices
from dlbench.workloads import find, workloads

MATERIALS = {
    "fcn-10": 2_166_529, "fcn-17": 4_631_361, "fcn-24": 4_982_321,
    "fcrn-10": 2_954_977, "fcrn-17": 5_419_809, "fcrn-24": 5_771_297,
}  # fmt: skip
"""As gupta2023 states them."""


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("mnist-cnn", 1_199_882),
        ("cifar10-cnn", 1_250_858),
        ("imdb-lstm", 5000 * 32 + 4 * (32 * 100 + 100 * 100 + 100) + 101),
        ("mnist-mlp", 118_282),
        ("petrol-mlp", 500 + 5050 + 1275 + 26),
        ("cifar10-resnet18", 11_173_962),  # tian2020, the PyTorch code
        # torchvision's with 1,000 classes, less the last layer's, plus that of 10 classes
        ("cifar10-resnet50", 25_557_032 - 2049 * 1000 + 2049 * 10),
        ("cifar10-densenet121", 7_978_856 - 1025 * 1000 + 1025 * 10),
        # torchvision's reads 7x7x512 values behind its adaptive pooling
        ("cifar10-vgg16", 138_357_544 - 48 * 512 * 4096 - 4097 * 1000 + 4097 * 10),
        ("imagenet80-vgg16", 138_357_544 - 45 * 512 * 4096),
        # VGG16's convolutions, their norms, and two dense layers with one norm
        ("cifar10-vgg16-bn", 14_714_688 + 2 * 4_224 + 513 * 512 + 2 * 512 + 513 * 10),
        # ResNet-50 without its last layer and its norms, and without what is constant; then the RPN
        # on 1,024 channels with 15 anchors, and the second stage on 2,048 with 21 classes
        ("voc2012-faster-rcnn", 25_557_032 - 2049 * 1000 - 53_120 - (9_408 + 212_992)
         + (9 * 1024 + 1) * 512 + 513 * 75 + 2049 * 101),
        ("ptb-lstm", 1_280_000 + 4 * 1024 * (1153 + 2049) + 10_250_000),
        ("ptb-lstm-small", 2_000_000 + 4 * 200 * (401 + 401) + 2_010_000),
        *((f"{data}-{m}", n) for data in ("oqmd", "mp", "jarvis") for m, n in MATERIALS.items()),
    ],
)  # fmt: skip
def test_published_parameter_counts(name: str, parameters: int) -> None:
    assert find(name).parameters == parameters
    if name.startswith(("cifar10-", "imagenet80-")) and find(name).source:
        assert f"{parameters:,}" in find(name).source


def test_every_workload_has_its_data_set() -> None:
    assert {workload.dataset for workload in workloads().values()} <= datasets().keys()


def test_models_that_share_a_graph_share_its_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path))
    jobs = [
        store.prepare_proof(datasets()[name]).to_job()
        for name in ("oqmd", "materials-project", "jarvis")
    ]
    assert jobs[0] == jobs[1] == jobs[2]
    for model in MATERIALS:
        assert find(f"oqmd-{model}").proof == find(f"jarvis-{model}").proof
        full, small = (
            [(node["op"], node["inputs"]) for node in graph["nodes"]]
            for graph in (find(f"mp-{model}").graph, find(f"mp-{model}").proof_graph)
        )
        assert full == small, "another structure was proven"


def test_materials_stop_as_in_the_study() -> None:
    recipe = find("oqmd-fcn-24").recipe
    assert (recipe["epochs"], recipe["batch"]) == (3000, 32)
    assert recipe["stopping"] == {"patience": 100, "validation": None}
    assert "validation" in datasets()["oqmd"].synthetic(18, 4)


def test_an_alias_finds_the_workload_and_is_not_a_second_one() -> None:
    assert find("enthalpy-fcrn-10") is find("jarvis-fcrn-10")
    assert "enthalpy-fcrn-10" not in workloads()
    chosen = Choices(frameworks=("numpy",), workloads=("enthalpy-fcrn-10", "jarvis-fcrn-10"),
                     repeats=1)  # fmt: skip
    trials = plan.draft(chosen, "process").trials
    assert [trial.workload for trial in trials] == ["jarvis-fcrn-10"]


def test_decoding_starts_from_the_encoders_state() -> None:
    workload = find("manythings-lstm")
    nodes = {node["name"]: node for node in workload.graph["nodes"]}
    assert nodes["decoder"]["initial"] == ["encoder:h", "encoder:c"]
    assert nodes["encoder"]["lengths"] == "source_length"
    specs = [*workload.recipe["losses"], *workload.recipe["metrics"]]
    assert {spec["mask"] for spec in specs} == {"mask"}
    assert [spec["name"] for spec in specs[1:]] == ["accuracy", "perplexity", "greedy-accuracy"]


SEVERAL = """
from dataclasses import replace
from dlbench.workloads import digits_cnn
WORKLOADS = tuple(replace(digits_cnn.WORKLOAD, name=f"mine-{n}") for n in range({count}))
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "mine" / "workloads"
    folder.mkdir(parents=True)
    extensions.use([tmp_path / "mine"])
    yield folder
    extensions.use([])


def test_a_file_may_define_several(own: Path) -> None:
    (own / "several.py").write_text(SEVERAL.replace("{count}", "3"))
    assert {"mine-0", "mine-1", "mine-2"} <= workloads().keys()
    assert workloads()["mine-1"].origin == "mine"


@pytest.mark.parametrize("content", ["WORKLOADS = ()", "WORKLOADS = 3", "WORKLOADS = (1, 2)"])
def test_several_that_are_none_are_refused(own: Path, content: str) -> None:
    (own / "none.py").write_text(content)
    with pytest.raises(UserError, match=r"none\.py does not define WORKLOAD"):
        workloads()


def test_nobody_can_take_the_name_of_an_alias(own: Path) -> None:
    (own / "taken.py").write_text(
        SEVERAL.replace('f"mine-{n}"', '"enthalpy-fcrn-10"').replace("{count}", "1")
    )
    with pytest.raises(UserError, match="two workloads called 'enthalpy-fcrn-10'"):
        workloads()
