"""Archives, merging and export: what arrives is what was sent, less what must not leave."""

from __future__ import annotations

import csv
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dlbench
from dlbench.campaigns.folder import Campaign
from dlbench.errors import UserError
from dlbench.sharing.archive import SUMS, unpack, write_archive
from dlbench.sharing.scrub import Scrubber
from tests.orchestrator.analysis.campaigns import Cell, around, write
from tests.orchestrator.command import Command

CELLS = [Cell("a@1", around(1.0), steps_ms=[5.0, 6.0]), Cell("b@1", around(1.5))]


def test_an_archive_holds_the_campaign(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", CELLS)
    trial = next((folder / "trials").iterdir())
    np.savez(trial / "out" / "weights.npz", kernel=np.ones(3))
    (trial / "out" / "link.npz").symlink_to("/etc/passwd")
    said = command("export", folder, "--format", "archive", "-o", tmp_path / "c.dlbench")
    assert said.code == 0
    packed, own = dlbench.open(tmp_path / "c.dlbench"), dlbench.open(folder)
    assert packed.trials().equals(own.trials())
    assert packed.steps().equals(own.steps())
    assert packed.trial(trial.name).weights()["kernel"].tolist() == [1.0, 1.0, 1.0]
    assert "a@1" in command("show", tmp_path / "c.dlbench").out
    assert "faster than b@1" in command("compare", tmp_path / "c.dlbench", "--metric", "time").out
    with zipfile.ZipFile(tmp_path / "c.dlbench") as archive:
        assert not any("link" in name for name in archive.namelist())


def test_equal_campaigns_give_equal_archives(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", CELLS)
    write_archive(folder, tmp_path / "one.dlbench")
    write_archive(folder, tmp_path / "two.dlbench")
    assert (tmp_path / "one.dlbench").read_bytes() == (tmp_path / "two.dlbench").read_bytes()
    with pytest.raises(UserError, match="exists already"):
        write_archive(folder, tmp_path / "one.dlbench")


def test_an_archive_is_shown_under_its_own_name(tmp_path: Path, command: Command) -> None:
    write_archive(write(tmp_path / "c", CELLS), tmp_path / "c.dlbench")
    assert f"Results: {tmp_path / 'c.dlbench'}" in command("show", tmp_path / "c.dlbench").out
    found = command("show", tmp_path / "c.dlbench", "--json").json
    assert found["folder"] == str(tmp_path / "c.dlbench")


_HOLD = """
import signal, sys, dlbench
from dlbench.cli import main
sys.argv = ["dlbench", "show", sys.argv[1]]
main()
print("shown", flush=True)
signal.pause()
"""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_unpacked_is_left_behind(tmp_path: Path, end: signal.Signals) -> None:
    write_archive(write(tmp_path / "c", CELLS), tmp_path / "c.dlbench")
    place = tmp_path / "temporary"
    place.mkdir()
    path = os.pathsep.join(sys.path)
    variables = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": path}
    arguments = [sys.executable, "-c", _HOLD, str(tmp_path / "c.dlbench")]
    with subprocess.Popen(arguments, env=variables, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while "shown" not in process.stdout.readline():
            assert process.poll() is None
        (held,) = place.iterdir()
        # Another that opens an archive meanwhile leaves alone what is in use, however old.
        os.utime(held, (0, 0))
        show = [sys.executable, "-m", "dlbench", "show", str(tmp_path / "c.dlbench")]
        subprocess.run(show, env=variables, check=True, stdout=subprocess.DEVNULL)
        assert list(place.iterdir()) == [held]
        process.send_signal(end)
        process.wait()
    if end is signal.SIGKILL:
        assert list(place.iterdir()) == [held]
        subprocess.run(show, env=variables, check=True, stdout=subprocess.DEVNULL)
    assert not list(place.iterdir())


def test_a_refused_archive_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_archive(write(tmp_path / "c", CELLS), tmp_path / "c.dlbench")
    with zipfile.ZipFile(tmp_path / "c.dlbench", "a") as archive:
        archive.writestr("odd", "one")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with pytest.raises(UserError, match="is not a sound archive"):
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
    write_archive(write(tmp_path / "c", CELLS[:1]), tmp_path / "good.dlbench")
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


SUPERUSER = Path("/", "root")
SECRETS = {
    "/home/ann/run.py": "~/run.py",
    f"loading {SUPERUSER}/.cache/x": "loading ~/.cache/x",
    "C:\\Users\\Ann Lee\\x": "~ Lee\\x",
    "password=hunter22": "password=[removed]",
    'api_key: "abc123"': 'api_key: "[removed]"',
    "Authorization: Bearer abc.def-ghi": "Authorization: [removed]",
    "https://ann:pw@mirror/simple": "https://[removed]@mirror/simple",
    "ghp_0123456789abcdef0123456789": "[removed]",
    "the value s3cr3t-v4lue here": "the value [removed] here",
    "user annabel on it": "user user on it",
}


@pytest.mark.parametrize(("text", "clean"), SECRETS.items())
def test_secrets_and_homes_are_taken_out(text: str, clean: str) -> None:
    variables = {"HOME": "/home/ann", "DEPLOY_TOKEN": "s3cr3t-v4lue", "USER": "annabel"}
    scrubber = Scrubber(variables)
    assert scrubber.text(text) == clean
    line = json.dumps({"a": [text]}).encode() + b"\n"
    assert json.loads(scrubber.file("x.jsonl", line)) == {"a": [clean]}


@pytest.mark.parametrize(
    "text",
    [f"CXX=/opt/toolset{SUPERUSER}/usr/bin/c++", '"passed": true', "tokens: 512", "author=x",
     "step 3 of 500", "/homework/x"],
)  # fmt: skip
def test_harmless_text_is_left_alone(text: str) -> None:
    assert Scrubber({"HOME": str(SUPERUSER), "USER": ""}).text(text) == text


def test_nothing_secret_leaves(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("UPLOAD_TOKEN", "tok-1234567890")
    bad = "File /home/somebody/x.py: tok-1234567890 password=hunter22"
    folder = write(tmp_path / "c", [Cell("a@1", around(1.0), reason=bad, log=bad)])
    assert command("export", folder, "--format", "archive", "-o", tmp_path / "a").code == 0
    for form in ("csv", "json", "parquet", "mlflow"):
        assert command("export", folder, "--format", form, "-o", tmp_path / form).code == 0
    with zipfile.ZipFile(tmp_path / "a.dlbench") as archive:
        leaving = [archive.read(name) for name in archive.namelist()]
    leaving += [p.read_bytes() for form in ("csv", "json", "mlflow")
                for p in (tmp_path / form).rglob("*") if p.is_file()]  # fmt: skip
    leaving.append(
        str(pl.read_parquet(tmp_path / "parquet" / "trials.parquet")["reason"][0]).encode()
    )
    assert any(b"[removed]" in content for content in leaving)
    for content in leaving:
        for secret in (b"somebody", b"tok-1234567890", b"hunter22"):
            assert secret not in content


def test_tables_come_back_as_they_were(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", CELLS)
    results = dlbench.open(folder)
    said = command("export", folder, "--format", "parquet", "-o", tmp_path / "p", "--json")
    assert said.json["rows"]["trials"] == 20
    for name in ("trials", "curves", "steps", "samples", "phases"):
        assert pl.read_parquet(tmp_path / "p" / f"{name}.parquet").equals(getattr(results, name)())
    command("export", folder, "--format", "csv", "-o", tmp_path / "csv")
    rows = list(csv.DictReader((tmp_path / "csv" / "trials.csv").open()))
    assert [row["id"] for row in rows] == results.trials()["id"].to_list()
    command("export", folder, "--format", "json", "-o", tmp_path / "json")
    assert len(json.loads((tmp_path / "json" / "steps.json").read_text())) == results.steps().height
    meanings = json.loads((tmp_path / "csv" / "columns.json").read_text())
    assert set(results.trials().columns) <= set(meanings["trials"])


def test_a_cell_is_no_formula(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0], reason='=HYPERLINK("x")')])
    command("export", folder, "--format", "csv", "-o", tmp_path / "csv")
    row = next(csv.DictReader((tmp_path / "csv" / "trials.csv").open()))
    assert row["reason"] == '\'=HYPERLINK("x")'


def test_nothing_is_written_over(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", CELLS)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    for arguments in (
        ("export", folder, "--format", "csv", "-o", tmp_path / "full"),
        ("merge", folder, folder, "-o", tmp_path / "full"),
    ):
        said = command(*arguments)
        assert said.code == 2
        assert "is not empty" in said.err
    assert (tmp_path / "full" / "mine").read_text() == "x"


def test_mlflow_layout(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", CELLS)
    assert command("export", folder, "--format", "mlflow", "-o", tmp_path / "mlruns").code == 0
    experiment = tmp_path / "mlruns" / "1"
    assert 'name: "digits-cnn"' in (experiment / "meta.yaml").read_text()
    runs = [path for path in experiment.iterdir() if path.is_dir()]
    assert len(runs) == 20
    for run in runs:
        assert len(run.name) == 32
        at, value, step = (run / "metrics" / "train_s").read_text().split()
        assert int(at) > 0 and float(value) > 0 and step == "0"
        assert (run / "params" / "release").read_text() in ("a@1", "b@1")
        assert (run / "metrics" / "epoch.loss").read_text().split()[1:] == ["2.0", "1"]


def test_machines_are_merged_and_kept_apart(tmp_path: Path, command: Command) -> None:
    one = write(tmp_path / "one", CELLS)
    two = write(tmp_path / "two", CELLS, machine="ccccccccdddddddd", name="two")
    write_archive(two, tmp_path / "two.dlbench")
    said = command("merge", one, tmp_path / "two.dlbench", "-o", tmp_path / "both", "--json")
    assert said.json["trials"] == 40
    assert said.json["machines"] == 2
    results = dlbench.open(tmp_path / "both")
    assert results.trials().height == 40
    assert results.machines().keys() == {"aaaaaaaabbbbbbbb", "ccccccccdddddddd"}
    assert results.trials()["campaign"].n_unique() == 2
    assert results.steps().height == 2 * dlbench.open(one).steps().height
    merged = Campaign.open(tmp_path / "both")
    assert len(merged.results()) == 40
    assert merged.unfinished() == []
    groups = results.compare("time").groups()["group"].to_list()
    assert "a@1 (machine aaaaaa)" in groups and "a@1 (machine cccccc)" in groups
    again = command("merge", tmp_path / "both", one, "-o", tmp_path / "again", "--json")
    assert again.json["trials"] == 40
    assert again.json["twice"] == 20


def test_the_same_trial_with_other_results_is_a_conflict(tmp_path: Path, command: Command) -> None:
    one = write(tmp_path / "one", CELLS)
    two = write(tmp_path / "two", [Cell("a@1", around(1.01))], name="two")
    said = command("merge", one, two, "-o", tmp_path / "both")
    assert said.code == 2
    trial = dlbench.open(two).trials()["id"][0]
    assert trial in said.err
    assert not (tmp_path / "both").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_unfinished_trials_stay_behind(tmp_path: Path, command: Command) -> None:
    one = write(tmp_path / "one", CELLS[:1])
    two = write(tmp_path / "two", CELLS[1:], name="two")
    next((one / "trials").glob("*/trial.json")).unlink()
    said = command("merge", one, two, "-o", tmp_path / "both")
    assert "1 had not ended and were left out." in said.out
    assert dlbench.open(tmp_path / "both").trials().height == 19
