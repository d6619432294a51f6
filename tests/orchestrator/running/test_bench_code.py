"""The code of a trial is ours, or ours with one folder's adapters: made once, under its digest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dlbench import extensions, paths
from dlbench.environments import releases
from dlbench.errors import UserError
from dlbench.extensions import Extension
from dlbench.running import bench_code, jobs
from dlbench.running.bench_code import bench_digest, bench_folder

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "own_things"


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))
    for function in (bench_digest, bench_code._combined):
        function.cache_clear()
    yield
    extensions.use(())
    for function in (bench_digest, bench_code._combined):
        function.cache_clear()


def mine(tmp_path: Path, text: str = "VARIANTS = ()\n") -> Extension:
    folder = tmp_path / "mine"
    (folder / "adapters").mkdir(parents=True, exist_ok=True)
    (folder / "adapters" / "own.py").write_text(text)
    (folder / "adapters" / "_shared.py").write_text("")
    (folder / "adapters" / "__init__.py").write_text("raise RuntimeError")
    return Extension("mine", folder)


def test_without_adapters_of_others_it_is_the_plain_folder(tmp_path: Path) -> None:
    assert bench_folder() == paths.bundled("bench")
    assert not (tmp_path / "cache").exists()


def test_with_them_it_is_a_copy_that_holds_both(tmp_path: Path) -> None:
    extension = mine(tmp_path)
    before = os.umask(0o077)
    try:
        folder = bench_folder(extension)
    finally:
        os.umask(before)
    ours = {path.name for path in (paths.bundled("bench") / "adapters").glob("*.py")}
    assert {path.name for path in (folder / "adapters").glob("*.py")} == ours | {
        "own.py",
        "_shared.py",
    }
    text = (folder / "adapters" / "__init__.py").read_text()
    assert text == (paths.bundled("bench") / "adapters" / "__init__.py").read_text()
    assert (folder / "__main__.py").is_file()
    for path in (folder, folder / "adapters", folder / "proof"):
        assert path.stat().st_mode & 0o005 == 0o005  # a container's user reads it
    assert (folder / "adapters" / "own.py").stat().st_mode & 0o004
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_the_digest_is_that_of_all_that_is_in_it(tmp_path: Path) -> None:
    extension = mine(tmp_path)
    first, folder = bench_digest(extension), bench_folder(extension)
    assert first != bench_digest()
    bench_digest.cache_clear()
    mine(tmp_path, "VARIANTS = ('other',)\n")
    assert bench_digest(extension) != first
    assert bench_folder(extension) != folder
    assert (folder / "adapters" / "own.py").read_text() == "VARIANTS = ()\n"  # kept as it was


def test_a_damaged_copy_is_made_again(tmp_path: Path) -> None:
    extension = mine(tmp_path)
    folder = bench_folder(extension)
    (folder / "adapters" / "own.py").write_text("broken")
    bench_code._combined.cache_clear()
    assert bench_folder(extension) == folder
    assert (folder / "adapters" / "own.py").read_text() == "VARIANTS = ()\n"


def test_an_adapter_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    extension = mine(tmp_path)
    bench_digest(extension)
    mine(tmp_path, "VARIANTS = ('other',)\n")
    with pytest.raises(UserError, match="changed while they were read"):
        bench_folder(extension)
    assert not list((tmp_path / "cache" / "bench").iterdir())


def test_only_the_release_that_uses_an_adapter_depends_on_it() -> None:
    extensions.use([EXAMPLE])
    ours, theirs = releases.find("numpy@2.4.6"), releases.find("numpy-layout")
    assert bench_folder(ours.adapter_from) == paths.bundled("bench")
    assert (bench_folder(theirs.adapter_from) / "adapters" / "numpy_layout.py").is_file()
    identity = jobs.software(ours, "cpu")
    extensions.use(())
    assert jobs.software(releases.find("numpy@2.4.6"), "cpu") == identity
    assert jobs.software(theirs, "cpu")["bench"] != identity["bench"]


def test_variables_that_make_a_release_are_part_of_its_identity(tmp_path: Path) -> None:
    texts = []
    for value in ("one", "two"):
        folder = tmp_path / value / "numpy" / "2.4.6"
        folder.mkdir(parents=True)
        original = releases.find("numpy@2.4.6")
        toml = (original.folder / "release.toml").read_text()
        (folder / "release.toml").write_text(f'variables = {{ KIND = "{value}" }}\n' + toml)
        (folder / "cpu.lock").write_text(original.lock("cpu").read_text())
        texts.append(jobs.software(releases.find("numpy", tmp_path / value), "cpu"))
    assert texts[0] != texts[1]
    assert texts[0]["lock"] == texts[1]["lock"]
