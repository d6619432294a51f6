"""What a trial has written to the disk, with or without a name, counts."""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from pathlib import Path

import pytest

from dlbench.engines import outfolder
from dlbench.engines.base import Exit, Limits, Request, Running, Scope
from dlbench.running import output_use
from dlbench.running.output_use import OutputUse

MOST = 4 << 20


class Trial(Running):
    """This very process."""

    def __init__(self, temporary: Path) -> None:
        self.scope = Scope(os.getpid(), 1.0, temporary=(temporary,))

    def pids(self) -> set[int]:
        return {os.getpid()}

    def poll(self) -> Exit | None:
        return None

    def wait(self, seconds: float) -> Exit | None:
        return None

    def stop(self, grace: float = 5.0) -> Exit:
        return Exit(0)

    def close(self) -> None: ...


@pytest.fixture
def request_(tmp_path: Path) -> Request:
    for name in ("out", "cache", "tmp"):
        (tmp_path / name).mkdir()
    (tmp_path / "cache/kept").write_bytes(b"x" * 2 * MOST)
    nothing = tmp_path / "nothing"
    return Request(
        trial="t", campaign="c", environment="", bench=nothing, job=nothing, data=nothing,
        log=nothing, out=tmp_path / "out", cache=tmp_path / "cache",
        limits=Limits(output_bytes=MOST),
    )  # fmt: skip


def use_of(request: Request) -> OutputUse:
    return OutputUse(request, Trial(request.out.parent / "tmp"))


@pytest.mark.parametrize("folder", ["out", "cache", "tmp"])
def test_every_folder_that_it_may_write_to(request_: Request, folder: str) -> None:
    use = use_of(request_)
    assert not use.is_over_at_end(), "what was there before is not the trial's"
    with (request_.out.parent / folder / "big").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, MOST + 4096)
    assert use.is_over_at_end()
    use.clear()
    assert list(request_.out.iterdir()) == []
    assert (request_.out.parent / "cache/kept").exists() == (folder != "cache")


def test_deleted_but_open(request_: Request) -> None:
    use = use_of(request_)
    with (request_.out / "big").open("wb") as file:
        (request_.out / "big").unlink()
        os.posix_fallocate(file.fileno(), 0, MOST + 4096)
        assert outfolder.size(request_.out) < MOST
        assert use.is_over_at_end()
    assert not use.is_over_at_end()


def test_deleted_and_only_in_memory(request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may look at the files that are mapped")
    use = use_of(request_)
    file = os.open(request_.out / "big", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(file, 0, MOST + 4096)
    # Python's own mmap keeps the file open
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
    )  # fmt: skip
    place = libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
    os.close(file)
    (request_.out / "big").unlink()
    free = output_use._free
    monkeypatch.setattr(output_use, "_free", lambda folder: free(folder) - 2 * MOST)
    assert use.is_over_at_end()
    libc.munmap(ctypes.c_void_p(place), ctypes.c_size_t(4096))
    assert not use.is_over_at_end()


def test_it_looks_again_soon_while_it_grows(request_: Request) -> None:
    use = use_of(request_)
    now = time.monotonic()
    assert not use.is_over(now)
    with (request_.out / "big").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, MOST + 4096)
    assert not use.is_over(now), "it is not yet time"
    assert use.is_over(now + 2.1)


def test_a_trial_that_removes_its_folder_ends_nothing_but_itself(request_: Request) -> None:
    use = use_of(request_)
    request_.out.rmdir()
    assert not use.is_over_at_end()
    use.clear()
