"""Archives of other people: opened whole or refused whole."""

from __future__ import annotations

import stat
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import dlbench
from dlbench.campaigns.archive_file import SUMS, unpack
from dlbench.errors import UserError
from dlbench.sharing.archive import write_archive
from tests.orchestrator.analysis.campaigns import TWO, write
from tests.orchestrator.command import Command


def test_a_refused_archive_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_archive(write(tmp_path / "c", TWO), tmp_path / "c.dlbench")
    with zipfile.ZipFile(tmp_path / "c.dlbench", "a") as archive:
        archive.writestr("odd", "one")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with pytest.raises(UserError, match="is not a valid archive"):
        dlbench.open(tmp_path / "c.dlbench")
    assert not list((tmp_path / "temporary").iterdir())


Change = Callable[[dict[str, bytes], zipfile.ZipFile], None]


def _link(members: dict[str, bytes], archive: zipfile.ZipFile) -> None:
    info = zipfile.ZipInfo("campaign.json")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(info, members.pop("campaign.json"))


def _renamed(name: str) -> Change:
    def change(members: dict[str, bytes], _archive: zipfile.ZipFile) -> None:
        members[SUMS] = members[SUMS].replace(b"  campaign.json", b"  " + name.encode())
        members[name] = members.pop("campaign.json")

    return change


def _altered(members: dict[str, bytes], _archive: zipfile.ZipFile) -> None:
    members["campaign.json"] += b" "


def _unlisted(members: dict[str, bytes], _archive: zipfile.ZipFile) -> None:
    members["more.json"] = b"{}"


def _without_sums(members: dict[str, bytes], _archive: zipfile.ZipFile) -> None:
    del members[SUMS]


def _bomb(members: dict[str, bytes], _archive: zipfile.ZipFile) -> None:
    members["campaign.json"] = bytes(300 << 20)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_altered, "does not match its checksum"),
        (_unlisted, "differ"),
        (_without_sums, "has no SHA256SUMS"),
        (_link, "not a plain file"),
        (_renamed("../campaign.json"), "outside the archive"),
        (_renamed("/tmp/campaign.json"), "outside the archive"),
        (_renamed("a\\b.json"), "outside the archive"),
        (_renamed("trials/./x.json"), "outside the archive"),
        (_bomb, "would fill"),
    ],
)
def test_an_unsound_archive_is_refused_whole(tmp_path: Path, change: Change, why: str) -> None:
    write_archive(write(tmp_path / "c", TWO[:1]), tmp_path / "good.dlbench")
    with zipfile.ZipFile(tmp_path / "good.dlbench") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "bad.dlbench", "w", zipfile.ZIP_DEFLATED) as archive:
        change(members, archive)
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(UserError, match=why):
        unpack(tmp_path / "bad.dlbench", tmp_path / "out")
    with pytest.raises(UserError, match=why):
        dlbench.open(tmp_path / "bad.dlbench")
    outside = {"c", "good.dlbench", "bad.dlbench", "out"}
    assert {path.name for path in tmp_path.iterdir()} <= outside


def test_any_other_file_is_no_archive(tmp_path: Path, command: Command) -> None:
    (tmp_path / "x.dlbench").write_text("hello")
    said = command("compare", tmp_path / "x.dlbench")
    assert said.code == 2
    assert "neither a campaign's folder nor an archive" in said.err
