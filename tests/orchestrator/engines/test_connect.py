"""The daemon is found where the docker command finds it, and its absence is explained."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dlbench.engines.connect import Endpoint, NoDaemon, connect, endpoints, first_that_answers
from dlbench.errors import UserError

if TYPE_CHECKING:
    import docker


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any docker settings."""
    for name in list(os.environ):
        if name.startswith("DOCKER_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return tmp_path


def write_context(home: Path, name: str, host: str, current: bool = True) -> None:
    digest = hashlib.sha256(name.encode()).hexdigest()
    folder = home / ".docker/contexts/meta" / digest
    folder.mkdir(parents=True)
    endpoint = {"Host": host, "SkipTLSVerify": False}
    meta = {"Name": name, "Metadata": {}, "Endpoints": {"docker": endpoint}}
    (folder / "meta.json").write_text(json.dumps(meta))
    if current:
        (home / ".docker/config.json").write_text(json.dumps({"currentContext": name}))


def test_order_of_places(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    urls = [endpoint.url for endpoint in endpoints()]
    assert urls == [
        "unix:///var/run/docker.sock",
        f"unix://{home}/run/docker.sock",
        f"unix://{home}/.docker/run/docker.sock",
        f"unix://{home}/run/podman/podman.sock",
        "unix:///run/podman/podman.sock",
    ]
    write_context(home, "lab", "tcp://lab:2376")
    write_context(home, "attic", "unix:///attic.sock", current=False)
    assert [endpoint.url for endpoint in endpoints()] == ["tcp://lab:2376"]
    monkeypatch.setenv("DOCKER_CONTEXT", "attic")
    assert [endpoint.url for endpoint in endpoints()] == ["unix:///attic.sock"]
    monkeypatch.setenv("DOCKER_HOST", "unix:///mine.sock")
    assert endpoints() == [Endpoint("unix:///mine.sock", "DOCKER_HOST", verify=False)]


def test_tls_of_a_context_and_of_the_environment(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_context(home, "lab", "tcp://lab:2376")
    digest = hashlib.sha256(b"lab").hexdigest()
    folder = home / ".docker/contexts/tls" / digest / "docker"
    folder.mkdir(parents=True)
    assert endpoints()[0].tls == folder
    assert endpoints()[0].verify
    monkeypatch.setenv("DOCKER_HOST", "tcp://lab:2376")
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", "/certificates")
    assert endpoints()[0].tls == Path("/certificates")


def test_unknown_context_and_broken_settings(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONTEXT", "nowhere")
    with pytest.raises(UserError, match="context 'nowhere'"):
        connect()
    monkeypatch.delenv("DOCKER_CONTEXT")
    (home / ".docker").mkdir()
    (home / ".docker/config.json").write_text("{broken")
    with pytest.raises(UserError, match=r"config\.json"):
        connect()


def test_a_dead_daemon_says_what_was_tried(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = home / "gone.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(gone))
    server.close()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{gone}")
    with pytest.raises(NoDaemon) as dead:
        connect()
    assert str(gone) in dead.value.problem
    assert "nothing listens there" in dead.value.problem
    assert "--engine process" in dead.value.remedy
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(NoDaemon, match="there is no such socket"):
        connect()
    monkeypatch.setenv("DOCKER_HOST", "bogus://")
    with pytest.raises(NoDaemon):
        connect()


def test_a_daemon_that_never_answers_is_given_up(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(home / "mute.sock"))
        server.listen()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{home}/mute.sock")
        with pytest.raises(NoDaemon, match="does not answer in time"):
            connect()


def test_a_refused_user_is_told_the_group(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dlbench.engines.connect import NotAllowed, _nothing_answers

    place = Endpoint("unix:///var/run/docker.sock", "the usual places")
    error = _nothing_answers([(place, PermissionError(13, "Permission denied"))])
    assert isinstance(error, NotAllowed) and "refuses this user" in error.problem
    assert "usermod -aG docker" in error.remedy


@pytest.mark.docker
def test_found_through_a_context_and_a_podman_socket(
    docker_client: docker.DockerClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = first_that_answers()[0].url
    for name in list(os.environ):
        if name.startswith("DOCKER_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    write_context(tmp_path, "here", address)
    assert connect().ping()
    if Path("/var/run/docker.sock").exists():
        return
    (tmp_path / ".docker/config.json").unlink()
    podman = tmp_path / "run/podman"
    podman.mkdir(parents=True)
    (podman / "podman.sock").symlink_to(address.removeprefix("unix://"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    assert first_that_answers()[0].url == f"unix://{podman}/podman.sock"


@pytest.mark.docker
def test_the_probe_does_not_shorten_later_calls(docker_client: docker.DockerClient) -> None:
    """Events are waited for longer than the probe's two seconds."""
    client = connect()
    assert client.api.timeout > 60
    done = threading.Event()

    def listen() -> None:
        for _ in client.api.events(filters={"label": "org.dlbench.nothing"}, until=_later(client)):
            pass
        done.set()

    threading.Thread(target=listen, daemon=True).start()
    assert not done.wait(2.5)
    assert done.wait(10)


def _later(client: docker.DockerClient) -> int:
    import time

    return int(time.time()) + 4
