"""Digests are taken from a package index only if it was signed with the key that was named."""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from dlbench.environments import signed_index
from dlbench.errors import UserError

PACKAGES = """Package: cuda-cublas-10-0
Version: 10.0.130-1
Architecture: amd64
Filename: ./cuda-cublas-10-0_10.0.130-1_amd64.deb
Size: 50000000
SHA256: {first}
Description: a library
 and more about it

Package: cuda-cublas-10-0
Version: 10.0.99-1
Filename: ./old.deb
Size: 5
SHA256: {second}
""".format(first="a" * 64, second="b" * 64)
WANTED = "cuda-cublas-10-0=10.0.130-1"


@dataclass
class Repository:
    folder: Path
    fingerprint: str

    def look_up(self, *wanted: str, fingerprint: str = "") -> list[signed_index.Package]:
        return signed_index.look_up(
            f"file://{self.folder}",
            str(self.folder / "key.pub"),
            fingerprint or self.fingerprint,
            wanted,
        )


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    if shutil.which("gpg") is None or shutil.which("gpgv") is None:
        pytest.skip("gpg and gpgv are not installed")
    home, folder = tmp_path_factory.mktemp("gpg"), tmp_path_factory.mktemp("repository")
    home.chmod(0o700)

    def gpg(*arguments: str) -> str:
        command = ["gpg", "--homedir", str(home), "--batch", "--yes", "--passphrase", ""]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    gpg("--quick-generate-key", "Tests <tests@example.invalid>", "ed25519", "sign", "never")
    listing = gpg("--with-colons", "--fingerprint")
    fingerprint = re.findall(r"^fpr:+([0-9A-F]{40}):", listing, re.MULTILINE)[0]
    (folder / "key.pub").write_text(gpg("--armor", "--export"))
    packed = gzip.compress(PACKAGES.encode())
    (folder / "Packages.gz").write_bytes(packed)
    (folder / "Packages").write_text(PACKAGES)
    digests = [
        (hashlib.sha256(PACKAGES.encode()).hexdigest(), len(PACKAGES), "Packages"),
        (hashlib.sha256(packed).hexdigest(), len(packed), "Packages.gz"),
    ]
    lines = "".join(f" {digest} {size} {name}\n" for digest, size, name in digests)
    (folder / "Release").write_text(f"Origin: tests\nMD5Sum:\n 0 1 Packages\nSHA256:\n{lines}")
    gpg("--armor", "--detach-sign", "-o", str(folder / "Release.gpg"), str(folder / "Release"))
    return Repository(folder, fingerprint)


@pytest.fixture
def repository(signed: Repository, tmp_path: Path) -> Repository:
    """A copy, to be spoilt."""
    return Repository(shutil.copytree(signed.folder, tmp_path / "copy"), signed.fingerprint)


def test_a_package_is_found_by_its_version(repository: Repository) -> None:
    (found,) = repository.look_up(WANTED)
    assert (found.sha256, found.bytes) == ("a" * 64, 50_000_000)
    text = signed_index.as_archives("https://example.invalid/x/", "F" * 40, [found])
    (archive,) = tomllib.loads(text)["archive"]
    assert archive["addresses"] == [
        "https://example.invalid/x/cuda-cublas-10-0_10.0.130-1_amd64.deb"
    ]
    assert archive["layout"] == "deb" and archive["untried"] is True
    assert "signed with " + "F" * 40 in archive["known_from"]
    assert archive["licence"].startswith("CUDA Toolkit End User License Agreement, https://")


@pytest.mark.parametrize(
    ("name", "words"), [("libcudnn7", "cuDNN Software License"), ("libnccl2", "NCCL's licence")]
)
def test_packages_have_the_terms_of_what_is_in_them(name: str, words: str) -> None:
    package = signed_index.Package(name, "1", f"./{name}.deb", "a" * 64, 1)
    (archive,) = tomllib.loads(signed_index.as_archives("https://x/y", "F" * 40, [package]))[
        "archive"
    ]
    assert archive["licence"].startswith(words) and "https://" in archive["licence"]


def test_a_package_that_is_not_there_is_named(repository: Repository) -> None:
    with pytest.raises(UserError, match="has no cuda-cublas-10-0=9"):
        repository.look_up(WANTED, "cuda-cublas-10-0=9")


@pytest.mark.parametrize("file", ["Release", "Release.gpg", "key.pub"])
def test_a_changed_index_is_refused(file: str, repository: Repository) -> None:
    path = repository.folder / file
    text = path.read_text()
    path.write_text(
        text.replace("Origin", "Origim") if file == "Release" else text[: len(text) // 2]
    )
    with pytest.raises(UserError, match="not signed with the key that was named"):
        repository.look_up(WANTED)


def test_another_key_is_refused(repository: Repository) -> None:
    with pytest.raises(UserError, match="not signed with the key that was named"):
        repository.look_up(WANTED, fingerprint="0" * 40)


def test_a_key_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match=r"/nowhere/key.pub can't be read"):
        signed_index._get("/nowhere/key.pub")


def test_a_changed_list_is_refused(repository: Repository) -> None:
    path = repository.folder / "Packages"
    path.write_text(path.read_text().replace("a" * 64, "c" * 64))
    with pytest.raises(UserError, match="not the one that its signed Release names"):
        repository.look_up(WANTED)


def test_a_fingerprint_may_be_written_in_groups(repository: Repository) -> None:
    grouped = " ".join(re.findall("....", repository.fingerprint.lower()))
    assert repository.look_up(WANTED, fingerprint=grouped)


def test_scripts_lock_prints_archives_and_says_what_it_checked(repository: Repository) -> None:
    command = [sys.executable, "-m", "dlbench.environments.locking", "--packages", WANTED]
    command += ["--repository", f"file://{repository.folder}"]
    orchestrator = Path(__file__).resolve().parents[3] / "orchestrator"
    done = subprocess.run(command, capture_output=True, text=True, cwd=orchestrator)
    assert done.returncode == 2 and "needs --repository, --key and --fingerprint" in done.stderr
    command += ["--key", str(repository.folder / "key.pub")]
    command += ["--fingerprint", repository.fingerprint]
    done = subprocess.run(command, capture_output=True, text=True, cwd=orchestrator)
    assert done.returncode == 0, done.stderr
    assert "The signature of" in done.stderr and "was checked" in done.stderr
    assert tomllib.loads(done.stdout)["archive"][0]["bytes"] == 50_000_000
