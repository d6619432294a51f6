"""Finding a Python of a given version on this machine, or getting one."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dlbench import paths
from dlbench.errors import UserError

_ASK = """
import json, os, sys
prefix = getattr(sys, "base_prefix", sys.prefix)
own = os.path.join(prefix, "bin", "python%d.%d" % sys.version_info[:2])
print(json.dumps({
    "path": own if os.path.exists(own) else sys.executable,
    "version": "%d.%d.%d" % sys.version_info[:3],
    "prefix": prefix,
    "implementation": sys.implementation.name,
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python that was run and answered."""

    path: Path
    """The real program, never a shim or a virtual environment's link."""
    version: str
    """`3.11.7`"""
    prefix: Path

    @property
    def python(self) -> str:
        return self.version.rpartition(".")[0]


def installed(python: str) -> Interpreter | None:
    """The first Python X.Y found here that answers, or None."""
    for candidate in _candidates(python):
        answer = ask(candidate)
        if answer is not None and answer.python == python:
            return answer
    return None


def find(accepted: Iterable[str]) -> Interpreter:
    """A Python of one of these versions, best first; one is fetched if need be."""
    wanted = tuple(accepted)
    for python in wanted:
        if found := installed(python):
            return found
    offered = [python for python in wanted if _uv_has(python)]
    for python in offered:
        if found := _fetched(python):
            return found
    tried = ", and uv could not fetch one" if offered else ""
    raise UserError(
        f"No Python {' or '.join(wanted)} was found on this machine{tried}.", offers(wanted[0])
    )


def offers(python: str) -> str:
    """How to get this Python, in the order in which to try it; nothing that does not exist."""
    ways = [
        "With Docker, `--engine docker` uses an image that has it.",
        f"`pyenv install {python}` builds it from source.",
        f"Not tried by dlbench: `conda create -n py{python.replace('.', '')} -c conda-forge"
        f" python={python}`.",
        f"Any other Python {python} will do: name it in {override(python)}.",
    ]
    if _uv_has(python):
        ways.insert(1, f"`uv python install {python}` downloads it.")
    return " ".join(ways)


@functools.cache
def _uv_has(python: str) -> bool:
    """Whether uv offers this Python for download on this kind of machine. No network is used."""
    import uv

    command = [uv.find_uv_bin(), "python", "list", "--only-downloads", "--offline",
               "--no-config", "--output-format", "json", python]  # fmt: skip
    environment = {k: v for k, v in os.environ.items() if not k.startswith("UV_")}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=60)
        listed = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return False
    return any(str(entry.get("version", "")).startswith(f"{python}.") for entry in listed)


def override(python: str) -> str:
    """The variable that names the interpreter to use for Python X.Y."""
    return f"DLBENCH_PYTHON_{python.replace('.', '_')}"


@functools.cache
def ask(program: Path) -> Interpreter | None:
    """What this program says it is; None where it is no working CPython."""
    try:
        answer = subprocess.run(
            [program, "-I", "-c", _ASK],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=30,
            check=True,
        )
        told = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    if told["implementation"] != "cpython":
        return None
    return Interpreter(Path(told["path"]), told["version"], Path(told["prefix"]))


def _candidates(python: str) -> Iterator[Path]:
    name = f"python{python}"
    if chosen := os.environ.get(override(python)):
        answer = ask(Path(chosen))
        if answer is None or answer.python != python:
            raise UserError(
                f"{override(python)} is {chosen!r}, which is not a working Python {python}.",
                "Correct or unset the variable.",
            )
        yield Path(chosen)
    if on_path := shutil.which(name):
        yield Path(on_path)
    pyenv = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser()
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or "~/.local/share/uv/python").expanduser()
    conda = [Path(root).expanduser() for root in ("~/miniconda3", "~/anaconda3", "/opt/conda")]
    patterns = [
        (pyenv / "versions", f"{python}.*/bin/{name}"),
        (uv, f"cpython-{python}.*/bin/{name}"),
        (_own_folder(), f"cpython-{python}.*/bin/{name}"),
        *((root, f"bin/{name}") for root in conda),
        *((root / "envs", f"*/bin/{name}") for root in conda),
        (Path("/opt"), f"*/bin/{name}"),
        (Path("/usr/local/bin"), name),
        (Path("/usr/bin"), name),
    ]
    for folder, pattern in patterns:
        if folder.is_dir():
            yield from sorted(folder.glob(pattern), reverse=True)


def _own_folder() -> Path:
    return paths.cache() / "pythons"


def _fetched(python: str) -> Interpreter | None:
    """Let uv fetch this Python into dlbench's cache; None where it cannot."""
    import uv

    command = [uv.find_uv_bin(), "python", "install", "--no-bin", python]
    variables = {**os.environ, "UV_PYTHON_INSTALL_DIR": str(_own_folder())}
    try:
        done = subprocess.run(
            command, env=variables, capture_output=True, stdin=subprocess.DEVNULL, timeout=600
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return installed(python) if done.returncode == 0 else None
