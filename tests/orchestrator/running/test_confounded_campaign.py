"""Campaigns with confounds, for real: what a trial does, and what a study's claims become."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dlbench
from dlbench.campaigns.certificate_file import read_certificates
from dlbench.campaigns.folder import Campaign
from dlbench.planning.choices import Choices
from dlbench.report.records import command_of
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.campaign_run import resume, start
from dlbench.running.workshop import open_workshop
from dlbench.studies import reading
from tests.orchestrator.command import Command
from tests.orchestrator.running.scripted import script

ALONE = ("no-dropout", "evaluation-in-training-mode", "test-is-training")
TOY = """\
title = "A toy"
where = "here"
machine = "this one"
design = "one run of each"
runs = 1

[frameworks]
upright = { version = "1", release = "numpy@2.4.6" }
careless = { version = "1", release = "spoilt@2.4.6", variant = "good" }

[workloads]
digits-cnn = { data = "digits", epochs = 3 }
"""
CLAIMS = """\
id,place,type,device,workloads,metric,first,relation,second,over,smallest,significant,values,differs,needs,said
toy-01,§1,direction,cpu,digits-cnn,accuracy,upright,greater,careless,each,0.01,,,,,it is so
"""
CONFOUNDS = """\
framework,workloads,confound,put_back,place,said,note
careless,digits-cnn,evaluation-in-training-mode,yes,"code, the test",evaluation in training mode,
careless,digits-cnn,,no,"code, the seed",seeds set too late,A trial draws its weights from its seed.
"""


def test_each_is_run_and_recorded(bundle: Path, tmp_path: Path) -> None:
    chosen = Choices(
        frameworks=("numpy",), models=("intended",), confounds=ALONE, repeats=1, epochs=2, rows=200
    )
    finished = start(chosen, open_workshop("process"), tmp_path / "c", CampaignObserver())
    assert finished.exit_code == 0
    results = {tuple(result.confounds): result for result in finished.results}
    assert set(results) == {(), *((name,) for name in ALONE)}
    plain, dry = results[()], results["no-dropout",]
    assert plain.certified is True
    assert all(r.certified is False for names, r in results.items() if names)
    assert plain.model["weights_sha256"] == dry.model["weights_sha256"]
    assert plain.metrics["loss"] != dry.metrics["loss"]
    measured = results["test-is-training",]  # it learns the same, and is measured in another way
    assert measured.metrics["loss"] == plain.metrics["loss"]
    assert measured.metrics["accuracy"] != plain.metrics["accuracy"]
    dropping = results["evaluation-in-training-mode",]
    # what it drops in evaluation comes of the generator that the next epoch's dropout comes of
    assert dropping.curve[0]["loss"] == plain.curve[0]["loss"]
    assert dropping.certificate == measured.certificate == plain.certificate
    folder = tmp_path / "c" / "trials"
    for names, result in results.items():
        job = json.loads((folder / result.id / "job.json").read_text())
        assert [each["name"] for each in job["confounds"]] == list(names)
        assert result.model["path"].get("confounds", []) == list(names)
    proofs = {one.confounds: one for one in read_certificates(tmp_path / "c")}
    assert set(proofs) == {(), ("no-dropout",)}
    assert all(proof.passed for proof in proofs.values())
    assert dry.certificate == proofs["no-dropout",].key
    again = command_of(next(t for t in Campaign(tmp_path / "c").trials() if t.id == dry.id))
    assert "--confound no-dropout" in again


def test_a_campaign_with_confounds_is_resumed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workshop = open_workshop("process")
    chosen = Choices(
        frameworks=("numpy", "jax"), models=("intended",), confounds=("no-dropout",), repeats=2
    )
    ran = script(monkeypatch, lambda trial: 0.0 if len(ran) == 3 else 1.0)
    start(chosen, workshop, tmp_path / "c", CampaignObserver())
    monkeypatch.undo()
    ran = script(monkeypatch, lambda trial: 2.0 if trial.confounds else 1.0)
    finished = resume(tmp_path / "c", workshop, CampaignObserver(), Choices(repeats=3))
    assert len(finished.results) == 12 and all(result.complete for result in finished.results)
    trials = dlbench.open(tmp_path / "c").trials()
    assert trials["confounds"].to_list().count("no-dropout") == 6
    about = Campaign(tmp_path / "c").about()
    assert about.choices.confounds == ("no-dropout",) and about.choices.models == ("intended",)


@pytest.mark.slow
def test_from_a_study_to_the_two_verdicts_on_its_claim(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """Two releases that are the same code: the published difference is the fault's alone."""
    folder = tmp_path / "studies" / "toy"
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(TOY)
    (folder / "claims.csv").write_text(CLAIMS)
    (folder / "confounds.csv").write_text(CONFOUNDS)
    monkeypatch.setattr(reading, "FOLDER", tmp_path / "studies")
    suite = tmp_path / "toy.toml"
    lines = 'workloads = ["digits-cnn"]', 'releases = ["numpy", "spoilt:good"]', "repeats = 6"
    suite.write_text("\n".join(lines))
    both = ("--suite", suite, "--engine", "process", "--epochs", "3", "--rows", "400",
            "--as", "intended", "--as", "published", "--threads", "1")  # fmt: skip
    plan = command("plan", *both)
    assert "18 trials" in plan.out and "+evaluation-in-training-mode" in plan.out
    assert "Not put back into spoilt@2.4.6 on digits-cnn: seeds set too late." in plan.out
    out = tmp_path / "c"
    said = command("run", *both, "--out", out)
    assert said.code == 0, said.err
    assert "spoilt@2.4.6 +evaluation-in-training-mode is altered on purpose" in said.out
    judged = command("judge", out, "--json")
    assert judged.code == 1
    (claim,) = judged.json["claims"]
    assert claim["as_intended"]["verdict"] == "contradicted"
    assert claim["as_published"]["verdict"] == "supported"
    assert claim["gap"] == (
        "with equal models: contradicted; with evaluation in training mode (careless): supported"
    )
    text = command("judge", out).out
    assert "as intended: contradicted, as published: supported" in text
    assert "1 claim is supported in one way and contradicted in the other" in " ".join(text.split())
