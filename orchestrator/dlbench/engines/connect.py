"""Finds the container daemon the ways the docker command finds it, and a Podman socket too.

What the user chose (`DOCKER_HOST`, a context) is the only address tried; without a choice the known
sockets are tried in turn. A daemon that does not answer is an error that says what was tried.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.errors import UserError

if TYPE_CHECKING:
    import docker

PROBE_SECONDS = 2
"""How long a daemon has to answer the first question: a socket on this machine needs no longer."""
REMOTE_PROBE_SECONDS = 15
CALL_SECONDS = 120


@dataclass(frozen=True)
class Endpoint:
    """An address where a daemon may listen, and who named it."""

    url: str
    named_by: str
    tls: Path | None = None
    """The folder with ca.pem, cert.pem and key.pem."""
    verify: bool = True

    @property
    def remote(self) -> bool:
        return not self.url.startswith("unix:")


class NoDaemon(UserError):
    """No container daemon answers."""


class NotAllowed(NoDaemon):
    """One is there, and this user may not talk to it."""


def endpoints(environment: Mapping[str, str] | None = None) -> list[Endpoint]:
    """Where to look, best first. One address only, if the user has named it."""
    env = os.environ if environment is None else environment
    home = Path(env.get("HOME") or "~").expanduser()
    config = Path(env.get("DOCKER_CONFIG") or home / ".docker")
    if host := env.get("DOCKER_HOST"):
        asks_tls = bool(env.get("DOCKER_TLS_VERIFY"))
        certificates = env.get("DOCKER_CERT_PATH") or (str(config) if asks_tls else "")
        tls = Path(certificates) if certificates and not host.startswith("unix:") else None
        return [Endpoint(host, "DOCKER_HOST", tls, asks_tls)]
    context, named_by = env.get("DOCKER_CONTEXT"), "DOCKER_CONTEXT"
    if not context:
        context, named_by = _current_context(config), "the current docker context"
    if context and context != "default":
        return [_context_endpoint(config, context, named_by)]
    sockets = [Path("/var/run/docker.sock")]
    runtime = Path(env.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    sockets += [runtime / "docker.sock", home / ".docker/run/docker.sock"]
    sockets += [runtime / "podman/podman.sock", Path("/run/podman/podman.sock")]
    return [Endpoint(f"unix://{socket}", "the usual places") for socket in sockets]


def _current_context(config: Path) -> str | None:
    try:
        settings = json.loads((config / "config.json").read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(
            f"The docker settings {config / 'config.json'} can't be read ({error}).",
            "Correct or remove that file, or set DOCKER_HOST.",
        ) from error
    name = settings.get("currentContext") if isinstance(settings, dict) else None
    return name if isinstance(name, str) else None


def _context_endpoint(config: Path, name: str, named_by: str) -> Endpoint:
    digest = hashlib.sha256(name.encode()).hexdigest()
    try:
        meta = json.loads((config / "contexts/meta" / digest / "meta.json").read_text())
        endpoint = meta["Endpoints"]["docker"]
        url, unverified = str(endpoint["Host"]), bool(endpoint.get("SkipTLSVerify", False))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"The docker context {name!r} (from {named_by}) can't be read.",
            "`docker context ls` shows those there are; `docker context use default` goes back.",
        ) from error
    tls = config / "contexts/tls" / digest / "docker"
    return Endpoint(url, f"{named_by} {name!r}", tls if tls.is_dir() else None, not unverified)


def connect() -> docker.DockerClient:
    """A client of the first daemon that answers."""
    return first_that_answers()[1]


def first_that_answers() -> tuple[Endpoint, docker.DockerClient]:
    known = endpoints()
    failures: list[tuple[Endpoint, Exception]] = []
    for endpoint in known:
        socket = endpoint.url.removeprefix("unix://")
        if len(known) > 1 and not Path(socket).exists():
            failures.append((endpoint, FileNotFoundError(socket)))
            continue
        try:
            return endpoint, _client(endpoint)
        except Exception as error:  # docker-py lets requests', ssh's and ssl's own errors through
            failures.append((endpoint, error))
    raise _nothing_answers(failures)


def _client(endpoint: Endpoint) -> docker.DockerClient:
    import docker
    from docker.tls import TLSConfig

    tls: TLSConfig | bool = False
    if endpoint.tls is not None:
        names = {name: str(endpoint.tls / f"{name}.pem") for name in ("ca", "cert", "key")}
        tls = TLSConfig(
            client_cert=(names["cert"], names["key"]), ca_cert=names["ca"], verify=endpoint.verify
        )
    # The constructor asks the daemon for its version: that is the probe.
    client = docker.DockerClient(
        base_url=endpoint.url,
        version="auto",
        timeout=REMOTE_PROBE_SECONDS if endpoint.remote else PROBE_SECONDS,
        tls=tls,
        use_ssh_client=endpoint.url.startswith("ssh:"),
    )
    client.api.timeout = CALL_SECONDS
    return client


def _nothing_answers(failures: list[tuple[Endpoint, Exception]]) -> NoDaemon:
    denied = [endpoint for endpoint, error in failures if "Permission denied" in str(error)]
    if denied:
        return NotAllowed(
            f"The container daemon at {denied[0].url} refuses this user.",
            "Join its group (`sudo usermod -aG docker $USER`, then log in again) or use "
            "`--engine process`.",
        )
    if len(failures) == 1:
        endpoint, error = failures[0]
        return NoDaemon(
            f"No container daemon answers at {endpoint.url} (from {endpoint.named_by}): "
            f"{_reason(error)}.",
            f"Start the daemon, correct or unset {endpoint.named_by}, or use `--engine process`.",
        )
    tried = ", ".join(endpoint.url.removeprefix("unix://") for endpoint, _ in failures)
    present = [(p, e) for p, e in failures if not isinstance(e, FileNotFoundError)]
    detail = f"; {present[0][0].url}: {_reason(present[0][1])}" if present else ""
    return NoDaemon(
        f"No container daemon answers (tried {tried}{detail}).",
        "Start one (`sudo systemctl start docker`, or `systemctl --user start podman.socket`), "
        "set DOCKER_HOST, or use `--engine process`.",
    )


def _reason(error: Exception) -> str:
    """What a person needs of an error that docker-py wrapped several times."""
    text = str(error)
    for sign, reason in (
        ("Connection refused", "nothing listens there"),
        ("No such file", "there is no such socket"),
        ("Read timed out", "it does not answer in time"),
        ("timed out", "it does not answer in time"),
        ("Name or service not known", "the host name is unknown"),
        ("Temporary failure in name resolution", "the host name is unknown"),
        ("Install paramiko", "ssh needs the package paramiko beside dlbench"),
        ("Connection aborted", "the connection breaks off"),
    ):
        if sign in text:
            return reason
    return text.splitlines()[0].rstrip(".")[:200] if text else type(error).__name__
