"""A study in the report: measured beside published, verdicts, and the way to the trials."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dlbench import report
from dlbench.cli import main
from dlbench.errors import UserError
from dlbench.report.study import study_part
from dlbench.studies import reading
from dlbench.studies.tables import TableCell
from tests.orchestrator.analysis.campaigns import Cell, write

WINNERS = {"tensorflow@2.10.1": 0.976, "pytorch@1.13.1": 0.99}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sohail2022 as intended, at its scale, on a CPU."""
    cells = [
        Cell(
            release, [accuracy + 0.0001 * i for i in range(12)], "accuracy", "mnist-mlp",
            variant="fit" if "tensorflow" in release else "eager", epochs=20,
            metrics={"train_s": 10.0 * (1 + n), "samples": 1_200_000.0, "epochs": 20.0},
        )
        for n, (release, accuracy) in enumerate(WINNERS.items())
    ]  # fmt: skip
    return write(tmp_path_factory.mktemp("study") / "c", cells, name="sohail2022")


def test_measured_beside_published_with_the_winner(campaign: Path) -> None:
    part = study_part(report.load(campaign))
    assert part is not None
    table, rows = next(one for one in part.tables if one[0].title == "Accuracy (CPU)")
    assert table.columns == ("mnist-mlp",)
    shown = {name: cells[0] for name, cells in rows}
    assert shown["keras"].cell.measured == "97.66 ± 0.036 %"
    assert shown["keras"].cell.published == "97.6 %" and shown["keras"].cell.runs == 12
    assert (shown["best"].cell.measured, shown["best"].cell.published) == ("pytorch", "pytorch")
    assert shown["best"].group is None
    group = shown["pytorch"].group
    assert group is not None
    assert report.load(campaign).groups[group].release == "pytorch@1.13.1"


def test_figures_of_another_device_and_the_point_of_a_sweep_are_told(tmp_path: Path) -> None:
    point = "optimizer.name=sgd"
    ways = {"pytorch@1.4.0": ("eager",), "tensorflow@2.1.0": ("function", "fit")}
    cells = [
        Cell(
            release, [1.5, 1.6], "first_epoch_excess_s", "cifar10-resnet18", variant=variant,
            point=point, changes=[point], metrics={"train_s": 9.0},
        )
        for release, variants in ways.items()
        for variant in variants
    ]  # fmt: skip
    part = study_part(report.load(write(tmp_path / "c", cells, name="tian2020")))
    assert part is not None
    titles = [table.title for table, _ in part.tables]
    table, rows = part.tables[titles.index("Excess time of the first epoch (CPU)")]
    assert table.columns == (f"cifar10-resnet18 ({point}; 10 of 200 epochs)",)
    shown = {name: cells[0].cell for name, cells in rows}
    assert list(shown) == ["pytorch", "tensorflow", "model.fit"], "each way to train has a row"
    assert shown["tensorflow"].published == "8.68 s, on a GPU"
    assert shown["model.fit"].published == ""
    assert shown["pytorch"].measured.startswith("1.55 ±")


def _of_gupta(folder: Path, seeds: list[int]) -> dict[str, dict[str, TableCell]]:
    """Tables of PyTorch on one workload: its error depends on the seed and on the run."""
    values = [0.5 + 0.001 * (seed % 7) + 0.01 * k for k, seed in enumerate(seeds)]
    more = {"train_s": 9.0, "parameters": 2166529.0}
    cell = Cell("pytorch@1.6.0", values, "mae", "oqmd-fcn-10", seeds=seeds, metrics=more)
    part = study_part(report.load(write(folder, [cell], name="gupta2023")))
    assert part is not None
    return {
        table.title: {name: cells[0].cell for name, cells in rows} for table, rows in part.tables
    }


def test_one_run_stands_in_a_table_though_it_has_neither_fixed_nor_varied_seeds(
    tmp_path: Path,
) -> None:
    tables = _of_gupta(tmp_path / "one", [7])
    own = tables["Mean absolute error (CPU); published: fixed seeds"]["PyTorch"]
    assert own.measured == "0.5 eV/atom"
    assert own.published == "0.0557 ± 0 eV/atom, on a GPU"
    assert not any("seeds" in title and "published" not in title for title in tables)
    assert not any("Spread" in title for title in tables), "one run has no spread"


def test_the_spread_at_one_seed_is_a_spread(tmp_path: Path) -> None:
    tables = _of_gupta(tmp_path / "c", [7, 7, 7, 8])
    spread = tables["Spread of the error at one seed (CPU)"]["PyTorch"]
    assert (spread.measured, spread.runs) == ("0.01 eV/atom", 3)
    assert spread.published == "0 eV/atom, on a GPU"
    assert tables["Mean absolute error (CPU), fixed seeds"]["PyTorch"].runs == 3
    assert tables["Mean absolute error (CPU), varied seeds"]["PyTorch"].runs == 2


def test_what_it_takes_to_install_stands_beside_the_tables(campaign: Path) -> None:
    part = study_part(report.load(campaign))
    assert part is not None
    table, rows = part.tables[-1]
    assert table.title == "To install and to write"
    shown = {name: [one.cell.measured for one in cells] for name, cells in rows}
    assert shown.keys() == {"keras", "pytorch"}
    packages, on_cpu, on_gpu, words = shown["pytorch"]
    assert int(packages) > 3
    assert int(words) > 50
    assert on_cpu.endswith(" MB") and on_gpu.endswith(" MB")
    assert "download, CPU" in report.html(report.load(campaign))


def test_each_verdict_leads_to_its_trials(campaign: Path) -> None:
    page = report.html(report.load(campaign))
    assert "The study sohail2022" in page
    claim = re.search(r'id="claim-sohail2022-02".*?</details>', page, re.DOTALL)
    assert claim is not None
    assert "as intended: supported" in claim[0] and "as published: not run" in claim[0]
    assert "could not have shown this" in claim[0] and "one run of each" in claim[0]
    links = re.findall(r'href="#(trials-\d+)"', claim[0])
    assert len(links) == 2 and all(f'id="{link}"' in page for link in links)
    assert "trials of petrol-mlp, CPU" in page


def test_in_markdown(campaign: Path) -> None:
    text = report.markdown(report.load(campaign))
    assert "## The study sohail2022" in text
    assert "| keras | 97.66 ± 0.036 % (97.6 %) |" in text
    assert (
        "| sohail2022-02 | pytorch has a higher accuracy than keras (mnist-mlp) | supported |"
        in (text)
    )


def test_another_suite_is_no_study_unless_one_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", [Cell("pytorch@1.13.1", [1.0, 2.0])], name="mine")
    assert study_part(report.load(folder)) is None
    assert "The study" not in report.html(report.load(folder))
    part = study_part(report.load(folder, study="tian2020"))
    assert part is not None and not part.tested and len(part.untested) == 12
    with pytest.raises(UserError, match="There is no study 'tian'"):
        report.load(folder, study="tian")


def test_commands(
    campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def dlbench(*words: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["dlbench", *map(str, words)])
        code = main()
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    code, out, _ = dlbench("claims", "--json")
    assert code == 0 and len(json.loads(out)) == 133
    code, out, _ = dlbench("claims", "tian2020", "--type", "association")
    assert code == 0 and "tian2020-09" in out and "tian2020-01" not in out
    code, _, err = dlbench("claims", "tian2020", "--type", "opinion")
    assert code == 2 and "There is no type of claim 'opinion'" in err

    code, out, _ = dlbench("judge", campaign)
    assert code == 3  # two are supported, and on petrol nothing was measured
    assert "sohail2022-02  as intended: supported, as published: not run" in out
    assert "measured   mnist-mlp: keras 97.66 ± 0.036 %, pytorch 99.0" in out
    assert "published  mnist-mlp: keras 97.6 %, pytorch 98 %" in out
    assert "Nothing was measured on 2 other claims" in out
    code, out, _ = dlbench("judge", campaign, "--claim", "sohail2022-02")
    assert code == 0 and "1 claim is judged" in out
    code, out, _ = dlbench("judge", campaign, "--claim", "sohail2022-03", "--json")
    judged = json.loads(out)
    assert code == 3 == judged["exit_code"]
    assert judged["claims"][0]["as_intended"]["verdict"] == "cannot tell"
    assert judged["claims"][0]["as_published"] is None
    code, _, err = dlbench("judge", campaign, "--claim", "sohail2022-99")
    assert code == 2 and "There is no claim 'sohail2022-99'" in err
    mine = write(tmp_path / "mine", [Cell("pytorch@1.13.1", [1.0, 2.0])], name="mine")
    code, _, err = dlbench("judge", mine)
    assert code == 2 and "('mine') is not a study" in err and "--study elshawi2021|" in err


def test_the_gap_between_intended_and_published_is_on_the_page(tmp_path: Path) -> None:
    """Equal models and equal accuracies; with the study's own code another winner."""
    study = reading.find("sohail2022")
    had = study.confounds_of("pytorch", "mnist-mlp")
    assert had

    def cell(release: str, accuracy: float, confounds: tuple[str, ...] = ()) -> Cell:
        return Cell(
            release, [accuracy + 0.0001 * i for i in range(12)], "accuracy", "mnist-mlp",
            variant="fit" if "tensorflow" in release else "eager", epochs=20, confounds=confounds,
            metrics={"train_s": 10.0, "samples": 1_200_000.0, "epochs": 20.0},
        )  # fmt: skip

    cells = [cell("tensorflow@2.10.1", 0.97), cell("pytorch@1.13.1", 0.97),
             cell("pytorch@1.13.1", 0.99, had)]  # fmt: skip
    campaign = write(tmp_path / "c", cells, name="sohail2022")
    material = report.load(campaign)
    page, text = report.html(material), report.markdown(material)
    claim = re.search(r'id="claim-sohail2022-02".*?</details>', page, re.DOTALL)
    assert claim is not None
    assert "as intended: contradicted" in claim[0] and "as published: supported" in claim[0]
    assert "with equal models: contradicted; with a smaller perceptron (pytorch)" in claim[0]
    assert "+hidden-units:units=64-32-16" in claim[0], "the link names what it leads to"
    assert "What the study's faults make of its claims" in text
    assert "1 claim is supported in one way and contradicted in the other" in text
