"""What people bring is found where they said, named with its origin, and never replaces ours."""

from __future__ import annotations

import importlib
import os
from importlib import metadata
from pathlib import Path

import pytest

from dlbench import datasets, extensions, suites, workloads
from dlbench.environments import releases
from dlbench.errors import UserError
from tests.orchestrator.command import Command

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLE = CHECKOUT / "examples" / "own_things"
SUITE = 'workloads = ["digits-cnn"]\nreleases = ["numpy"]\n'
DATASET = """
import numpy as np
from dlbench.datasets import Dataset

def make(*_):
    rows = np.arange(40, dtype=np.float32)[:, None]
    return {"train": {"x": rows, "y": rows}, "test": {"x": rows + 100, "y": rows}}

DATASET = Dataset(name="lines", title="Lines", licence="none", rows=(40, 40), convert=make,
                  synthetic=make)
"""
WORKLOAD = """
from dataclasses import replace
from dlbench.workloads.digits_cnn import WORKLOAD
WORKLOAD = replace(WORKLOAD, name="mine", recipe=dict(WORKLOAD.recipe))
"""


@pytest.fixture(autouse=True)
def nothing_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(extensions.VARIABLE, raising=False)
    extensions.use(())
    yield
    extensions.use(())


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def release(folder: Path, name: str, adapter: str = "numpy") -> Path:
    framework, version = name.split("@")
    path = write(
        folder,
        f"releases/{framework}/{version}/release.toml",
        f'framework = "{framework}"\nversion = "{version}"\npublished = "2026-05"\n'
        f'adapter = "{adapter}"\npython = ["3.11"]\nvariants = ["numpy"]\nverified = []\n',
    )
    (path.parent / "cpu.lock").write_text("")
    return path


def test_the_option_the_variable_and_the_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two", "three"):
        write(tmp_path / name, f"suites/{name}.toml", SUITE)
    parts = [str(tmp_path / "two"), "", str(tmp_path / "three"), str(tmp_path / "one")]
    monkeypatch.setenv(extensions.VARIABLE, os.pathsep.join(parts))
    extensions.use([tmp_path / "one"])
    assert [each.name for each in extensions.search_path()] == ["one", "two", "three"]
    origins = {name: suite.origin for name, suite in suites.suites().items()}
    brought = {name: origin for name, origin in origins.items() if origin != "built-in"}
    assert brought == {"one": "one", "two": "two", "three": "three"}
    assert origins["quick"] == "built-in"


def test_the_current_folder_is_searched_only_when_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "suites/here.toml", SUITE)
    write(tmp_path, "workloads/here.py", "raise SystemExit('it was run')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(extensions.VARIABLE, os.pathsep)  # two empty parts
    assert "here" not in suites.suites()
    assert "digits-cnn" in workloads.workloads()
    extensions.use([Path()])
    assert suites.find("here").origin == tmp_path.name


def test_an_installed_package_offers_its_folder_without_being_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "lab_things/__init__.py", "raise RuntimeError('imported')")
    write(tmp_path, "lab_things/suites/lab.toml", SUITE)
    info = tmp_path / "lab_bench-1.0.dist-info"
    write(info, "METADATA", "Metadata-Version: 2.1\nName: lab-bench\nVersion: 1.0\n")
    write(info, "entry_points.txt", "[dlbench]\nlab = lab_things\n")
    monkeypatch.syspath_prepend(tmp_path)
    extensions._installed.cache_clear()
    extensions._search_path.cache_clear()
    try:
        assert metadata.version("lab-bench") == "1.0"
        assert suites.find("lab").origin == "lab-bench"
        write(info, "entry_points.txt", "[dlbench]\nlab = lab_thinks\n")
        importlib.invalidate_caches()
        extensions._installed.cache_clear()
        extensions._search_path.cache_clear()
        with pytest.raises(UserError, match="'lab' of group 'dlbench' names 'lab_thinks', which"):
            suites.suites()
    finally:
        extensions._installed.cache_clear()
        extensions._search_path.cache_clear()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: None, "which is not a folder"),
        (lambda folder: (folder / "workload").mkdir(parents=True), "nothing for dlbench in it"),
    ],
)
def test_a_wrong_folder_is_named(tmp_path: Path, command: Command, make, words: str) -> None:
    make(tmp_path / "mine")
    printed = command("list", "suites", "--path", tmp_path / "mine")
    assert printed.code == 2
    assert f"--path names {tmp_path / 'mine'}" in printed.err
    assert words in printed.err


def test_a_folder_must_not_pass_for_ours(tmp_path: Path) -> None:
    write(tmp_path / "built-in", "suites/x.toml", SUITE)
    extensions.use([tmp_path / "built-in"])
    with pytest.raises(UserError, match="would seem to ship with dlbench"):
        suites.suites()


def test_every_kind_is_listed_with_its_origin(command: Command) -> None:
    wanted = {
        "workloads": {"spirals-mlp", "digits-skip"},
        "datasets": {"spirals"},
        "suites": {"layouts"},
        "adapters": {"numpy_layout"},
    }
    for kind, names in wanted.items():
        rows = command("list", kind, "--path", EXAMPLE, "--json").json
        assert {row["name"] for row in rows if row["origin"] == "own_things"} == names
        assert {row["origin"] for row in rows} == {"own_things", "built-in"}
        text = command("list", kind, "--path", EXAMPLE).out
        lines = [line for line in text.splitlines() if "own_things" in line]
        assert {line.split()[0] for line in lines} == names
    rows = command("list", "releases", "--path", EXAMPLE, "--json").json
    assert [row["framework"] for row in rows if row["origin"] == "own_things"] == ["numpy-layout"]
    assert "own_things" in command("data", "list", "--path", EXAMPLE).out
    assert "own_things" not in command("list", "workloads").out


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("workloads/x.py", "a = 1\nb = nowhere\n", "NameError: name 'nowhere' is not defined"),
        ("workloads/x.py", "a = 1\nb = (\n", "was never closed (line 2)"),
        ("workloads/x.py", "a = 1\nraise SystemExit(3)", "SystemExit: 3 (line 2)"),
        ("workloads/x.py", "import no_such_module\n", "No module named 'no_such_module' (line 1)"),
        (
            "workloads/x.py",
            "from dlbench.workloads import find\nfind('digits-cnn')\n",
            "looks up other definitions before its own is complete (line 2)",
        ),
        ("workloads/x.2.py", WORKLOAD, "a name without dots"),
        ("workloads/x.py", "WORKLOADS = []\n", "does not define WORKLOAD"),
        ("workloads/x.py", "WORKLOAD = 'digits-cnn'\n", "does not define WORKLOAD"),
        ("workloads/x.py", WORKLOAD.replace('name="mine"', 'dataset="digit"'), "data set 'digit'"),
        (
            "workloads/x.py",
            WORKLOAD + "del WORKLOAD.recipe['batch']\n",
            "`recipe.batch` is missing",
        ),
        ("workloads/x.py", WORKLOAD.replace('name="mine"', "graph={}"), "its graph is not"),
        ("workloads/x.py", WORKLOAD.replace("mine", "mine/2"), "'mine/2' is not a plain name"),
        ("datasets/x.py", "DATASET = None\n", "does not define DATASET"),
        ("suites/x.toml", "workloads = 3\nreleases = ['numpy']", "`workloads` must be a list"),
        ("workloads/x.toml", "name = [", "can't be read"),
    ],
)
def test_a_broken_file_is_named_without_a_traceback(
    tmp_path: Path, command: Command, name: str, text: str, words: str
) -> None:
    path = write(tmp_path / "mine", name, text)
    printed = command("list", path.parent.name, "--path", tmp_path / "mine")
    assert printed.code == 2
    assert str(path) in printed.err
    assert words in printed.err
    assert "Traceback" not in printed.err


def test_a_release_without_its_adapter_is_refused(tmp_path: Path, command: Command) -> None:
    path = release(tmp_path / "mine", "numpy@9.9", adapter="nunpy")
    printed = command("list", "releases", "--path", tmp_path / "mine")
    assert printed.code == 2
    assert f"{path}: `adapter` names 'nunpy', and there is no such adapter" in printed.err
    assert "Did you mean 'numpy'" in printed.err


@pytest.mark.parametrize(
    ("kind", "name", "text", "ours"),
    [
        ("workloads", "x.py", WORKLOAD.replace('"mine"', '"digits-cnn"'), "digits_cnn.py"),
        ("datasets", "x.py", DATASET.replace('"lines"', '"digits"'), "digits.py"),
        ("suites", "quick.toml", SUITE, "quick.toml"),
        ("adapters", "torch.py", "", "torch/__init__.py"),
        ("adapters", "base.py", "", "base.py"),
    ],
)
def test_ours_can_not_be_replaced(
    tmp_path: Path, command: Command, kind: str, name: str, text: str, ours: str
) -> None:
    path = write(tmp_path / "mine", f"{kind}/{name}", text)
    printed = command("list", kind, "--path", tmp_path / "mine")
    assert printed.code == 2
    assert str(path) in printed.err
    assert f"/{ours} and " in printed.err
    assert "what ships with dlbench can't be replaced" in printed.err


def test_a_release_of_ours_can_not_be_replaced(tmp_path: Path) -> None:
    path = release(tmp_path / "mine", "numpy@2.4.6")
    extensions.use([tmp_path / "mine"])
    with pytest.raises(UserError, match=r"two releases called 'numpy@2.4.6'.*can't be") as caught:
        releases.find("numpy")
    assert str(path) in caught.value.problem
    assert "images/numpy/2.4.6/release.toml" in caught.value.problem


def test_two_folders_must_not_bring_the_same(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, "suites/same.toml", SUITE)
    extensions.use([tmp_path / "one", tmp_path / "two"])
    with pytest.raises(UserError, match="Rename one of them"):
        suites.find("same")
    extensions.use([tmp_path / "one", tmp_path / "two" / ".." / "one"])  # the same folder twice
    assert suites.find("same").origin == "one"


def test_a_file_can_import_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path / "mine", "workloads/_shared.py", 'NAME = "from-a-neighbour"')
    text = "from ._shared import NAME\n" + WORKLOAD.replace('"mine"', "NAME")
    write(tmp_path / "mine", "workloads/x.py", text)
    extensions.use([tmp_path / "mine"])
    assert workloads.find("from-a-neighbour").origin == "mine"


def test_a_release_is_found_as_ours_are(tmp_path: Path) -> None:
    release(tmp_path / "mine", "numpy@99.0")
    extensions.use([tmp_path / "mine"])
    assert releases.find("numpy").origin == "mine"
    assert releases.find("numpy@2.4.6").origin == "built-in"
    extensions.use(())
    assert releases.find("numpy").origin == "built-in"


def test_a_data_set_is_made_again_when_its_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dlbench.datasets import store

    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))
    digests = []
    for number, text in enumerate((DATASET, DATASET.replace("+ 100", "+ 200"))):
        write(tmp_path / str(number), "datasets/lines.py", text)
        extensions.use([tmp_path / str(number)])
        digests.append(store.prepare(datasets.find("lines")).digest)
    assert digests[0] != digests[1]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rows = np", "rows = 1 / 0 + np", "ZeroDivisionError: division by zero (line 6)"),
        ('"test":', '"tests":', "not in the splits train and test"),
        ('"y": rows}, "test"', '"y": rows[1:]}, "test"', "equally many rows"),
        ('"y": rows}, "test"', '"z": rows}, "test"', "the same arrays"),
        ('"y": rows}, "test"', '"y": [1]}, "test"', "not a NumPy array"),
    ],
)
def test_wrong_arrays_are_an_error_that_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, words: str
) -> None:
    from dlbench.datasets import store

    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))
    assert old in DATASET
    path = write(tmp_path / "mine", "datasets/lines.py", DATASET.replace(old, new))
    extensions.use([tmp_path / "mine"])
    with pytest.raises(UserError) as caught:
        store.prepare(datasets.find("lines"))
    assert str(path) in caught.value.problem
    assert words in caught.value.problem
