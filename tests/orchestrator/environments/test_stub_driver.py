"""The stand-in for the driver is a library that the real loader takes."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from dlbench.environments import elf, stub_driver
from tests.orchestrator.environments.libraries import compiled


@pytest.mark.parametrize("count", [0, 1, 2, 500])
def test_every_function_says_that_there_is_no_device(count: int, tmp_path: Path) -> None:
    names = [f"cuCall{number}" for number in range(count)]
    path = tmp_path / "libcuda.so.1"
    path.write_bytes(stub_driver.library("libcuda.so.1", names))
    library = ctypes.CDLL(str(path))
    assert [getattr(library, name)() for name in names] == [100] * count
    assert not hasattr(library, "cuOther")


def test_a_program_that_is_linked_to_the_driver_starts_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))
    folder = stub_driver.folder()
    assert [path.name for path in folder.iterdir()] == ["libcuda.so.1"]
    user = compiled(
        tmp_path,
        "libuser.so",
        "-Wl,--no-as-needed",  # it has no sections, by which the linker would know its functions
        str(folder / "libcuda.so.1"),
        source="int cuModuleUnload(void*); int call(void){return cuModuleUnload(0);}",
    )
    program = f"import ctypes; print(ctypes.CDLL({str(user)!r}).call())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"LD_LIBRARY_PATH": str(folder), "LD_BIND_NOW": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("100\n", "")
    assert stub_driver.folder() == folder


def test_it_has_what_the_catalog_s_builds_are_linked_to() -> None:
    names = stub_driver.function_names()
    assert {"cuDeviceGet", "cuLaunchKernel", "cuGetErrorString"} <= set(names)
    assert names == sorted(set(names))
    library = elf.parse(stub_driver.library(stub_driver.SONAME, names))
    assert library is not None and library.soname == "libcuda.so.1"
