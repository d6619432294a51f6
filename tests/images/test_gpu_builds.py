"""GPU packages on a machine without a GPU: every library is found, cuDNN's parts load, models hold.

With a stand-in for the driver. What would have to be downloaded for it is several gigabytes a
release, so all but the smallest run only where their packages are in the cache already.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from dlbench import paths
from dlbench.environments import images, locks, releases, stub_driver, venvs, wheels
from dlbench.environments.releases import Release
from dlbench.running.certificates import certify
from dlbench.running.workshop import open_workshop
from dlbench.workloads import find

if TYPE_CHECKING:
    import docker

MODULES = {
    "chainer": "cupy",
    "jax": "jax jax_plugins.xla_cuda12 jax_cuda12_plugin._versions",
    "keras": "keras",
    "mxnet": "mxnet",
    "pytorch": "torch",
    "tensorflow": "tensorflow",
}
WITH_CUDNN_8 = ["mxnet@1.9.1", "tensorflow@2.10.1", "chainer@7.8.1", "pytorch@1.13.1"]
WITH_CUDNN_9 = [
    "pytorch@2.13.0", "jax@0.12.0.1", "tensorflow@2.21.0", "keras@3.15.1-torch", "keras@3.15.1-jax",
    "keras@3.15.1-tensorflow",
]  # fmt: skip
WITH_CUDNN_INSIDE = ["pytorch@1.0.0", "pytorch@1.4.0", "pytorch@1.6.0"]
"""Linked into PyTorch's own libraries."""
SMALLEST = "pytorch@1.0.0"
"""Its CPU packages are the same ones."""

# As a trial would: the framework first, then what cuDNN opens when it is first used. It ends the
# process where a part can't be opened, so the last line tells that it did not.
PROGRAM = """
import ctypes, importlib, sys
major, *modules = sys.argv[1:]
for module in modules:
    importlib.import_module(module)
library = ctypes.CDLL("libcudnn.so." + major)
library.cudnnGetVersion.restype = ctypes.c_size_t
least = {"8": 8900, "9": 90000}[major]
assert library.cudnnGetVersion() >= least, library.cudnnGetVersion()
eight = [kind + "_" + use for kind in ("ops", "cnn", "adv") for use in ("infer", "train")]
checked = {"8": eight, "9": ["graph", "ops", "cnn", "adv"]}[major]
opened = {"8": [], "9": ["engines_precompiled", "engines_runtime_compiled", "heuristic"]}[major]
for part in checked + opened:
    loaded = ctypes.CDLL("libcudnn_{}.so.{}".format(part, major))
    if part in checked:
        name = "".join(word.title() for word in part.split("_"))
        assert getattr(loaded, "cudnn{}VersionCheck".format(name))() == 0, part
print("all parts")
"""

LINKED = """
import torch
assert torch.version.cuda and torch.backends.cudnn.version() >= 7000
print("all parts")
"""

COMPILING = """
import os
import bench.adapters.chainer
import cupy
from cupy.cuda import compiler, get_cuda_path
print(get_cuda_path())
own = os.path.join(os.path.dirname(cupy.__file__), "core", "include")
folders = ("-I" + os.path.join(get_cuda_path(), "include"), "-I" + own)
source = "#include <cupy/carray.cuh>\\n__global__ void f(float16* x) { x[0] = x[1]; }"
print("compiled" if compiler.compile_using_nvrtc(source, folders, "70") else "nothing")
"""


def of_cache(name: str) -> Release:
    release = releases.find(name)
    if wheels.missing(release, "gpu", release.python[0]):
        reason = "the GPU packages are not in the cache (`dlbench images build --device gpu`)"
        if "gpu-builds" in os.environ.get("DLBENCH_TEST_REQUIRE", ""):
            pytest.fail(reason)
        pytest.skip(reason)
    return release


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_CUDNN_8 + WITH_CUDNN_9)
def test_no_part_of_cudnn_asks_for_a_plain_name(name: str) -> None:
    release = of_cache(name)
    python = venvs.prepare(release, "gpu").python
    folders = (*venvs.library_folders(release, "gpu"), stub_driver.folder())
    names = {path.name for folder in folders for path in folder.iterdir()}
    # These are the traps: cuDNN before 8.9 opens them, and nobody brings them.
    assert not names & {"libcuda.so", "libnvrtc.so"}
    major = "8" if name in WITH_CUDNN_8 else "9"
    done = subprocess.run(
        [python, "-c", PROGRAM, major, *MODULES[release.framework].split()],
        env={
            "LD_LIBRARY_PATH": ":".join(map(str, folders)),
            "LD_BIND_NOW": "1",
            "HOME": "/tmp",
            **release.variables,
        },
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1:] == ["all parts"], done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.parametrize("name", WITH_CUDNN_8 + WITH_CUDNN_9 + WITH_CUDNN_INSIDE)
def test_in_a_docker_image_every_part_of_cudnn_loads(
    name: str, docker_client: docker.DockerClient
) -> None:
    """In the finished image, whose loader is told of every folder; the driver alone is put in."""
    release = of_cache(name)
    variables = {"LD_LIBRARY_PATH": "/driver", "HOME": "/tmp", **release.variables}
    if name in WITH_CUDNN_INSIDE:  # 1.4 names a function that nobody brings, and never calls it
        command = ["-c", LINKED]
    else:
        major = "8" if name in WITH_CUDNN_8 else "9"
        command = ["-c", PROGRAM, major, *MODULES[release.framework].split()]
        variables["LD_BIND_NOW"] = "1"
    there = images.find_image(docker_client, release, "gpu")
    image = images.build(docker_client, release, "gpu")
    try:
        assert images.verify(docker_client, release, "gpu") == []
        done = docker_client.containers.run(
            image.id, ["python", *command], environment=variables,
            volumes={str(stub_driver.folder()): {"bind": "/driver", "mode": "ro"}},
            network_mode="none", remove=True,
        )  # fmt: skip
        assert bytes(done).decode().splitlines()[-1:] == ["all parts"]
    finally:
        if there is None:  # several gigabytes
            docker_client.images.remove(image.id, force=True)


@pytest.mark.slow
def test_cupy_compiles_with_the_headers_of_its_own_cuda() -> None:
    """Its compiler needs no GPU; which headers it gets is the adapter's doing."""
    release = of_cache("chainer@7.8.1")
    python = venvs.prepare(release, "gpu").python
    folders = (*venvs.library_folders(release, "gpu"), stub_driver.folder())
    done = subprocess.run(
        [python, "-c", COMPILING],
        env={
            "LD_LIBRARY_PATH": ":".join(map(str, folders)),
            "PYTHONPATH": str(paths.bundled("bench").parent),
            "HOME": "/tmp",
            **release.variables,
        },
        capture_output=True,
        text=True,
    )
    place, compiled = done.stdout.splitlines()[-2:]
    assert place.startswith(str(venvs.folder(release, "gpu"))), done.stderr[-2000:]
    assert compiled == "compiled", done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("name", [SMALLEST])
def test_a_gpu_build_is_proven_on_a_cpu(name: str) -> None:
    release, workshop = releases.find(name), open_workshop("process")
    environment, whole = workshop.cpu_environment(release, "gpu")
    assert whole
    certificate = certify(
        workshop, environment, release, find("digits-cnn"), build="gpu", again=True
    )
    assert certificate.passed, certificate.first_fault
    assert (certificate.device, certificate.reason) == ("cpu", "")


@pytest.mark.parametrize("name", WITH_CUDNN_8)
def test_no_lock_has_a_cudnn_with_the_traps(name: str) -> None:
    pins = {
        entry.name: entry.version for entry in locks.read(releases.find(name).lock("gpu")).entries
    }
    major, minor = map(int, pins["nvidia-cudnn-cu11"].split(".")[:2])
    assert (major, minor) >= (8, 9) and major < 9
