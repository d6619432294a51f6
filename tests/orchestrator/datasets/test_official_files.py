"""Downloads: continued where they ended, from the next mirror, refused when they are not right."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from dlbench.datasets import Dataset, Download, Packaging, store
from dlbench.errors import UserError

CONTENT = bytes(range(256)) * 800
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server:
    """Gives CONTENT; `ends` says after how many bytes each connection breaks, in turn."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.asked: list[str] = []
        self.content = CONTENT
        self.ranges = True
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.headers.get("Range", "all"))
                match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
                start = int(match[1]) if match and outer.ranges else 0
                if start >= len(outer.content):
                    self.send_error(416)
                    return
                body = outer.content[start:]
                self.send_response(206 if start else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                end = outer.ends.pop(0) if outer.ends else len(body)
                self.wfile.write(body[:end])

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/file"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.http.serve_forever, daemon=True)
    thread.start()
    yield made
    made.http.shutdown()
    made.http.server_close()


def _dataset(*urls: str, checksum: str = f"sha256:{SHA256}", size: int = len(CONTENT)) -> Dataset:
    def convert(files: object) -> dict[str, dict[str, np.ndarray]]:
        raw = np.frombuffer(files["file"].read_bytes(), np.uint8)
        return {"train": {"x": raw[:100, None]}, "test": {"x": raw[100:150, None]}}

    return Dataset(
        "mine", "Mine", "none", (100, 50), convert, lambda train, test: {},
        downloads=(Download("file", urls, size, checksum),),
    )  # fmt: skip


def test_a_broken_download_is_continued(server: Server) -> None:
    server.ends = [60_000]
    with pytest.raises(UserError, match="after 60,000 of 204,800 bytes"):
        store.prepare(_dataset(server.url))
    said: list[str] = []
    prepared = store.prepare(_dataset(server.url), say=said.append)
    assert server.asked == ["all", "bytes=60000-"]
    assert np.array_equal(np.load(prepared.folder / "train-x.npy")[:, 0], np.arange(100))
    assert "file: 0.1 of 0.2 MB" in said
    store.prepare(_dataset(server.url))
    assert len(server.asked) == 2, "what is here is not asked for again"


def test_a_server_that_can_not_continue_gives_it_anew(server: Server) -> None:
    server.ends, server.ranges = [60_000], False
    with pytest.raises(UserError):
        store.prepare(_dataset(server.url))
    store.prepare(_dataset(server.url))


def test_the_next_mirror_is_asked(server: Server) -> None:
    store.prepare(_dataset("http://127.0.0.1:1/file", server.url))


@pytest.mark.parametrize("content", [CONTENT[:-1] + b"x", CONTENT + b"x", CONTENT[:-1], b""])
def test_another_content_is_refused_and_not_kept(
    server: Server, content: bytes, own_cache: Path
) -> None:
    server.content = content
    with pytest.raises(UserError) as caught:
        store.prepare(_dataset(server.url))
    assert "--from DIR" in caught.value.remedy
    assert not (own_cache / "downloads" / "file").exists()
    server.content = CONTENT
    store.prepare(_dataset(server.url))


def test_what_arrived_of_another_file_does_not_spoil_it(server: Server, own_cache: Path) -> None:
    part = own_cache / "downloads" / "file.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"y" * 1000)
    with pytest.raises(UserError, match=f"sha256 .* where {SHA256} was expected"):
        store.prepare(_dataset(server.url))
    store.prepare(_dataset(server.url))
    part.write_bytes(CONTENT + b"y")
    (own_cache / "downloads" / "file").unlink()
    store.prepare(_dataset(server.url, size=0))


def test_files_in_a_folder(tmp_path: Path) -> None:
    dataset = _dataset("http://official/file")
    with pytest.raises(UserError, match="is not a folder"):
        store.prepare_from(dataset, tmp_path / "missing")
    (tmp_path / "file").write_bytes(CONTENT[:1000])
    words = "file is not the official file: it has 1,000 bytes where 204,800 were expected"
    with pytest.raises(UserError, match=words):
        store.prepare_from(dataset, tmp_path)
    (tmp_path / "file").write_bytes(CONTENT)
    assert store.prepare_from(dataset, tmp_path).source == "real"


def test_another_form_and_a_part_of_it(tmp_path: Path) -> None:
    from dataclasses import replace

    plain = Packaging("a plain file", (Download("folder/plain.bin"), Download("more.bin")),
                      lambda files: {
                          "train": {"x": np.frombuffer(files["folder/plain.bin"].read_bytes(),
                                                       np.uint8)[:, None]},
                          "test": {"x": np.frombuffer(files["more.bin"].read_bytes(),
                                                      np.uint8)[:, None]},
                      })  # fmt: skip
    dataset = replace(_dataset("http://official/file"), packagings=(plain,))
    (tmp_path / "plain.bin").write_bytes(CONTENT[:100])
    with pytest.raises(
        UserError, match=r"has no file more.bin, nor .*\. Other forms .* official files"
    ):
        store.prepare_from(dataset, tmp_path)
    (tmp_path / "more.bin").write_bytes(CONTENT[100:150])
    whole = store.prepare_from(dataset, tmp_path)
    assert whole.source == "real"
    assert whole.to_job()["source"] == "real"
    (tmp_path / "more.bin").write_bytes(CONTENT[100:140])
    assert store.prepare_from(dataset, tmp_path).to_job()["source"] == "sample"
    (tmp_path / "more.bin").write_bytes(CONTENT[100:150])
    altered = replace(dataset, digest=whole.digest)
    store.prepare_from(altered, tmp_path)
    (tmp_path / "more.bin").write_bytes(CONTENT[101:151])
    with pytest.raises(UserError, match="as many rows, but other values"):
        store.prepare_from(altered, tmp_path)
