"""From a release.toml to a working environment, with the real pip and uv."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dlbench.environments import interpreters, locking, locks, pruning, releases, venvs, wheels
from dlbench.environments.progress import Step
from dlbench.environments.targets import Target
from dlbench.errors import UserError
from tests.orchestrator.environments.packages import (
    HOST_PYTHON,
    MakeRelease,
    write_sdist,
    write_wheel,
)

pytestmark = pytest.mark.usefixtures("cache")

PREPARE = """
import sys, pathlib
from dlbench.environments import releases, venvs
venvs.prepare(releases.load(pathlib.Path(sys.argv[1])), "cpu")
"""


def told(python: Path, code: str) -> str:
    return subprocess.run(
        [python, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.usefixtures("shop")
def test_an_environment_holds_what_the_lock_says_and_nothing_else(
    make_release: MakeRelease,
) -> None:
    release = make_release()
    prepared = venvs.prepare(release, "cpu")
    assert told(prepared.python, "import tinyframe; print(tinyframe.VERSION)") == "1.2"
    assert venvs.differences(release, "cpu") == []
    assert prepared.digest == release.lock_digest("cpu")
    assert prepared.bytes > 0
    site = "import sysconfig; print(sysconfig.get_path('purelib'))"
    # Compiled ahead: a read-only environment would compile again in every trial.
    assert list((Path(told(prepared.python, site)) / "__pycache__").glob("tinyframe.*.pyc"))


@pytest.mark.usefixtures("shop")
def test_changed_missing_and_added_files_are_named(make_release: MakeRelease) -> None:
    release = make_release()
    prepared = venvs.prepare(release, "cpu")
    site = next((prepared.python.parent.parent / "lib").glob("python*/site-packages"))
    module, record = site / "tinyframe.py", next(site.glob("tinyframe-*.dist-info/RECORD"))
    good = module.read_text()
    module.unlink()  # it may be a link to the same file of the cache
    module.write_text(good.replace("1.2", "1.3"))
    forged = base64.urlsafe_b64encode(hashlib.sha256(module.read_bytes()).digest()).decode()
    record.write_text(re.sub(r"(tinyframe\.py,sha256=)[^,]+", rf"\1{forged.rstrip('=')}",
                             record.read_text()))  # fmt: skip
    (site / "spy.pth").write_text("import os")
    next(site.glob("tinyframe-*.dist-info/METADATA")).unlink()
    assert venvs.differences(release, "cpu") == [
        "tinyframe.py is changed",
        "tinyframe-1.2.dist-info/METADATA is missing",
        "spy.pth is of no package",
    ]


def test_files_that_a_wheel_does_not_list_are_held_against_the_wheel(
    make_release: MakeRelease, shop: Path
) -> None:
    (wheel,) = shop.glob("tinyframe-*.whl")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("tinypart/__init__.py", "VERSION = 1")
    release = make_release()
    prepared = venvs.prepare(release, "cpu")
    assert venvs.differences(release, "cpu") == []
    site = next((prepared.python.parent.parent / "lib").glob("python*/site-packages"))
    module = site / "tinypart" / "__init__.py"
    module.unlink()  # it may be a link to the same file of the cache
    module.write_text("VERSION = 2")
    assert venvs.differences(release, "cpu") == ["tinypart/__init__.py is changed"]


def test_bytecode_that_a_wheel_brings_may_be_compiled_anew(
    make_release: MakeRelease, shop: Path
) -> None:
    """NumPy 1.26 brings some that its own Python does not take for that of its source."""
    (wheel,) = shop.glob("tinyframe-*.whl")
    stale = f"__pycache__/tinyframe.cpython-{HOST_PYTHON.replace('.', '')}.pyc"
    wheel.unlink()
    write_wheel(shop, "tinyframe", "1.2", more={stale: b"of another day"})
    release = make_release()
    python = venvs.prepare(release, "cpu").python
    site = next((python.parent.parent / "lib").glob("python*/site-packages"))
    assert (site / stale).read_bytes() != b"of another day"
    assert venvs.differences(release, "cpu") == []


def test_a_second_preparation_asks_nobody(make_release: MakeRelease, shop: Path) -> None:
    release = make_release()
    first = venvs.prepare(release, "cpu")
    shutil.rmtree(shop)
    shutil.rmtree(wheels.root())
    steps: list[Step] = []
    second = venvs.prepare(release, "cpu", steps.append)
    assert (second.python, second.made_s, steps) == (first.python, first.made_s, [])


def test_each_file_is_downloaded_once(make_release: MakeRelease, shop: Path, cache: Path) -> None:
    release = make_release()
    shutil.rmtree(cache)
    assert len(wheels.missing(release, "cpu", HOST_PYTHON)) == 2
    steps: list[Step] = []
    fetched = wheels.fetch(release, "cpu", HOST_PYTHON, steps.append)
    assert steps[-1].done == steps[-1].total == sum(w.path.stat().st_size for w in fetched)
    assert wheels.missing(release, "cpu", HOST_PYTHON) == []
    shutil.rmtree(shop)
    assert wheels.fetch(release, "cpu", HOST_PYTHON) == fetched


def test_a_changed_package_is_refused_and_never_enters_the_cache(
    make_release: MakeRelease, shop: Path, cache: Path
) -> None:
    release = make_release()
    shutil.rmtree(cache)
    write_wheel(shop, "tinyframe", "1.2", body="import os  # tampered with\n")
    with pytest.raises(UserError, match=r"tinyframe==1.2 has not the digest of the lock"):
        venvs.prepare(release, "cpu")
    assert not list(cache.glob("wheels/sha256/*/tinyframe*"))
    assert venvs.ready(release, "cpu") is None


def test_a_package_no_index_has_is_named(
    make_release: MakeRelease, shop: Path, cache: Path
) -> None:
    release = make_release()
    shutil.rmtree(cache)
    (shop / "tinydep-0.5-py3-none-any.whl").unlink()
    with pytest.raises(UserError, match=r"has tinydep==0.5"):
        venvs.prepare(release, "cpu")


@pytest.mark.usefixtures("shop")
def test_a_file_damaged_in_the_cache_is_fetched_again(make_release: MakeRelease) -> None:
    release = make_release()
    damaged = wheels.fetch(release, "cpu", HOST_PYTHON)[0].path
    damaged.write_bytes(damaged.read_bytes()[:-10])
    assert told(venvs.prepare(release, "cpu").python, "import tinydep") == ""


@pytest.mark.usefixtures("shop")
def test_a_broken_lock_leaves_nothing_half_made(make_release: MakeRelease, cache: Path) -> None:
    release = make_release()
    lock = release.lock("cpu")
    lock.write_text(lock.read_text().replace("tinyframe==1.2", "tinyframe"))
    with pytest.raises(UserError, match=r"cpu.lock, line \d+, is broken"):
        venvs.prepare(release, "cpu")
    assert not list(cache.glob("environments/tinyframe*/"))


@pytest.mark.usefixtures("shop")
def test_preparations_at_the_same_time_make_one_environment(make_release: MakeRelease) -> None:
    release = make_release()
    command = [sys.executable, "-c", PREPARE, str(release.folder / "release.toml")]
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda _: subprocess.run(command, env=_env()), range(3)))
    assert [result.returncode for result in results] == [0, 0, 0]
    assert venvs.differences(release, "cpu") == []


@pytest.mark.usefixtures("shop")
def test_a_killed_preparation_is_done_again_and_leaves_no_rubbish(
    make_release: MakeRelease, cache: Path
) -> None:
    release = make_release()
    command = [sys.executable, "-c", PREPARE, str(release.folder / "release.toml")]
    process = subprocess.Popen(command, env=_env(), start_new_session=True)
    folder = venvs.folder(release, "cpu")
    while not folder.exists() and process.poll() is None:
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert venvs.ready(release, "cpu") is None
    venvs.prepare(release, "cpu")
    assert venvs.differences(release, "cpu") == []
    assert not list(cache.glob("environments/*installing*"))


@pytest.mark.usefixtures("shop")
def test_an_environment_whose_python_has_gone_is_made_again(make_release: MakeRelease) -> None:
    release = make_release()
    python = venvs.prepare(release, "cpu").python
    python.unlink()
    python.symlink_to("/nowhere/python3")
    assert venvs.ready(release, "cpu") is None
    assert told(venvs.prepare(release, "cpu").python, "import tinyframe") == ""


def test_a_lock_that_is_made_anew_makes_another_environment(
    make_release: MakeRelease, shop: Path
) -> None:
    first = venvs.prepare(make_release(), "cpu")
    write_wheel(shop, "tinydep", "0.6")
    release = make_release("tinyframe==1.2", "tinydep")
    second = venvs.prepare(release, "cpu")
    assert first.python != second.python
    assert told(second.python, "import tinydep; print(tinydep.VERSION)") == "0.6"


@pytest.mark.usefixtures("shop")
def test_pruning_removes_environments_of_old_locks_alone(make_release: MakeRelease) -> None:
    old = venvs.prepare(make_release(), "cpu")
    release = make_release("tinyframe==1.2")
    new = venvs.prepare(release, "cpu")
    pruned = pruning.prune_environments([release])
    assert pruned.removed == (old.python.parents[1].name,)
    assert pruned.bytes >= old.bytes
    assert not old.python.exists()
    assert venvs.ready(release, "cpu") is not None
    assert new.python.exists()


@pytest.mark.parametrize("python", ["3.6", HOST_PYTHON])
def test_an_sdist_is_built_with_the_locked_setuptools(
    make_release: MakeRelease, python: str
) -> None:
    """From the real index: termcolor 1.1.0 of 2011 exists as an sdist alone."""
    if interpreters.installed(python) is None:
        pytest.skip(f"there is no Python {python} on this machine")
    requires = ["termcolor==1.1.0", "setuptools==59.6.0", "wheel==0.37.1"]
    release = make_release(*requires, framework="termcolor", version="1.1.0", python=(python,))
    entries = {entry.name: entry for entry in locks.read(release.lock("cpu")).entries}
    assert entries["termcolor"].files[0].is_sdist
    prepared = venvs.prepare(release, "cpu")
    assert prepared.python_version.startswith(f"{python}.")
    assert "\x1b[31mred" in told(
        prepared.python, "import termcolor; print(termcolor.colored('red', 'red'))"
    )
    assert venvs.differences(release, "cpu") == []


def test_downloading_an_sdist_runs_none_of_its_code(
    make_release: MakeRelease, shop: Path, tmp_path: Path, cache: Path
) -> None:
    witness = tmp_path / "ran"
    write_sdist(shop, "oldpack", "0.1", f"open({str(witness)!r}, 'w')\nraise SystemExit('no')\n")
    write_wheel(shop, "setuptools", "59.6.0")
    release = make_release()
    brought = locking.bring(release, ["oldpack==0.1", "setuptools==59.6.0"], Target(HOST_PYTHON))
    assert brought["oldpack==0.1"].is_sdist
    assert not witness.exists()


def test_a_missing_python_is_named_with_the_ways_to_get_it(
    make_release: MakeRelease, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = make_release()
    toml = release.folder / "release.toml"
    toml.write_text(toml.read_text().replace(HOST_PYTHON, "3.99"))
    with pytest.raises(UserError, match=r"No Python 3.99 .*--engine docker.*pyenv install 3.99"):
        venvs.prepare(releases.load(toml), "cpu")


def test_a_python_can_be_chosen_and_a_wrong_choice_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    variable = interpreters.override(HOST_PYTHON)
    monkeypatch.setenv(variable, sys.executable)
    found = interpreters.installed(HOST_PYTHON)
    assert found is not None
    assert json.dumps(found.version) == told(
        found.path, "import json, platform; print(json.dumps(platform.python_version()))"
    )
    monkeypatch.setenv(variable, "/bin/true")
    with pytest.raises(UserError, match=variable):
        interpreters.installed(HOST_PYTHON)


def test_a_cache_that_cannot_be_written_is_said(
    make_release: MakeRelease, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = make_release()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(UserError, match="DLBENCH_CACHE"):
        venvs.prepare(release, "cpu")


def _env() -> dict[str, str]:
    source = Path(venvs.__file__).parents[2]
    return {**os.environ, "PYTHONPATH": str(source)}
