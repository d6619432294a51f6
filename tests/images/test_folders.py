"""Every release folder that ships is whole: what a person wrote and what was locked agree."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from dlbench.environments import cuda_sets, gpu_fit, images, locks, releases
from dlbench.environments.releases import Release
from dlbench.environments.targets import Target

ROOT = Path(__file__).parents[2]
RELEASES = releases.load_releases(ROOT / "images")
ADAPTERS = {path.parent.name for path in (ROOT / "bench" / "adapters").glob("*/__init__.py")}


def variants_of(adapter: str) -> tuple[str, ...]:
    """What the adapter says it can do, read and not run: its framework is not here."""
    tree = ast.parse((ROOT / "bench" / "adapters" / adapter / "__init__.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "VARIANTS":
            return tuple(ast.literal_eval(node.value))
    raise AssertionError(f"the adapter {adapter} names no VARIANTS")


LOCKED = [(release, device) for release in RELEASES for device in release.devices]


def test_the_folders_hold_nothing_but_releases_and_the_dockerfile() -> None:
    files = {path for path in (ROOT / "images").rglob("*") if path.is_file()}
    known = {release.folder / name for release in RELEASES for name in ("release.toml",)}
    known |= {release.lock(device) for release, device in LOCKED}
    known |= {ROOT / "images" / "cuda" / f"{name}.toml" for name in cuda_sets.all_sets()}
    known.add(ROOT / "images" / "cuda" / "generations.toml")
    assert files - known == {ROOT / "images" / "Dockerfile"}
    assert images.dockerfile() == ROOT / "images" / "Dockerfile"


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_a_release_can_be_run(release: Release) -> None:
    assert release.adapter in ADAPTERS
    assert set(release.variants) <= set(variants_of(release.adapter))
    assert "cpu" in release.devices
    assert "cpu" in release.verified
    assert ("gpu" in release.devices) == (release.cuda is not None) == (release.no_gpu is None)


@pytest.mark.parametrize(
    "release", [each for each in RELEASES if each.cuda], ids=lambda release: release.name
)
def test_what_gpu_packages_need_is_in_the_tables(release: Release) -> None:
    assert release.cuda is not None
    table = gpu_fit.generations()
    assert release.cuda.version in {row.version for row in table["cuda"]}
    chosen = cuda_sets.of_release(release, "gpu")
    if chosen is not None:
        assert release.cuda.version == chosen.name
        assert set(release.cuda.needs) <= set(chosen.sonames)
    assert release.cuda.code, "which GPU code its packages hold: `dlbench images verify --wheels`"


def test_every_cuda_set_is_used_and_says_where_its_digests_are_known_from() -> None:
    used = {release.cuda.set for release in RELEASES if release.cuda}
    assert set(cuda_sets.all_sets()) == used - {None}
    for chosen in cuda_sets.all_sets().values():
        for archive in chosen.archives:
            assert archive.known_from and archive.licence.partition("https://")[1]
            assert archive.addresses[0].startswith("https://develop")


@pytest.mark.parametrize(
    ("release", "device"), LOCKED, ids=[f"{release.name}-{device}" for release, device in LOCKED]
)
def test_a_lock_is_complete_and_names_no_place(release: Release, device: str) -> None:
    lock = locks.read(release.lock(device))
    for python in release.python:
        lock.files_for(Target(python))
    text = lock.path.read_text()
    assert "://" not in text
    assert "--index" not in text
    pinned = {entry.name: entry.version for entry in lock.entries}
    for requirement in release.requires[device]:
        name, _, version = requirement.partition("==")
        if version:
            assert pinned[canonicalize_name(name.partition("[")[0])] == version
