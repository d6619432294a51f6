"""plan.jsonl, also where it is damaged, hostile, or of another version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.plan_file import read_plan
from dlbench.errors import UserError
from tests.orchestrator.analysis.campaigns import TWO, write


def test_lines_become_trials_of_their_campaign(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", TWO)
    planned = read_plan(folder, "own")
    assert [one.trial for one in planned] == Campaign(folder).trials()
    assert {one.campaign for one in planned} == {"own"}
    assert planned[0].folder == folder / "trials" / planned[0].id
    lines = [json.dumps({**one.trial.to_json(), "campaign": "another"}) for one in planned]
    (folder / "plan.jsonl").write_text("\n".join(lines))
    assert {one.campaign for one in read_plan(folder, "own")} == {"another"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"id": "../../etc"}', r"line 1: id is '../../etc'; only letters"),
        ('{"id": 3}', "line 1: id is 3; only letters"),
        ("{", "plan.jsonl is damaged: line 1 is not JSON"),
        ("[]", r"line 1: it is \[\], not an object"),
        ('{"id": "a", "campaign": "../b"}', "line 1: campaign is '../b'"),
        ('{"v": 99, "id": "a"}', "version 99"),
    ],
)
def test_what_is_no_plan_is_refused(tmp_path: Path, line: str, why: str) -> None:
    (tmp_path / "plan.jsonl").write_text(line + "\n")
    with pytest.raises(UserError, match=why):
        read_plan(tmp_path)


def test_a_line_without_all_of_a_trial_says_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "plan.jsonl").write_text('{"v": 1, "id": "a"}\n')
    with pytest.raises(UserError, match=r"plan\.jsonl is damaged: line 1: release is missing"):
        read_plan(tmp_path)
