"""Fixtures that several parts of the tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from dlbench.engines.connect import NoDaemon, connect

if TYPE_CHECKING:
    import docker


@pytest.fixture(scope="session")
def docker_client() -> Iterator[docker.DockerClient]:
    """The real daemon. Without one the test is skipped, or fails where CI demands Docker."""
    try:
        client = connect()
    except NoDaemon as error:
        if "docker" in os.environ.get("DLBENCH_TEST_REQUIRE", ""):
            pytest.fail(str(error))
        pytest.skip(str(error))
    yield client
    client.close()
