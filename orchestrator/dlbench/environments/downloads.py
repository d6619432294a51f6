"""Downloading packages, by pip: it knows the user's indexes, mirrors, certificates and proxies.

pip downloads for any Python and machine; nothing is built or run (see `unbuilt`).
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dlbench.environments.progress import Progress, Step, silent
from dlbench.environments.targets import Target
from dlbench.errors import UserError

_STAND_IN = Path(__file__).parent / "unbuilt"


class NotFound(UserError):
    """No index that was asked has this file."""


def download(
    requirements: Sequence[str],
    target: Target,
    folder: Path,
    *,
    index: str | None = None,
    hashed: bool = True,
    progress: Progress = silent,
) -> None:
    """Download these requirements (lines of a requirements file), without what they depend on.

    `index` is asked where the user's own indexes and find-links folders do not have them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="downloading-", dir=folder) as scratch:
        command = [*_pip("download", requirements, target, scratch), "--dest", str(folder)]
        if hashed:
            command.append("--require-hashes")
        try:
            _run(command, Path(scratch), progress)
        except NotFound:
            if index is None:
                raise
            _run([*command, "--index-url", index], Path(scratch), progress)


@dataclass(frozen=True)
class Found:
    """A file as its index describes it."""

    package: str
    file: str
    sha256: str


def look_up(requirements: Sequence[str], target: Target, extra: Sequence[str]) -> list[Found]:
    """Which files pip would install, and their digests; wheels are not downloaded for it."""
    with tempfile.TemporaryDirectory(prefix="dlbench-") as scratch:
        report = Path(scratch) / "report.json"
        command = _pip("install", requirements, target, scratch)
        command += ["--dry-run", "--ignore-installed", "--target", scratch, "--report", str(report)]
        # pip compares with its own Python here; the pins were resolved for the target's.
        command.append("--ignore-requires-python")
        for index in extra:
            command += ["--extra-index-url", index]
        _run(command, Path(scratch), silent)
        items = json.loads(report.read_text(encoding="utf-8"))["install"]
    found = []
    for item in items:
        info = item["download_info"]
        path = urllib.parse.unquote(urllib.parse.urlsplit(info["url"]).path)
        digest = info["archive_info"]["hashes"]["sha256"]
        found.append(Found(item["metadata"]["name"], path.rpartition("/")[2], digest))
    return found


def _pip(verb: str, requirements: Sequence[str], target: Target, scratch: str) -> list[str]:
    if importlib.util.find_spec("pip") is None:
        raise UserError(
            "Packages are downloaded with pip, and this Python has none.",
            f"Install it with `uv pip install --python {sys.executable} pip` "
            f"or `{sys.executable} -m ensurepip`.",
        )
    listing = Path(scratch) / "requirements.txt"
    listing.write_text("\n".join(requirements) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", verb, "--no-deps", "--no-build-isolation"]
    # No cache of pip's: the wheel cache is the one copy that is kept.
    command += ["--no-cache-dir", "--progress-bar", "off", "--no-input"]
    return [*command, "--requirement", str(listing), *target.pip_options()]


def _run(command: list[str], scratch: Path, progress: Progress) -> None:
    variables = {
        "PYTHONPATH": str(_STAND_IN),
        # Not as an option: newer pips, which always do so, no longer have it.
        "PIP_USE_PEP517": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "TMPDIR": str(scratch),
    }
    log = scratch / "pip.log"
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
        )
        try:
            while process.poll() is None:
                time.sleep(0.2)
                progress(Step("download", _current(log), _bytes_under(scratch)))
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if process.returncode != 0:
        raise _failure(log.read_text(encoding="utf-8", errors="replace"))


def _current(log: Path) -> str:
    """The package pip is at."""
    collecting = re.findall(r"^Collecting (\S+)", log.read_text("utf-8", "replace"), re.MULTILINE)
    return collecting[-1] if collecting else ""


def _bytes_under(folder: Path) -> int:
    """Bytes that have arrived; pip downloads into its temporary folder first."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".whl", ".tar.gz", ".zip", ".tar.bz2")):
                try:
                    total += (Path(place) / name).stat().st_size
                except FileNotFoundError:
                    continue
    return total


def _failure(log: str) -> UserError:
    if "DO NOT MATCH THE HASHES" in log:
        asked = re.search(r"^ {4}(\S+) from \S+", log, re.MULTILINE)
        expected = re.search(r"Expected sha256 (\S+)", log)
        got = re.search(r"Got +(\S+)", log)
        return UserError(
            f"What the index sent for {asked[1] if asked else 'a package'} has not the digest of "
            f"the lock: {got[1][:12] if got else '?'}… instead of "
            f"{expected[1][:12] if expected else '?'}…; it was thrown away.",
            "The file was changed on its way or in the index: check your mirror or proxy.",
        )
    errors = [line[7:] for line in log.splitlines() if line.startswith("ERROR: ")]
    if full := re.search(r"No space left on device|Disk quota exceeded", log):
        return UserError(
            f"The packages do not fit on the disk of the cache: {full[0].lower()}.",
            "Make room (`dlbench images prune`), or set DLBENCH_CACHE to a folder on another disk.",
        )
    missing = re.search(r"No matching distribution found for (\S+)", log)
    if missing and "connection broken by" in log:
        return NotFound(
            f"The package index does not answer, so {missing[1]} could not be fetched.",
            "Check the network and `pip config list`, then start again: what has arrived is kept.",
        )
    if missing:
        return NotFound(
            f"No package index that pip is set up to use has {missing[1]} for this Python.",
            "Check the network and `pip config list`; mirrors and find-links folders are honoured.",
        )
    if not errors or errors[-1] == "Exception:":  # what it was stands behind the traceback
        errors = log.strip().splitlines() or ["no output"]
    last = errors[-1]
    return UserError(
        f"pip could not download the packages: {last.rstrip('.')}.",
        "Check the network and `pip config list`, then start again: what has arrived is kept.",
    )
