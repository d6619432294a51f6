"""Certificates: kept, made again, refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dlbench import paths
from dlbench.campaigns.certificate_file import Certificate
from dlbench.environments import releases
from dlbench.running import jobs
from dlbench.running.certificates import certify
from dlbench.running.workshop import open_workshop
from dlbench.workloads import find

CHECKOUT = Path(__file__).resolve().parents[3]

# ---- a release that can be made to fail --------------------------------------------------------

_ADAPTER = '''
"""NumPy's adapter; the variant says what is wrong with it, a file counts how often it was asked."""
import os
import numpy as np
from bench.adapters import numpy as plain
from bench.formats import Unsupported

describe = plain.describe

def set_up(options):
    with open({count!r}, "a") as file:
        file.write(options.variant + "\\n")
    if options.variant == "unsupported":
        raise Unsupported("there is no such layer in it")

def build(graph, recipe, options):
    if options.variant == "crash":
        os._exit(9)
    if options.variant == "padding":
        ceil = {{"padding": [[0, 1], [0, 1]]}}
        nodes = [dict(n, **ceil) if n["name"] == "maxpool2" else n for n in graph["nodes"]]
        graph = dict(graph, nodes=nodes)
    if options.variant == "decay" or options.setting == "native":
        optimizer = dict(recipe["optimizer"])
        optimizer["weight_decay"] *= 2
        recipe = dict(recipe, optimizer=optimizer)
    return plain.Reference(graph, recipe, options.seed, np.float32)
'''


class Faulty:
    """A `dlbench` that knows one release, with this adapter."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, folder / "count"
        shutil.copytree(CHECKOUT / "bench", folder / "bench")
        text = _ADAPTER.format(count=str(self.count))
        (folder / "bench/adapters/faulty.py").write_text(text)
        shutil.copytree(CHECKOUT / "images/numpy", folder / "images/numpy")
        (release,) = (folder / "images/numpy").glob("*/release.toml")
        text = release.read_text().replace('adapter = "numpy"', 'adapter = "faulty"')
        variants = '["good", "crash", "padding", "decay", "unsupported"]'
        release.write_text(text.replace('["numpy"]', variants))
        self.name = f"numpy@{release.parent.name}"

    def asked(self) -> int:
        return len(self.count.read_text().splitlines()) if self.count.exists() else 0

    def certify(self, variant: str, again: bool = False) -> Certificate:
        workshop, release = open_workshop("process"), releases.find("numpy")
        environment = workshop.environment(release, "cpu")
        return certify(
            workshop, environment, release, find("enthalpy-fcrn-10"), variant=variant, again=again
        )

    def command(
        self, *arguments: str, cache: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        start = (
            "import sys, pathlib; from dlbench import paths;"
            f"paths.bundled = lambda name: pathlib.Path({str(self.folder)!r}) / name;"
            "from dlbench.cli import main; sys.exit(main())"
        )
        return subprocess.run(
            [sys.executable, "-c", start, "verify", "--engine", "process", *arguments],
            env={
                **os.environ,
                "PYTHONPATH": str(CHECKOUT / "orchestrator"),
                "DLBENCH_CACHE": str(cache or paths.cache()),
            },
            capture_output=True,
            text=True,
        )


def make_cache(folder: Path) -> Path:
    """A cache that shares environments and data with the real one, but no certificates."""
    folder.mkdir()
    for name in ("environments", "wheels", "data"):
        (paths.cache() / name).mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(paths.cache() / name)
    return folder


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    made = Faulty(tmp_path / "bundle")
    monkeypatch.setenv("DLBENCH_CACHE", str(make_cache(tmp_path / "cache")))
    monkeypatch.setattr(paths, "bundled", lambda name: made.folder / name)
    jobs.bench_digest.cache_clear()
    yield made
    jobs.bench_digest.cache_clear()


def test_kept_ones_are_used_again(faulty: Faulty) -> None:
    first = faulty.certify("good")
    assert first.passed
    assert faulty.asked() > 0
    asked = faulty.asked()
    assert faulty.certify("good") == first
    assert faulty.asked() == asked
    again = faulty.certify("good", again=True)  # equal but for the times of a step
    assert [(check.name, check.passed) for check in again.checks] == [
        (check.name, check.passed) for check in first.checks
    ]
    assert faulty.asked() == 2 * asked


def test_two_who_ask_at_once_share_one_proof(faulty: Faulty) -> None:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(faulty.certify, ["good", "good"])
    asked = faulty.asked()
    assert first == second
    assert first.passed
    faulty.certify("good", again=True)
    assert faulty.asked() == 2 * asked


def test_two_with_caches_of_their_own_do_not_disturb_each_other(
    faulty: Faulty, tmp_path: Path
) -> None:
    caches = [make_cache(tmp_path / name) for name in ("one", "two")]
    chosen = ("--framework", f"{faulty.name}:good", "--workload", "enthalpy-fcrn-10")
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda cache: faulty.command(*chosen, cache=cache), caches))
    assert [each.returncode for each in done] == [0, 0], [each.stdout for each in done]


def test_what_a_killed_proof_left_is_cleared_away(faulty: Faulty) -> None:
    first = faulty.certify("good")
    left = paths.cache() / "certificates" / f"{first.key}.proof" / "out"
    left.mkdir(parents=True)
    assert faulty.certify("good", again=True).passed
    assert list((paths.cache() / "certificates").glob("*.proof")) == []


def test_a_failed_proof_is_kept(faulty: Faulty) -> None:
    first = faulty.certify("decay")
    assert not first.passed
    assert "sgd-nesterov-decay-steps differs at node dense1/kernel" in first.first_fault
    asked = faulty.asked()
    assert faulty.certify("decay") == first
    assert faulty.asked() == asked


@pytest.mark.parametrize(("variant", "words"), [("crash", "9"), ("unsupported", "no such layer")])
def test_what_proved_nothing_is_not_kept(faulty: Faulty, variant: str, words: str) -> None:
    first = faulty.certify(variant)
    assert not first.passed
    assert words in first.first_fault
    asked = faulty.asked()
    faulty.certify(variant)
    assert faulty.asked() == 2 * asked


def test_other_code_needs_another_proof(faulty: Faulty) -> None:
    first = faulty.certify("good")
    with (faulty.folder / "bench/metrics.py").open("a") as file:
        file.write("\n# changed\n")
    jobs.bench_digest.cache_clear()
    assert faulty.certify("good").key != first.key


def test_the_command_names_the_first_differing_node(faulty: Faulty) -> None:
    done = faulty.command("--framework", f"{faulty.name}:padding", "--workload", "cifar10-cnn")
    assert done.returncode == 1, done.stderr
    assert "shapes differs at node maxpool2: (7, 7, 16) against (6, 6, 16)" in done.stdout


def test_the_command_as_json(faulty: Faulty) -> None:
    chosen = ("--framework", f"{faulty.name}:decay", "--workload", "enthalpy-fcrn-10")
    done = faulty.command(*chosen, "--json")
    assert done.returncode == 1, done.stderr
    (entry,) = json.loads(done.stdout)
    assert entry["release"] == faulty.name
    assert entry["workload"] == "jarvis-fcrn-10"  # of which the other name is an alias
    assert entry["passed"] is False
    failed = [check for check in entry["checks"] if not check["passed"]]
    assert failed[0]["name"] == "sgd-nesterov-decay-steps"
    assert failed[0]["error"] > 10 * failed[0]["tolerance"] > 1e-4
    assert " against " in failed[0]["detail"]


def test_a_proven_release(faulty: Faulty) -> None:
    chosen = ("--framework", f"{faulty.name}:good", "--workload", "enthalpy-fcrn-10")
    done = faulty.command(*chosen, "--json")
    assert done.returncode == 0, done.stderr
    (entry,) = json.loads(done.stdout)
    assert entry["passed"] is True
    assert all(check["passed"] for check in entry["checks"])


def test_native_says_what_differs_and_fails_nothing(faulty: Faulty) -> None:
    done = faulty.command(
        "--framework", f"{faulty.name}:good", "--workload", "enthalpy-fcrn-10",
        "--setting", "native",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "3 of 23 checks differ under native" in done.stdout
    assert "sgd-nesterov-decay-steps differs" in done.stdout


def test_a_setting_that_is_none(faulty: Faulty) -> None:
    done = faulty.command("--setting", "nativ")
    assert done.returncode != 0
    assert "native" in done.stderr
