"""Archives arrive whole or not at all: over a connection that breaks, from mirrors, or by hand."""

from __future__ import annotations

import errno
import hashlib
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dlbench.environments import cuda_downloads, cuda_libraries, cuda_licence, cuda_sets, wheels
from dlbench.environments.cuda_sets import Archive, CudaSet
from dlbench.environments.progress import Step
from dlbench.errors import UserError
from tests.orchestrator.environments.libraries import library, tar_of

CONTENT = tar_of({"cuda/lib64/libcudnn.so.7.6.5": library("libcudnn.so.7") + bytes(300_000)}, "w")


class Server:
    """Sends CONTENT, and can be told to break off, to ignore ranges or to send something else."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.break_after: int | None = None
        self.ranges = True
        self.asked: list[tuple[str, str | None]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("Range")
                owner.asked.append((self.path, wanted))
                if "missing" in self.path:
                    self.send_error(404)
                    return
                if "other" in self.path:
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(CONTENT)))
                    self.end_headers()
                    self.wfile.write(b"x" * 1000)
                    return
                start = int(wanted[6:-1]) if wanted and owner.ranges else 0
                if start >= len(owner.content):
                    self.send_error(416)
                    return
                self.send_response(206 if start else 200)
                body = owner.content[start:]
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                sent = body if owner.break_after is None else body[: owner.break_after]
                self.wfile.write(sent)
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server(cache: Path) -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


def set_at(*addresses: str, sonames: tuple[str, ...] = ("libcudnn.so.7",)) -> CudaSet:
    digest = hashlib.sha256(CONTENT).hexdigest()
    archive = Archive(
        addresses, digest, len(CONTENT), len(CONTENT), "tar", ("cudnn",), "terms", "a test", True
    )
    return CudaSet(
        "7.7", "a set", sonames, (archive,), hashlib.sha256(repr(sonames).encode()).hexdigest()
    )


def test_it_is_downloaded_once_and_its_progress_is_told(server: Server) -> None:
    chosen, steps = set_at(f"{server.address}/cudnn.tgz"), list[Step]()
    assert cuda_downloads.missing(chosen) == list(chosen.archives)
    ((_, path),) = cuda_downloads.bring(chosen, steps.append)
    assert path.read_bytes() == CONTENT
    assert path == wheels.location(chosen.archives[0].file)
    assert (steps[-1].done, steps[-1].total) == (len(CONTENT), len(CONTENT))
    cuda_downloads.bring(chosen)
    assert len(server.asked) == 1
    assert cuda_downloads.missing(chosen) == []


def test_it_goes_on_where_it_broke_off(server: Server) -> None:
    chosen = set_at(f"{server.address}/cudnn.tgz")
    server.break_after = 100_000
    with pytest.raises(UserError, match="what has arrived is kept"):
        cuda_downloads.bring(chosen)
    server.break_after = None
    ((_, path),) = cuda_downloads.bring(chosen)
    assert path.read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == [None, "bytes=100000-"]


def test_a_server_that_can_t_go_on_sends_all_again(server: Server) -> None:
    chosen = set_at(f"{server.address}/cudnn.tgz")
    server.break_after, server.ranges = 100_000, False
    with pytest.raises(UserError):
        cuda_downloads.bring(chosen)
    server.break_after = None
    ((_, path),) = cuda_downloads.bring(chosen)
    assert path.read_bytes() == CONTENT


def test_another_file_is_thrown_away_and_the_next_address_is_tried(server: Server) -> None:
    server.content = b"x" * len(CONTENT)
    chosen = set_at(f"{server.address}/cudnn.tgz")
    with pytest.raises(UserError, match="its sha256 differs; it was thrown away"):
        cuda_downloads.bring(chosen)
    server.content = CONTENT
    ((_, path),) = cuda_downloads.bring(chosen)
    assert path.read_bytes() == CONTENT


def test_what_another_mirror_began_is_thrown_away_and_got_whole(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a mirror that breaks off with other content would spoil every try."""
    monkeypatch.setenv(cuda_downloads.MIRROR, f"{server.address}/other")
    ((_, path),) = cuda_downloads.bring(set_at(f"{server.address}/here/cudnn.tgz"))
    assert path.read_bytes() == CONTENT
    assert [(asked, wanted) for asked, wanted in server.asked if "here" in asked] == [
        ("/here/cudnn.tgz", "bytes=1000-"),
        ("/here/cudnn.tgz", None),
    ]


def test_what_was_damaged_on_the_disk_is_got_again(server: Server) -> None:
    chosen = set_at(f"{server.address}/cudnn.tgz")
    partial = wheels.root() / "partial" / chosen.archives[0].sha256
    partial.parent.mkdir(parents=True)
    for damaged in (b"x" * len(CONTENT), b"x" * (len(CONTENT) + 7)):
        partial.write_bytes(damaged)
        ((_, path),) = cuda_downloads.bring(chosen)
        assert path.read_bytes() == CONTENT
        path.unlink()


def test_a_full_disk_is_no_address_s_fault(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cuda_downloads, "_fetch", full)
    with pytest.raises(OSError, match="No space left"):
        cuda_downloads.bring(set_at(f"{server.address}/cudnn.tgz"))


def test_a_file_without_end_is_not_downloaded_to_the_end(server: Server) -> None:
    server.content = CONTENT * 5
    with pytest.raises(UserError, match="larger than the file that dlbench knows"):
        cuda_downloads.bring(set_at(f"{server.address}/cudnn.tgz"))


def test_mirrors_are_asked_first_and_all_addresses_in_turn(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(cuda_downloads.MIRROR, f"{server.address}/missing/")
    chosen = set_at(f"{server.address}/missing-too/cudnn.tgz", f"{server.address}/here/cudnn.tgz")
    ((_, path),) = cuda_downloads.bring(chosen)
    assert path.read_bytes() == CONTENT
    assert [asked for asked, _ in server.asked] == [
        "/missing/cudnn.tgz",
        "/missing-too/cudnn.tgz",
        "/here/cudnn.tgz",
    ]


def test_no_address_that_answers_is_said_with_each(server: Server) -> None:
    chosen = set_at(f"{server.address}/missing/cudnn.tgz", "http://127.0.0.1:1/cudnn.tgz")
    with pytest.raises(UserError) as caught:
        cuda_downloads.bring(chosen)
    assert "404" in caught.value.problem and "127.0.0.1:1" in caught.value.problem
    assert "--from DIR" in caught.value.remedy and cuda_downloads.MIRROR in caught.value.remedy


def test_files_can_be_brought_by_hand(cache: Path, tmp_path: Path) -> None:
    chosen, folder = set_at("https://example.invalid/cudnn.tgz"), tmp_path / "mine"
    folder.mkdir()
    with pytest.raises(UserError, match=r"has no file cudnn\.tgz") as caught:
        cuda_downloads.bring(chosen, brought=folder)
    assert caught.value.remedy == "https://example.invalid/cudnn.tgz has it."
    (folder / "cudnn.tgz").write_bytes(b"x" * len(CONTENT))
    with pytest.raises(UserError, match="not the file that dlbench knows"):
        cuda_downloads.bring(chosen, brought=folder)
    (folder / "cudnn.tgz").write_bytes(CONTENT)
    ((_, path),) = cuda_downloads.bring(chosen, brought=folder)
    assert path.read_bytes() == CONTENT


def test_nothing_is_downloaded_before_the_terms_were_accepted(server: Server) -> None:
    chosen = set_at(f"{server.address}/cudnn.tgz")
    with pytest.raises(UserError) as caught:
        cuda_libraries.prepare(chosen, "tensorflow@1.15.5")
    assert "tensorflow@1.15.5 needs CUDA's libraries" in caught.value.problem
    assert "terms" in caught.value.problem
    assert "dlbench images accept-cuda" in caught.value.remedy
    assert server.asked == []
    cuda_licence.accept(chosen.licences)
    assert cuda_licence.lacking(chosen) == []
    folder = cuda_libraries.prepare(chosen, "tensorflow@1.15.5")
    names = ["libcudnn.so", "libcudnn.so.7", "libcudnn.so.7.6.5"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert cuda_libraries.prepare(chosen, "tensorflow@1.15.5") == folder
    assert len(server.asked) == 1


def test_two_at_once_wait_for_each_other_and_say_so(server: Server) -> None:
    chosen, steps = set_at(f"{server.address}/cudnn.tgz"), list[Step]()
    cuda_licence.accept(chosen.licences)

    def prepare() -> None:
        cuda_libraries.prepare(chosen, "x", steps.append)

    others = [threading.Thread(target=prepare) for _ in range(3)]
    with wheels.exclusively(wheels.root() / "lock"):
        for other in others:
            other.start()
        while sum(step.stage == "wait" for step in steps) < 3:
            assert all(other.is_alive() for other in others)
            time.sleep(0.01)
    for other in others:
        other.join(30)
    assert len(server.asked) == 1
    assert cuda_libraries.is_ready(chosen)


def test_an_archive_without_a_promised_library_is_refused(server: Server) -> None:
    chosen = set_at(f"{server.address}/cudnn.tgz", sonames=("libcudnn.so.7", "libcudnn.so.8"))
    cuda_licence.accept(chosen.licences)
    (archive,) = chosen.archives
    chosen = replace(chosen, archives=(replace(archive, take=("cudnn", "cudnn.h")),))
    with pytest.raises(UserError, match=r"do not hold cudnn\.h, libcudnn\.so\.8"):
        cuda_libraries.prepare(chosen, "tensorflow@1.15.5")
    assert not cuda_libraries.is_ready(chosen)


def test_accepting_twice_keeps_the_first_date(cache: Path) -> None:
    cuda_licence.accept(["a"])
    first = cuda_licence.accepted()
    cuda_licence.accept(["a", "b"])
    assert cuda_licence.accepted()["a"] == first["a"]
    assert set(cuda_licence.accepted()) == {"a", "b"}


@pytest.mark.parametrize("garbage", ["", "{", "[]", "null", '{"accepted": 1}', "\0"])
def test_a_garbled_acceptance_is_none(garbage: str, cache: Path) -> None:
    cuda_licence.accept(["a"])
    (cache / "cuda" / "accepted.json").write_text(garbage)
    assert cuda_licence.accepted() == {}
    cuda_licence.accept(["a"])
    assert set(cuda_licence.accepted()) == {"a"}


SET = """
about = "a set"
sonames = ["libcudart.so.9.0"]
[[archive]]
addresses = ["https://example.invalid/cuda.run"]
sha256 = "{digest}"
bytes = 5
layout = "runfile"
take = ["cudart"]
licence = "terms"
known_from = "a test"
"""


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('about = "a set"', "", "`about` is missing"),
        ("bytes = 5", "", "how large it is"),
        ("bytes = 5", "bytes = true", "a whole number"),
        ("bytes = 5", "bytes = -5", "how large it is"),
        ('layout = "runfile"', 'layout = "exe"', "must be one of runfile"),
        ('take = ["cudart"]', "take = []", "`archive[1].take` must be a list of strings"),
        ("https://example.invalid/cuda.run", "file:///etc/passwd", "links to one file"),
        ("{digest}", "abc", "64 hex digits"),
        ("sonames = [", "sonames = 3 # [", "`sonames` must be a list"),
        ('known_from = "a test"', 'known_from = "a test"\nsha1 = "x"', "sha1` is not known here"),
    ],
)
def test_a_broken_set_is_named(old: str, new: str, word: str, tmp_path: Path) -> None:
    assert old in SET
    path = tmp_path / "9.0.toml"
    path.write_text(SET.replace(old, new).replace("{digest}", "0" * 64))
    with pytest.raises(UserError) as caught:
        cuda_sets.load(path)
    assert str(path) in caught.value.problem and word in caught.value.problem


def test_a_set_is_another_when_what_is_taken_out_is(tmp_path: Path) -> None:
    path = tmp_path / "9.0.toml"
    digests = set()
    for text in (
        SET,
        SET.replace('["cudart"]', '["cublas"]'),
        SET.replace("a set", "the same set"),
    ):
        path.write_text(text.replace("{digest}", "0" * 64))
        digests.add(cuda_sets.load(path).digest)
    assert len(digests) == 2
