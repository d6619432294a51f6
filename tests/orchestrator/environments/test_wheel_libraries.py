"""What GPU packages need is read from real libraries in wheels, and held against who brings it."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from dlbench.environments import releases, wheel_libraries
from dlbench.environments.releases import Cuda, Release
from tests.orchestrator.environments.libraries import compiled
from tests.orchestrator.environments.test_elf import fatbin

CALLS = "int cuInit(int); int cuStart(void); int cublasX(void); int call(void){return cuInit(0);}"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A package that is linked to cuBLAS, the driver and OpenMP, with code for two generations."""
    linked = ["-Wl,--no-as-needed"]
    for soname in ("libcublas.so.9.2", "libcuda.so.1", "libgomp.so.1"):
        linked.append(str(compiled(tmp_path / "linked", soname, f"-Wl,-soname,{soname}")))
    path = compiled(tmp_path, "libframe.so", *linked, source=CALLS)
    code = b"".join(fatbin((2, 35), (2, 70), (1, 70)) for _ in range(10)) + fatbin((2, 80))
    path.write_bytes(path.read_bytes() + code)
    made = tmp_path / "frame-1.0-py3-none-any.whl"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, "frame/libframe.so")
        archive.writestr("frame/libnotes.so.txt", "text")
        archive.writestr("frame/libbroken.so", "not a library")
    return made


def of(cuda: Cuda, *packages: str) -> Release:
    return replace(releases.find("mxnet@1.3.0"), cuda=cuda, packages=packages)


CODE = ("sm_35", "sm_70", "compute_70")


def test_what_is_linked_to_is_found(wheel: Path) -> None:
    found = wheel_libraries.inspect([wheel], gpu_code=True)
    assert {"libcublas.so.9.2", "libcuda.so.1", "libgomp.so.1"} <= set(found.needed)
    assert found.brought == {"libframe.so"}
    # What a few kernels alone were compiled for does not count.
    assert found.usual_code == set(CODE)


def test_who_brings_it_is_told(wheel: Path) -> None:
    found = wheel_libraries.inspect([wheel], gpu_code=True)
    whole = of(Cuda("9.2", set="9.2", code=CODE), "libgomp1")
    assert wheel_libraries.faults(whole, "gpu", found) == []
    (fault,) = wheel_libraries.faults(of(Cuda("9.2", set="9.2", code=CODE)), "gpu", found)
    assert fault == (
        "libframe.so needs libgomp.so.1, which neither the packages nor the CUDA set bring"
    )
    (fault,) = wheel_libraries.faults(of(Cuda("9.2", code=CODE), "libgomp1"), "gpu", found)
    assert fault == "libframe.so needs libcublas.so.9.2, which no package brings"
    faults = wheel_libraries.faults(of(Cuda("9.0", set="9.0", code=CODE), "libgomp1"), "gpu", found)
    assert any("needs libcublas.so.9.2" in each for each in faults)
    assert "it needs nothing of the CUDA set 9.0 that it names" in faults


def test_on_a_cpu_the_cuda_set_is_not_asked_for(wheel: Path, tmp_path: Path) -> None:
    release = of(Cuda("9.2", set="9.2", needs=("libcudnn.so.7",)), "libgomp1")
    found = wheel_libraries.inspect([wheel])
    (fault,) = wheel_libraries.faults(release, "cpu", found)
    assert fault == "libframe.so needs libcublas.so.9.2, which no package brings"
    bundled = compiled(tmp_path, "libcublas-1a2b.so", "-Wl,-soname,libcublas.so.9.2")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.write(bundled, "frame.libs/libcublas-1a2b.so")
    assert wheel_libraries.faults(release, "cpu", wheel_libraries.inspect([wheel])) == []


def test_what_is_opened_by_name_must_be_brought_too(wheel: Path) -> None:
    found = wheel_libraries.inspect([wheel], gpu_code=True)
    cuda = Cuda("9.2", set="9.2", code=CODE, needs=("libcudnn.so.7", "libcusolver.so.9.2"))
    (fault,) = wheel_libraries.faults(of(cuda, "libgomp1"), "gpu", found)
    assert fault.startswith("mxnet needs libcudnn.so.7,")
    unused = replace(cuda, needs=(), unused=("libgomp.so.1",))
    assert wheel_libraries.faults(of(unused), "gpu", found) == []


def test_a_bundled_library_is_brought(wheel: Path, tmp_path: Path) -> None:
    bundled = compiled(tmp_path, "libgomp-1a2b.so", "-Wl,-soname,libgomp.so.1")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.write(bundled, "frame.libs/libgomp-1a2b.so")
    found = wheel_libraries.inspect([wheel])
    assert wheel_libraries.faults(of(Cuda("9.2", set="9.2")), "gpu", found) == []


def test_wrong_code_in_the_release_file_is_corrected(wheel: Path) -> None:
    found = wheel_libraries.inspect([wheel], gpu_code=True)
    (fault,) = wheel_libraries.faults(
        of(Cuda("9.2", set="9.2", code=("sm_35",)), "libgomp1"), "gpu", found
    )
    assert fault.endswith("is not what its packages hold: sm_35 sm_70 compute_70")


def test_nvidia_s_own_code_says_nothing_of_the_framework(wheel: Path, tmp_path: Path) -> None:
    nccl = compiled(tmp_path, "libnccl.so.2")
    nccl.write_bytes(nccl.read_bytes() + fatbin((2, 90)) * 100)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.write(nccl, "frame/libnccl.so.2")
    assert wheel_libraries.inspect([wheel], gpu_code=True).usual_code == set(CODE)
