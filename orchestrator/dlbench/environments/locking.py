"""Makes a release's locks from its release.toml (`scripts/lock`): for people who add a release.

uv resolves what [cpu] or [gpu] `requires` for each accepted Python, pip brings the files, and what
was brought is what is locked. One lock serves all the accepted Pythons, so all must resolve alike.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

from dlbench.environments import (
    downloads,
    interpreters,
    locks,
    releases,
    signed_index,
    wheels,
)
from dlbench.environments.locks import Entry, File
from dlbench.environments.releases import Release
from dlbench.environments.targets import Target
from dlbench.errors import UserError


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/lock", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="*", help="such as images/pytorch/2.13.0")
    parser.add_argument("--device", choices=releases.DEVICES, action="append")
    parser.add_argument(
        "--look-up", action="store_true", help="take digests from the index, download nothing"
    )
    parser.add_argument(
        "--packages", nargs="+", metavar="NAME=VERSION",
        help="print archives of a CUDA set for these packages of a signed --repository",
    )  # fmt: skip
    parser.add_argument("--repository", help="its address: a folder with Release and Packages")
    parser.add_argument("--key", help="the address or path of its public key")
    parser.add_argument("--fingerprint", help="that of the key, from another source than the key")
    options = parser.parse_args()
    try:
        if options.packages:
            _print_archives(parser, options)
        for folder in options.folder:
            release = releases.load(folder.resolve() / "release.toml")
            for device in options.device or [d for d in releases.DEVICES if release.requires[d]]:
                path = make(release, device, look_up=options.look_up)
                print(f"{path}: {len(locks.read(path).entries)} packages")
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _print_archives(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if not (options.repository and options.key and options.fingerprint):
        parser.error("--packages needs --repository, --key and --fingerprint")
    found = signed_index.look_up(
        options.repository, options.key, options.fingerprint, options.packages
    )
    print(f"# The signature of {options.repository}/Release was checked.", file=sys.stderr)
    print(signed_index.as_archives(options.repository, options.fingerprint, found))


def make(release: Release, device: str, *, look_up: bool = False) -> Path:
    """Write this release's lock of this device."""
    targets = [Target(python) for python in release.python]
    pins = _agreed({target.python: resolve(release, device, target) for target in targets})
    found: dict[str, list[File]] = {pin: [] for pin in pins}
    for target in targets:
        brought = _look_up(release, pins, target) if look_up else bring(release, pins, target)
        for pin, file in brought.items():
            if file not in found[pin]:
                found[pin].append(file)
    entries = []
    for pin, files in found.items():
        name, version = pin.split("==")
        ordered = sorted(files, key=lambda file: file.name)
        entries.append(Entry(canonicalize_name(name), version, tuple(ordered)))
    path = release.folder / f"{device}.lock"
    heading = f"{release.name} on {device}, Python {', '.join(release.python)}.\n"
    locks.write(path, entries, heading + "Made by scripts/lock from release.toml.")
    return path


def resolve(release: Release, device: str, target: Target) -> list[str]:
    """All packages, as name==version, that this release's requirements come to."""
    import uv

    requires = release.requires[device]
    if not requires:
        raise UserError(f"release.toml of {release.name} has no [{device}] requires.")
    platform = target.platforms[0].removesuffix(f"_{target.machine}")
    command = [uv.find_uv_bin(), "pip", "compile", "--python-version", target.python]
    command += ["--python-platform", f"{target.machine}-{platform}", "--no-config"]
    command += ["--no-header", "--no-annotate", "--index-strategy", "unsafe-best-match", *_places()]
    if interpreter := interpreters.installed(target.python):
        # An sdist without static metadata must be asked by a Python of its own time.
        command += ["--python", str(interpreter.path)]
    with tempfile.TemporaryDirectory(prefix="dlbench-") as scratch:
        wanted, forced = Path(scratch) / "requires.in", Path(scratch) / "overrides.txt"
        wanted.write_text("\n".join(requires), encoding="utf-8")
        command.append(str(wanted))
        if release.overrides[device]:
            forced.write_text("\n".join(release.overrides[device]), encoding="utf-8")
            command += ["--override", str(forced)]
        # Pins say what builds too: today's setuptools does not build the sdists of years ago.
        command += ["--build-constraints", str(wanted)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0 and release.index:
            extra = [option for url in release.index.values() for option in ("--index", url)]
            done = subprocess.run([*command, *extra], capture_output=True, text=True)
    if done.returncode != 0:
        message = f"{release.name} does not resolve for Python {target.python}:\n{done.stderr}"
        raise UserError(message)
    return [line.split(" ;")[0].strip() for line in done.stdout.splitlines() if line]


def _agreed(resolved: dict[str, list[str]]) -> list[str]:
    """The pins, if all Pythons agree on them."""
    (first, pins), *others = resolved.items()
    for python, other in others:
        if differing := sorted(set(pins) ^ set(other)):
            raise UserError(
                f"Python {first} and {python} resolve differently: {', '.join(differing)}.",
                "Pin a version that suits both in `requires`, or accept fewer Pythons.",
            )
    return pins


def _places() -> list[str]:
    """pip's indexes and find-links folders, for uv, which does not read pip's settings."""
    told = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True
    )
    if told.returncode:
        raise UserError(f"pip can't read its settings: {told.stderr.strip()}", "Correct them.")
    options: list[str] = []
    for line in told.stdout.splitlines():
        key, _, value = line.partition("=")
        name = re.split(r"[.]", key)[-1].replace("_", "-")
        if name == "no-index" and value.strip("'\"") in ("1", "true", "yes", "on"):
            options.append("--no-index")
        if name in ("index-url", "extra-index-url", "find-links"):
            for place in value.strip("'\"").replace("\\n", " ").split():
                if [f"--{name}", place] != options[-2:]:
                    options += [f"--{name}", place]
    return options


def bring(release: Release, pins: Sequence[str], target: Target) -> dict[str, File]:
    """Each pin's file for this target, downloaded into the wheel cache."""
    wheels.root().mkdir(parents=True, exist_ok=True)
    found: dict[str, File] = {}
    with tempfile.TemporaryDirectory(prefix="locking-", dir=wheels.root()) as scratch:
        folder = Path(scratch)
        ordinary = [pin for pin in pins if _name(pin) not in release.index]
        downloads.download(ordinary, target, folder, hashed=False)
        for pin in pins:
            if index := release.index.get(_name(pin)):
                downloads.download([pin], target, folder, index=index, hashed=False)
        by_name = {_name_of_file(path.name): path for path in folder.iterdir() if path.is_file()}
        for pin in pins:
            path = by_name[_name(pin)]
            found[pin] = File(path.name, wheels.sha256(path), path.stat().st_size)
            wheels.admit(path, found[pin])
    return found


def _look_up(release: Release, pins: Sequence[str], target: Target) -> dict[str, File]:
    """Each pin's file for this target as the index describes it."""
    by_name = {_name(pin): pin for pin in pins}
    found = {}
    for item in downloads.look_up(pins, target, list(release.index.values())):
        found[by_name[canonicalize_name(item.package)]] = File(item.file, item.sha256, None)
    return found


def _name(pin: str) -> str:
    return canonicalize_name(pin.split("==")[0])


def _name_of_file(name: str) -> str:
    if name.endswith(".whl"):
        return parse_wheel_filename(name)[0]
    try:
        return parse_sdist_filename(name)[0]
    except ValueError:
        return canonicalize_name(name.rsplit("-", 1)[0])


if __name__ == "__main__":
    sys.exit(main())
