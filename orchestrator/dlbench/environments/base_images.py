"""Base images: a Debian with one Python, which a release's packages are put on.

By default a public one, pinned by its digest: a tag alone may mean another image tomorrow. Where
there is none or no registry answers, one is made from a Debian mirror (mmdebstrap, with the host's
own apt sources) and a Python found on this machine.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dlbench import paths
from dlbench.environments import interpreters, labels, relocated
from dlbench.environments.interpreters import Interpreter
from dlbench.environments.progress import Progress, Step, silent
from dlbench.environments.releases import Release
from dlbench.environments.wheels import exclusively
from dlbench.errors import UserError

if TYPE_CHECKING:
    import docker

PUBLIC = {
    "3.8": "python@sha256:1d52838af602b4b5a831beb13a0e4d073280665ea7be7f69ce2382f29c5a613f",
    "3.9": "python@sha256:7bffea15bcc3d7fb87cf10a027986203e4281e078fa2f5b234c30fca291f0834",
    "3.10": "python@sha256:445b9efb2c047a7ccdb30d293fd6b1aa0f62a55062dc2b69051df91e10848749",
    "3.11": "python@sha256:86adf8dbadc3d6e82ee5dd2c74bec2e1c2467cdad47886280501df722372d2e1",
    "3.12": "python@sha256:519591d6871b7bc437060736b9f7456b8731f1499a57e22e6c285135ae657bf7",
    "3.13": "python@sha256:4c2cf9917bd1cbacc5e9b07320025bdb7cdf2df7b0ceaccb55e9dd7e30987419",
}
"""The public base of each Python: the digests of python:3.8.20-slim-bookworm, 3.9.23, 3.10.18,
3.11.13, 3.12.11 and 3.13.5, as public projects pin them. Nobody has pulled them with dlbench yet.
No digest was found for 3.6 and 3.7: those bases are always made from a Debian mirror."""

_EXCLUDED = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")
_MODULES = "bz2, ctypes, hashlib, lzma, multiprocessing, socket, sqlite3, ssl, zlib"
_REPOSITORY = "dlbench-base"
SPACE = "Check the space on the daemon's disk, then start again; downloads are kept."


@dataclass(frozen=True)
class Base:
    """A base image that is on the daemon."""

    id: str
    reference: str
    python: str


def resolve(client: docker.DockerClient, release: Release, progress: Progress = silent) -> Base:
    """The base of a release: one made here before, else the public one, else one made now."""
    for python in release.python:
        if found := local(client, python, release.packages):
            return found
    python = release.python[0]
    public = public_image(release)
    if public and (image := obtained(client, public, progress)):
        if release.packages:
            return _with_packages(client, public, python, release.packages, progress)
        return Base(image, public, python)
    if shutil.which("mmdebstrap") is None:
        why = f"The base image {public} can't be pulled"
        raise UserError(
            f"{why if public else f'No public base image is known for Python {python}'}, and "
            "mmdebstrap, which could make one, is not installed.",
            "`apt install mmdebstrap`, or connect to a registry.",
        )
    found_python = interpreters.find(release.python)
    return make(client, found_python, release.packages, progress)


def public_image(release: Release) -> str | None:
    """The public base of this release, by digest; None: there is none to trust."""
    public = release.base or PUBLIC.get(release.python[0])
    if public and not re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", public):
        raise UserError(
            f"The base image {public} of {release.name} is not pinned by a digest.",
            "Write it as name@sha256:… in its release.toml; `docker pull` shows the digest.",
        )
    return public


def local(client: docker.DockerClient, python: str, packages: Sequence[str]) -> Base | None:
    """The newest base on the daemon that dlbench made for this Python with these packages."""
    wanted = labels.matching({labels.KIND: "base", labels.PYTHON: python})
    for image in client.images.list(filters=wanted):
        inside = image.labels.get(labels.PACKAGES, "").split()
        # Not by labels alone: what somebody commits on top of a base inherits its labels.
        ours = [tag for tag in image.tags if tag.startswith(f"{_REPOSITORY}:")]
        if set(packages) == set(inside) and ours:
            return Base(str(image.id), ours[0], python)
    return None


def is_there(client: docker.DockerClient, reference: str) -> bool:
    """The daemon has this image."""
    import docker.errors

    try:
        client.images.get(reference)
    except docker.errors.ImageNotFound:
        return False
    return True


def obtained(
    client: docker.DockerClient, reference: str, progress: Progress = silent
) -> str | None:
    """The id of this image, pulled if need be; None where no registry has or answers for it."""
    import docker.errors

    if is_there(client, reference):
        return str(client.images.get(reference).id)
    progress(Step("base", f"pulling {reference}"))
    try:
        # A digest stands in place of the tag; docker-py splits neither wrongly.
        return str(client.images.pull(reference).id)
    except docker.errors.APIError:
        return None


def make(
    client: docker.DockerClient,
    interpreter: Interpreter,
    packages: Sequence[str] = (),
    progress: Progress = silent,
) -> Base:
    """Make a base from a Debian mirror and this Python, unless just that one is there already."""
    suite, sources = _host_apt()
    included = sorted({*packages, *relocated.debian_packages(interpreter)})
    described = json.dumps([4, suite, sources, included, _EXCLUDED, relocated.digest(interpreter)])
    recipe = hashlib.sha256(described.encode()).hexdigest()
    python = interpreter.python
    variant = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:8]
    tag = f"{suite}-py{python}" + (f"-{variant}" if packages else "")
    with exclusively(paths.cache() / "bases" / f"{tag}.lock", progress):
        # Of this kind too: a release's image inherits the labels of the base it stands on.
        wanted = {labels.KIND: "base", labels.RECIPE: recipe}
        if image := labels.tagged(client, wanted, f"{_REPOSITORY}:{tag}"):
            return Base(image, f"{_REPOSITORY}:{tag}", python)
        progress(Step("base", f"{_REPOSITORY}:{tag} from a Debian mirror"))
        with tempfile.TemporaryDirectory(prefix="making-", dir=paths.cache() / "bases") as scratch:
            archive = Path(scratch) / "base.tar"
            _debootstrap(suite, sources, included, interpreter, archive)
            progress(Step("base", f"importing {_REPOSITORY}:{tag}"))
            marks = {
                labels.KIND: "base",
                labels.PYTHON: python,
                labels.PACKAGES: " ".join(sorted(packages)),
                labels.RECIPE: recipe,
            }
            changes = [f'LABEL {key}="{value}"' for key, value in marks.items()]
            changes.append("ENV LANG=C.UTF-8")
            image = imported(client, str(archive), _REPOSITORY, tag, changes)
    return Base(image, f"{_REPOSITORY}:{tag}", python)


def imported(
    client: docker.DockerClient,
    source: str | IO[bytes],
    repository: str,
    tag: str,
    changes: list[str],
) -> str:
    """The id of the image that is the content of this tar: of a file, or of a pipe."""
    import docker.errors

    usual = client.api.timeout
    client.api.timeout = 3600  # gigabytes on a slow disk: it may be long before it answers
    try:
        piped = not isinstance(source, str)
        client.api.import_image(source, repository, tag, changes=changes, stream_src=piped)
        return str(client.images.get(f"{repository}:{tag}").id)
    except (docker.errors.DockerException, OSError) as error:
        why = getattr(error, "explanation", None) or error
        raise UserError(f"{repository}:{tag} could not be imported: {why}.", SPACE) from error
    finally:
        client.api.timeout = usual


def _debootstrap(
    suite: str, sources: list[str], included: list[str], interpreter: Interpreter, archive: Path
) -> None:
    command = ["mmdebstrap", "--variant=minbase", f"--include={','.join(included)}"]
    command += [f"--dpkgopt=path-exclude={pattern}" for pattern in _EXCLUDED]
    python = f"/usr/local/bin/python{interpreter.python}"
    packed = archive.with_name("python.tar")
    relocated.pack(interpreter, packed)
    command += [
        f"--customize-hook=tar-in {packed} /",
        '--customize-hook=chroot "$1" ldconfig',
        # A trial's root is read-only: what is not compiled now is compiled in every trial.
        f'--customize-hook=chroot "$1" {python} -m compileall -q /usr/local/lib',
        # The copied Python must work here as it did on the host, or this is no base.
        f'--customize-hook=chroot "$1" {python} -c "import {_MODULES}"',
    ]
    done = subprocess.run(
        [*command, suite, str(archive), *sources],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        tail = "\n".join(done.stderr.strip().splitlines()[-15:])
        raise UserError(
            f"mmdebstrap could not make the base image:\n{tail}\n",
            "Check that the Debian mirror of this machine's apt answers (`apt-get update`).",
        )


def _host_apt() -> tuple[str, list[str]]:
    """This machine's release of Debian or Ubuntu, and where its own apt gets it from."""
    facts = platform.freedesktop_os_release()
    suite = facts.get("VERSION_CODENAME", "")
    if not suite or shutil.which("apt-get") is None:
        raise UserError(
            "A base image can only be made on Debian, Ubuntu or a relative of theirs.",
            "Pull or `docker load` a public Python image instead.",
        )
    form = "--format=$(ORIGIN)|$(RELEASE)|deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    told = subprocess.run(
        ["apt-get", "indextargets", form, "Created-By: Packages"], capture_output=True, text=True
    )
    sources = []
    for line in told.stdout.splitlines():
        origin, release, source = line.split("|", 2)
        ours = release == suite or release.startswith(f"{suite}-")
        if ours and facts.get("NAME", "").lower().startswith(origin.lower()):
            sources.append(source)
    return suite, sorted(set(sources))


def _with_packages(
    client: docker.DockerClient,
    public: str,
    python: str,
    packages: Sequence[str],
    progress: Progress,
) -> Base:
    """A public base with Debian packages added; the one build of dlbench that uses the network."""
    progress(Step("base", f"adding {', '.join(packages)} to {public}"))
    names = " ".join(sorted(packages))
    text = (
        f"FROM {public}\nRUN apt-get update && apt-get install -y --no-install-recommends {names} "
        "&& rm -rf /var/lib/apt/lists/*\n"
    )
    recipe = hashlib.sha256(text.encode()).hexdigest()
    tag = f"{_REPOSITORY}:public-py{python}-{recipe[:8]}"
    marks = {labels.KIND: "base", labels.PYTHON: python, labels.PACKAGES: names}
    image = built(
        client, text, tag, {**marks, labels.RECIPE: recipe},
        f"The packages {names} could not be added to the base image {public}",
        "Check that containers reach a Debian mirror, or run `dlbench images base`.",
    )  # fmt: skip
    return Base(image, tag, python)


def built(
    client: docker.DockerClient, text: str, tag: str, marks: dict[str, str], wrong: str, remedy: str
) -> str:
    """The id of the image that this Dockerfile makes of other images alone."""
    import docker.errors

    try:
        image, _ = client.images.build(
            fileobj=io.BytesIO(text.encode()), tag=tag, rm=True, forcerm=True, labels=marks
        )
    except (docker.errors.BuildError, docker.errors.APIError) as error:
        why = getattr(error, "explanation", None) or error
        raise UserError(f"{wrong}: {why}.", remedy) from error
    return str(image.id)
