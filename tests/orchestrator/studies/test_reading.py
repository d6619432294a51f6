"""The studies' files: every claim is read and agrees with its tables; a broken file is named."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlbench.environments.releases import load_releases
from dlbench.errors import UserError
from dlbench.studies import reading
from dlbench.studies.claims import Claim, Study, Type, sentence
from dlbench.studies.quantities import QUANTITIES
from dlbench.workloads import workloads

STUDIES = reading.studies()
CLAIMS = [(study, claim) for study in STUDIES for claim in study.claims]
LATER = {"voc2012-faster-rcnn"}
"""Workloads of the studies that need an op which dlbench may not have yet."""


def test_all_claims_are_read() -> None:
    counted = {study.name: len(study.claims) for study in STUDIES}
    assert counted == {
        "elshawi2021": 94, "gupta2023": 12, "sohail2022": 4, "tian2020": 12, "zvyagin2021": 11,
    }  # fmt: skip
    assert sum(counted.values()) == 133
    assert Counter(claim.type for _, claim in CLAIMS).keys() == set(Type)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_names_of_a_study_are_releases_and_workloads_of_dlbench(study: Study) -> None:
    releases = {release.name: release for release in load_releases()}
    for framework in study.frameworks.values():
        release = releases[framework.release]
        assert framework.variant is None or framework.variant in release.variants
        if framework.release.partition("@")[2] not in framework.version and framework.stand_in:
            assert framework.release in " ".join(study.stand_ins)
    assert set(study.workloads) - LATER <= set(workloads())


def test_what_stands_in_for_pytorch_0_4_1() -> None:
    (said,) = reading.find("elshawi2021").stand_ins
    assert said == (
        "pytorch@1.0.0 stands for pytorch, version 0.4.1: PyTorch 0.4.1 has left the package index."
    )


@pytest.mark.parametrize(("study", "claim"), CLAIMS, ids=lambda one: getattr(one, "id", ""))
def test_figures_of_a_claim_are_those_of_its_table(study: Study, claim: Claim) -> None:
    """To the digits that the text gives; where the two differ, the row says so."""
    for (only, name), stated in claim.values.items():
        for workload in [only] if only else claim.workloads:
            for figure in study.published(claim.device, workload, name, claim.metric):
                near = abs(figure.value - stated) <= (0.01 if stated < 1 else 0.05 * stated)
                assert near or "text" in figure.note or claim.differs, (figure, stated)


@pytest.mark.parametrize(("study", "claim"), CLAIMS, ids=lambda one: getattr(one, "id", ""))
def test_an_order_is_that_of_its_table_or_the_claim_says_where_not(
    study: Study, claim: Claim
) -> None:
    """A claim of an order holds in the study's own figures, or `differs` says what stands there."""
    if claim.relation not in ("greater", "less", "greatest", "least") or claim.needs:
        return
    against = list(_against(study, claim))
    if claim.over == "each" and claim.first[0] in study.frameworks:
        assert bool(against) <= bool(claim.differs), against


def _against(study: Study, claim: Claim) -> Iterator[tuple[str, str, str]]:
    first, second = study.names(claim)
    sign = 1 if claim.relation.startswith("great") else -1
    for workload in claim.workloads:
        for one in first:
            for other in second:
                a, b = (
                    next(study.published(claim.device, workload, name, claim.metric), None)
                    for name in (one, other)
                )
                if a is not None and b is not None and sign * (a.value - b.value) < 0:
                    yield workload, one, other


def test_claims_that_their_own_logs_contradict_say_so() -> None:
    found = {claim.id for study, claim in CLAIMS if claim.differs and list(_against(study, claim))}
    assert {"elshawi2021-11", "elshawi2021-18", "elshawi2021-90"} <= found


@pytest.mark.parametrize(("study", "claim"), CLAIMS, ids=lambda one: getattr(one, "id", ""))
def test_every_claim_has_a_sentence(study: Study, claim: Claim) -> None:
    said = sentence(study, claim, QUANTITIES[claim.metric].words)
    assert len(said) > 25 and "{" not in said and "_" not in said and "@" not in said
    assert claim.place.startswith("§") and claim.said


def test_a_figure_with_its_spread() -> None:
    (fixed, varied) = reading.find("gupta2023").published("gpu", "oqmd-fcn-10", "TF-1", "mae")
    assert (fixed.value, fixed.sd, fixed.n, fixed.labels) == (0.0509, 0.0007, 5, {"seeds": "fixed"})
    assert varied.labels == {"seeds": "varied"}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "sohail2022"
    shutil.copytree(reading.FOLDER / "sohail2022", folder)
    return folder


BROKEN = [
    ("claims.csv", "direction,both", "opinion,both", "line 2: `type` is 'opinion'; one of"),
    ("claims.csv", "keras,less", "keras,equal", "line 2: `relation` is 'equal'; one of 'greater'"),
    ("claims.csv", "mnist-mlp,train", "mnist,train", "line 2: `workloads` is 'mnist'"),
    ("claims.csv", "train_time,keras", "speed,keras", "line 2: `metric` is 'speed'"),
    ("claims.csv", "train_time,keras", "train_time,kerras", "line 2: `first` is 'kerras'"),
    ("claims.csv", "each,1.1", "each,0.5", "line 2: `smallest` is '0.5'; a factor above 1"),
    ("claims.csv", "each,1.1", "each,nan", "line 2: `smallest` is 'nan'; a number"),
    ("claims.csv", "keras=140", "keras", "line 2: `values` is 'keras;pytorch=180'"),
    ("claims.csv", "sohail2022-02", "sohail2022-01", "line 3: `id` is 'sohail2022-01'"),
    ("claims.csv", "§5,", "", "line 2: 15 cells; 16 are expected"),
    ("claims.csv", "id,place", "id,where", "has other headings than id, place"),
    ("winners.csv", "both,mnist-mlp", "tpu,mnist-mlp", "line 2: `device` is 'tpu'"),
    ("winners.csv", "both,mnist-mlp", "both,mnist", "line 2: `workload` is 'mnist'"),
    ("winners.csv", "0.993", "high", "line 2: `training_accuracy` is 'high'; a number"),
    ("winners.csv", ",keras", ",caffe", "line 2: `framework` is 'caffe'"),
    ("study.toml", "runs = 1", "runs = 0", "`runs` must be at least 1"),
    ("study.toml", "runs = 1", 'runs = "1"', "`runs` must be a whole number"),
    (
        "study.toml",
        "pytorch@1.13.1",
        "pytorch",
        "pytorch.release` must be one such as pytorch@1.0.0",
    ),
    ("study.toml", "epochs = 20", "epoch = 20", "mnist-mlp.epoch` is not known here"),
]


@pytest.mark.parametrize(("file", "old", "new", "said"), BROKEN)
def test_a_broken_file_is_named_with_its_line(
    copy: Path, file: str, old: str, new: str, said: str
) -> None:
    path = copy / file
    content = path.read_text(encoding="utf-8")
    assert old in content
    path.write_text(content.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError) as error:
        reading.read_study(copy)
    assert said in error.value.problem and file in error.value.problem


def test_a_misspelt_study() -> None:
    with pytest.raises(UserError, match="Did you mean 'tian2020'"):
        reading.find("tian202")


CONFOUNDS = "framework,workloads,confound,put_back,place,said,note\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("jax,mnist-mlp,no-dropout,yes,code,a,", "`framework` is 'jax'; one or more of study.toml"),
        ("keras,imdb-*,no-dropout,yes,code,a,", "`workloads` is 'imdb-*'"),
        ("keras,mnist-mlp,no dropout,yes,code,a,", "`confound` is 'no dropout'; one such as"),
        ("keras,mnist-mlp,,yes,code,a,", "the name of what is put back is expected"),
        ("keras,mnist-mlp,no-dropout,perhaps,code,a,", "`put_back` is 'perhaps'"),
        ("keras,mnist-mlp,no-dropout,yes,,a,", "`place` is ''; a text is expected"),
        ("keras,mnist-mlp,no-dropout,yes", "4 cells; 7 are expected"),
    ],
)
def test_a_confound_that_is_wrong_is_named_with_its_line(
    line: str, said: str, tmp_path: Path
) -> None:
    folder = tmp_path / "sohail2022"
    shutil.copytree(reading.FOLDER / "sohail2022", folder)
    (folder / "confounds.csv").write_text(f"{CONFOUNDS}{line}\n")
    with pytest.raises(UserError) as wrong:
        reading.read_study(folder)
    assert said in str(wrong.value) and "confounds.csv, line 2" in str(wrong.value)


def test_whose_code_a_release_stands_for() -> None:
    study = reading.find("tian2020")
    named = {
        ("tensorflow@2.1.0", "function"): "tensorflow", ("tensorflow@2.1.0", "fit"): "model.fit",
        ("tensorflow@2.21.0", "fit"): "model.fit", ("pytorch@2.13.0", "compile"): "pytorch",
    }  # fmt: skip
    for (release, variant), name in named.items():
        found = study.framework_of(release, variant)
        assert found is not None and found.name == name
    assert study.framework_of("jax@0.12.0.1", "jit") is None
