"""Versions in the order of their numbers."""

from __future__ import annotations

import pytest
from packaging.version import InvalidVersion

from dlbench.versions import release_order, version_order


def test_versions_are_ordered_by_number() -> None:
    versions = ["1.10.0", "1.9.1", "3.15.1-jax", "3.15.1", "3.2", "2.0rc1", "2.0"]
    wanted = ["1.9.1", "1.10.0", "2.0rc1", "2.0", "3.2", "3.15.1", "3.15.1-jax"]
    assert sorted(versions, key=version_order) == wanted
    with pytest.raises(InvalidVersion):
        version_order("evil")


def test_releases_are_ordered_whatever_they_are_called() -> None:
    releases = ["b@1", "a@x2y", "a@1.10", "a@1.9", "a@</script>", "a"]
    wanted = ["a@</script>", "a", "a@1.9", "a@1.10", "a@x2y", "b@1"]
    assert sorted(releases, key=release_order) == wanted
