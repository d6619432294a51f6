"""Campaign folders that somebody forged: every command refuses them alike, or shows no lie."""

from __future__ import annotations

import json
import os
import shutil
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dlbench
from dlbench.errors import UserError
from tests.orchestrator.campaigns.test_array_file import header
from tests.orchestrator.hostile.commands import REFUSED, on_campaign, run
from tests.orchestrator.hostile.inputs import make_campaign

_COMMANDS = ("show", "compare", "markdown", "csv", "archive", "merge", "watch", "python")
_DEEP = "[" * 700 + "]" * 700
_ABOUT, _PLAN, _TRIAL = "campaign.json", "plan.jsonl", "trials/{}/trial.json"
_SAMPLES, _PROOF = "trials/{}/samples.jsonl", "certificates/proof.json"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_campaign(tmp_path_factory.mktemp("original") / "campaign")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of another machine, to be merged with."""
    return make_campaign(tmp_path_factory.mktemp("other") / "campaign", "ccccccccdddddddd")


@pytest.fixture
def forged(original: Path, tmp_path: Path) -> Path:
    (tmp_path / "written").mkdir()
    (tmp_path / "secret").write_text("nobody's business")
    return Path(shutil.copytree(original, tmp_path / "campaign"))


def place(folder: Path, file: str) -> Path:
    """The path of a file; `{}` in it is the first trial."""
    return folder / file.format(min(path.name for path in (folder / "trials").iterdir()))


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content, encoding="utf-8") and None


def changed(**values: Any) -> Callable[[Path], None]:
    """Some keys of a JSON file, or of the first line of a file of lines."""

    def change(path: Path) -> None:
        first, *others = path.read_text().splitlines() if path.suffix == ".jsonl" else (
            path.read_text(),
        )  # fmt: skip
        path.write_text("\n".join([json.dumps({**json.loads(first), **values}), *others]))

    return change


def replaced(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.unlink()
        make(path)

    return change


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        before = Path.cwd()
        os.chdir(path.parent)  # a socket's path is short
        try:
            one.bind(path.name)
        finally:
            os.chdir(before)


def a_link(path: Path) -> None:
    path.symlink_to(path.parents[len(path.parents) - 1] / "etc" / "passwd")


def a_million_lines(path: Path) -> None:
    path.write_text("{}\n" * 1_000_000)


NOT_PLAIN = [
    (file, replaced(make), words)
    for file in (_ABOUT, _PLAN, _TRIAL)
    for make, words in (
        (os.mkfifo, "is a pipe"),
        (bound_socket, "is a socket"),
        (a_link, "is a link"),
        (lambda path: path.symlink_to("/dev/zero"), "is a link"),
        (Path.mkdir, "is a folder"),
    )
]
WRONG = [
    (_ABOUT, text("{"), "campaign.json is damaged: line 1 is not JSON"),
    (_ABOUT, text("[]"), "it is [], not an object"),
    (_ABOUT, text(f'{{"v": 1, "id": "a", "notes": {_DEEP}}}'), "notes[0] is "),
    (_ABOUT, text("[" * 100_000), "nested too deeply"),
    (_ABOUT, text("9" * 5000), "campaign.json is damaged: "),
    (_ABOUT, changed(id="../../outside"), "id is '../../outside'; only letters"),
    (_ABOUT, changed(id="\x1b[31m"), r"id is '\x1b[31m'"),
    (_ABOUT, changed(hz=10**400), "hz is a number of 401 digits; a number from 0.1 to 20"),
    (_ABOUT, changed(machine={"digest": "../x"}), "machine.digest is '../x'"),
    (_ABOUT, changed(machine={"cores_usable": "many"}), "machine.cores_usable is 'many', not a"),
    (_ABOUT, changed(origins=[{"kind": "suite"}]), "origins[0].name is missing"),
    (_ABOUT, changed(choices={"repeats": {}}), "choices.repeats is {}, not a whole number"),
    (_ABOUT, changed(merged=[{"v": 1}]), "id is missing"),
    (_ABOUT, changed(merged=[{"v": 7}]), "format version 7"),
    (_PLAN, changed(id="../../outside"), "plan.jsonl is damaged: line 1: id is '../../outside'"),
    (_PLAN, changed(seed="one"), "line 1: seed is 'one', not a whole number"),
    (_PLAN, changed(seconds=-1), "line 1: seconds is -1; a number from 0 to 1e+09"),
    (_PLAN, changed(release=7), "line 1: release is 7, not a text"),
    (_PLAN, lambda path: path.write_text(path.read_text() * 2), "line 5 has the id of an earlier"),
    (_PLAN, text(f'{{"id": "a", "gpus": {_DEEP}}}'), "line 1: release is missing"),
    (_PLAN, a_million_lines, "more than 100,000 lines"),
    (_PLAN, Path.unlink, "plan.jsonl is damaged: it is missing"),
    (_TRIAL, changed(id="another"), "id is another, not that of its folder"),
    (_TRIAL, changed(seed="x"), "trial.json is damaged: seed is 'x', not a whole number"),
    (_TRIAL, changed(metrics=[]), "metrics is [], not an object"),
    (_TRIAL, changed(machine="../../../x"), "machine is '../../../x'; only letters"),
    (_TRIAL, changed(certificate="../../../x"), "certificate is '../../../x'; only letters"),
    (_TRIAL, changed(outcome="fine"), "outcome is 'fine'; one of ok, "),
    (_TRIAL, changed(release="x" * 500), "release is a text of 500 characters"),
    (_TRIAL, changed(curve=[{"epoch": "1"}]), "curve[0].epoch is '1', not a whole number"),
    (_TRIAL, text(f'{{"v": 1, "stack": {_DEEP}}}'), "trial.json is damaged: "),
]


@pytest.mark.parametrize(("file", "change", "words"), [*NOT_PLAIN, *WRONG])
def test_every_command_refuses_alike(
    forged: Path,
    other: Path,
    tmp_path: Path,
    file: str,
    change: Callable[[Path], object],
    words: str,
) -> None:
    change(place(forged, file))
    said = set()
    for command in _COMMANDS:
        ended = on_campaign(command, forged, other, tmp_path / "written" / "out")
        assert (command, ended.code, ended.fault) == (command, REFUSED, "")
        said.add(" ".join(ended.err.replace("dlbench: ", "").split()))
    (sentence,) = said
    assert words in sentence
    assert str(place(forged, file)) in sentence or file == _PLAN
    again = run("run", "--resume", forged)
    assert again.code == REFUSED
    assert words in again.err


@pytest.mark.parametrize("file", [_SAMPLES, "trials/{}/events.jsonl", _PROOF])
@pytest.mark.parametrize("make", [os.mkfifo, a_link])
def test_the_rest_of_a_campaign_is_not_followed_either(
    forged: Path, other: Path, tmp_path: Path, file: str, make: Callable[[Path], None]
) -> None:
    path = place(forged, file)
    replaced(make)(path)
    codes = {
        command: on_campaign(command, forged, other, tmp_path / "written" / "out")
        for command in ("markdown", "csv", "archive", "merge", "python")
    }
    assert [ended.fault for ended in codes.values()] == [""] * len(codes)
    assert codes["archive"].code == REFUSED
    assert f"{path} is a " in codes["archive"].err


@pytest.mark.parametrize("name", ["trials", "trials/{}", "certificates", "attempts"])
def test_no_folder_leads_out_of_a_campaign(
    forged: Path, other: Path, tmp_path: Path, name: str
) -> None:
    path = place(forged, name)
    if path.exists():
        path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    for command in _COMMANDS:
        ended = on_campaign(command, forged, other, tmp_path / "written" / "out")
        assert (ended.code, ended.fault) == (REFUSED, "")
        assert f"{path} is a link; a campaign holds nothing but plain files" in ended.err


def test_merge_copies_no_file_from_outside(forged: Path, other: Path, tmp_path: Path) -> None:
    changed(certificate="proof")(place(forged, _TRIAL))
    (forged / "certificates" / "proof.json").unlink()
    (forged / "certificates" / "proof.json").symlink_to(tmp_path / "secret")
    ended = run("merge", forged, other, "-o", tmp_path / "merged")
    assert ended.code == REFUSED
    assert "proof.json is a link" in ended.err
    assert not (tmp_path / "merged").exists()


UNTRUE: list[tuple[dict[str, Any], str]] = [
    ({"metrics": {"accuracy": float("-inf")}}, "metrics.accuracy is -inf; a number from 0 to 1"),
    ({"metrics": {"accuracy": 1.5, "train_s": 1.0}}, "metrics.accuracy is 1.5"),
    ({"metrics": {"train_s": -3.0}}, "metrics.train_s is -3.0; a number from 0 to 1e+09"),
    ({"metrics": {"train_s": 10**400}}, "metrics.train_s is a number of 401 digits"),
    ({"metrics": {"mine": float("nan")}}, "metrics.mine is nan; a number that is finite"),
    ({"wall_s": -1}, "wall_s is -1; a number from 0"),
    ({"started": "tomorrow"}, "started is 'tomorrow'; a time such as"),
    ({"seed": -(10**30)}, "seed is a number of 31 digits"),
    ({"resources": {"memory_peak_bytes": -5}}, "resources.memory_peak_bytes is -5"),
    ({"curve": [{"epoch": 1, "train_s": -1.0}]}, "curve[0].train_s is -1.0"),
    ({"phases": {"train": 1e308}}, "phases.train is 1e+308"),
    ({"scale": {"batch": -1}}, "scale.batch is -1"),
]


@pytest.mark.parametrize(("values", "words"), UNTRUE)
def test_what_can_not_be_true_is_an_invalid_trial_with_the_reason(
    forged: Path, other: Path, tmp_path: Path, values: dict[str, Any], words: str
) -> None:
    changed(**values)(place(forged, _TRIAL))
    for command in _COMMANDS:
        ended = on_campaign(command, forged, other, tmp_path / "written" / "out")
        assert (ended.code, ended.fault) == (1 if command == "watch" else 0, "")
    said = run("show", forged).out
    assert "invalid: " in said
    assert f"Its trial.json can't be true: {words}" in " ".join(said.split())
    bad = dlbench.open(forged).find(outcome="invalid")
    assert bad.height == 1
    assert bad["train_s"][0] is bad["accuracy"][0] is bad["peak_memory_bytes"][0] is None


@pytest.mark.parametrize(
    "values",
    [
        {"reason": "\ud800\x1b[2J", "outcome": "crashed", "notes": ["\ud800"]},
        {"stack": {"\u00e9": "\x1b]0;x\x07"}, "model": {"path": {"a": "\ud800"}}},
        {"scale": {"data": "\x1b[31m\ud800", "epochs": 3}},
        {"workload": "\x1b[2J\r\n=1+1[/red]", "variant": "\u202e", "release": "[/b]@[/x]"},
        {"metrics": {"=cmd|' /C calc'!A0": 1.0, "+\x1b": 2.0}},
    ],
)
def test_text_is_shown_and_written_without_harm(
    forged: Path, other: Path, tmp_path: Path, values: dict[str, Any]
) -> None:
    changed(**values)(place(forged, _TRIAL))
    for command in ("show", "show-json", "compare", "report", "csv", "json", "mlflow", "watch"):
        ended = on_campaign(command, forged, other, tmp_path / "written" / "out")
        assert (command, ended.fault) == (command, "")
        assert ended.code == 0 or (command, ended.code) == ("watch", 1)
    assert run("export", forged, "--format", "csv", "-o", tmp_path / "csv").code == 0
    for line in (tmp_path / "csv" / "trials.csv").read_text().splitlines():
        assert not line.startswith(("=", "+", "-", "@"))
        assert not {",=", ',"=', ",+", ',"+', ",@"} & {line[i : i + 2] for i in range(len(line))}


def test_a_few_bytes_that_claim_terabytes_cost_nothing(forged: Path, tmp_path: Path) -> None:
    for trial in (forged / "trials").iterdir():
        with zipfile.ZipFile(trial / "out" / "predictions.npz", "w") as members:
            members.writestr("logits.npy", header((2**40, 5)))
    assert run("report", forged, "-o", tmp_path / "report.html").code == 0
    trial = dlbench.open(forged).trials()["id"][0]
    with pytest.raises(UserError, match="claims more numbers than it holds"):
        dlbench.open(forged).trial(trial).predictions()


def test_nothing_is_written_through_a_link(forged: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    for name in ("report.html", ".report.html.new", ".lock"):
        (forged / name).symlink_to(secret)
    assert run("report", forged).code == 0
    assert secret.read_text() == "nobody's business"
    assert (forged / "report.html").stat().st_size > 1000
    ended = run("run", "--resume", forged)
    assert ended.code == REFUSED
    assert ".lock is a link" in ended.err
    assert secret.read_text() == "nobody's business"
