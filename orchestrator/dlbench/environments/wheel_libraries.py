"""Which libraries the wheels of a release bring, which they need, and who brings those.

Read from the wheels themselves: what a release is linked to is not a matter of opinion. Libraries
that a framework opens by name as it runs can't be seen there; `needs` in release.toml lists them.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from dlbench.environments import cuda_sets, elf
from dlbench.environments.releases import Release

DRIVER = frozenset({"libcuda.so.1", "libnvidia-ml.so.1"})
"""The driver's own: the container runtime brings them, no image may hold them."""
_BASE = re.compile(
    r"ld-linux-x86-64\.so\.2|libanl\.so\.1"
    r"|lib(?:c|m|dl|rt|pthread|util|resolv)\.so\.\d|libstdc\+\+\.so\.6|libgcc_s\.so\.1|libz\.so\.1"
)
"""What every base image has, the library that cuDNN compresses with among it."""
_FROM_DEBIAN = {"libgomp1": "libgomp.so.1", "libquadmath0": "libquadmath.so.0"}
_OF_NVIDIA = re.compile(r"lib(?:nccl|cudnn|cublas|cufft|curand|cusolver|cusparse|cutensor|nvrtc)")
"""Libraries of NVIDIA's that some packages bring along."""
_FOR_CLUSTERS = re.compile(r"nvshmem_|libcufile_rdma")
"""Parts that are opened only where there is a fast network between machines."""
_USUAL = 0.2


@dataclass
class Libraries:
    """What was found in some wheels."""

    brought: set[str] = field(default_factory=set)
    """Names that a program can ask for: of files, and what the libraries call themselves."""
    needed: dict[str, str] = field(default_factory=dict)
    """What is linked to, each with one file that is."""
    code: dict[str, int] = field(default_factory=dict)
    """The GPU code in the library that has most of it, NVIDIA's own left out."""

    @property
    def usual_code(self) -> set[str]:
        """The generations that most kernels were compiled for; a few have more, or fewer."""
        most = max(self.code.values(), default=0)
        return {word for word, count in self.code.items() if count >= _USUAL * most}


def inspect(wheels: Iterable[Path], *, gpu_code: bool = False) -> Libraries:
    found = Libraries()
    for wheel in wheels:
        if wheel.suffix != ".whl":
            continue
        with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as scratch:
            for name in archive.namelist():
                if re.search(r"\.so(\.[\w.]+)?$", name):
                    plain = PurePosixPath(name).name
                    path = Path(scratch) / "library"
                    with archive.open(name) as content, path.open("wb") as file:
                        shutil.copyfileobj(content, file, 1 << 22)
                    own = not wheel.name.startswith("nvidia_")
                    _add(found, plain, path, gpu_code=gpu_code and own)
    return found


def _add(found: Libraries, name: str, path: Path, *, gpu_code: bool) -> None:
    library = elf.read(path, gpu_code=gpu_code)
    if library is None:
        return
    found.brought |= {name, library.soname or name}
    for soname in () if _FOR_CLUSTERS.match(name) else library.needed:
        found.needed.setdefault(soname, name)
    if not _OF_NVIDIA.match(name) and sum(library.code.values()) > sum(found.code.values()):
        found.code = dict(library.code)


def faults(release: Release, device: str, found: Libraries) -> list[str]:
    """What the packages need and nobody brings; what release.toml says of GPU packages and is
    wrong."""
    cuda = release.cuda if device == "gpu" else None
    chosen = cuda_sets.of_release(release, device)
    of_set = set(chosen.sonames) if chosen else set()
    of_debian = {_FROM_DEBIAN.get(name, "") for name in release.packages}
    # Some CPU packages are the GPU packages; what is linked to the driver is not opened on a CPU.
    there = {*found.brought, *DRIVER, *of_debian, *of_set}
    asked = dict(found.needed)
    if cuda is not None:
        there |= {*cuda.unused}
        asked = {**dict.fromkeys(cuda.needs, release.framework), **asked}
    bringers = "neither the packages nor the CUDA set bring" if chosen else "no package brings"
    told = [
        f"{user} needs {soname}, which {bringers}"
        for soname, user in sorted(asked.items())
        if soname not in there and not _BASE.fullmatch(soname)
    ]
    if cuda is None:
        return told
    if chosen and not asked.keys() & of_set:
        told.append(f"it needs nothing of the CUDA set {chosen.name} that it names")
    if found.code and set(cuda.code) != found.usual_code:
        told.append(
            "`code` in release.toml is not what its packages hold: "
            + " ".join(code_order(found.usual_code))
        )
    return told


def code_order(code: Iterable[str]) -> list[str]:
    """Machine code first, each kind from the oldest generation to the newest."""
    kinds = ("sm", "compute")
    return sorted(code, key=lambda w: (kinds.index(w.partition("_")[0]), int(w.partition("_")[2])))
