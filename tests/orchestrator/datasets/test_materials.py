"""Materials: read from any of their forms; no composition is in both splits."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dlbench.datasets import find, store
from dlbench.datasets._formulas import ELEMENTS, parse
from dlbench.errors import UserError

SPLITS = {"train": 0.81, "validation": 0.09, "test": 0.1}


def _formulas(count: int) -> list[str]:
    """Different ones; every third comes twice."""
    random = np.random.RandomState(0)
    made: list[str] = []
    while len(made) < count:
        names = random.choice(ELEMENTS, random.randint(2, 5), replace=False)
        made.append("".join(f"{name}{random.randint(1, 9)}" for name in names))
    return [*made, *made[::3]]


def _write_csv(path: Path, formulas: list[str], columns: str = "formula,target") -> None:
    lines = [f"{formula},{k / 100 - 2}" for k, formula in enumerate(formulas)]
    path.write_text("\n".join([columns, *lines]))


def _arrays(folder: Path) -> dict[str, np.ndarray]:
    return {path.stem: np.load(path) for path in folder.glob("*.npy")}


def test_a_table_becomes_fractions(tmp_path: Path) -> None:
    formulas = [*_formulas(300), "HeKr", "KCl"]
    _write_csv(tmp_path / "jarvis_mine.csv", formulas, "pretty_comp,formation_energy_peratom")
    said: list[str] = []
    prepared = store.prepare_from(find("jarvis"), tmp_path, said.append)
    arrays = _arrays(prepared.folder)
    assert prepared.source == "sample"
    assert any("marked as a sample" in text for text in said)
    assert prepared.repeated == 0
    sizes = {split: len(arrays[f"{split}-value"]) for split in SPLITS}
    rows = sum(sizes.values())
    assert rows == len(formulas) - 1, "the one with helium is left out"
    for split, share in SPLITS.items():
        assert sizes[split] / rows == pytest.approx(share, abs=0.02)
    own = [{row.tobytes() for row in arrays[f"{split}-fractions"]} for split in SPLITS]
    assert sum(map(len, own)) == len(set.union(*own)), "a composition is in two splits"
    values = {round(float(v), 2) for split in SPLITS for v in arrays[f"{split}-value"][:, 0]}
    assert round(len(formulas) / 100 - 2.01, 2) in values
    assert np.allclose(arrays["train-fractions"].sum(axis=1), 1, atol=1e-5)


def test_oqmd_keeps_the_lowest_energy_of_a_composition(tmp_path: Path) -> None:
    formulas = _formulas(300)
    _write_csv(tmp_path / "oqmd.csv", formulas)
    arrays = _arrays(store.prepare_from(find("oqmd"), tmp_path).folder)
    values = np.concatenate([arrays[f"{split}-value"] for split in SPLITS])
    assert len(values) == 300
    assert values.max() < 1.01


def test_of_two_sets_of_tables_the_better_known_is_read(tmp_path: Path) -> None:
    _write_csv(tmp_path / "mp_other.csv", _formulas(50))
    few = store.prepare_from(find("materials-project"), tmp_path)
    assert sum(few.rows.values()) == 67
    _write_csv(tmp_path / "matbench_mp_e_form.csv", _formulas(300))
    more = store.prepare_from(find("materials-project"), tmp_path)
    assert sum(more.rows.values()) == 400, "not both together"


def _crystal(formula: str) -> dict[str, object]:
    sites = [
        {"species": [{"element": symbol, "occu": 1}], "abc": [0, 0, 0]}
        for symbol, count in parse(formula).items()
        for _ in range(int(count))
    ]
    return {"@module": "pymatgen.core.structure", "sites": sites}


def test_the_official_forms_give_the_same_rows(tmp_path: Path) -> None:
    formulas = _formulas(60)
    convert = find("materials-project").convert
    energies = [k / 10 for k in range(len(formulas))]
    table = {
        "index": list(range(len(formulas))),
        "columns": ["structure", "e_form"],
        "data": [[_crystal(f), e] for f, e in zip(formulas, energies, strict=True)],
    }
    split = tmp_path / "matbench.json.gz"
    split.write_bytes(gzip.compress(json.dumps(table).encode()))
    entries = [
        {"jid": "x", "formation_energy_peratom": e, "atoms": {"elements": _crystal_elements(f)}}
        for f, e in zip(formulas, energies, strict=True)
    ]
    entries.append({"jid": "y", "formation_energy_peratom": "na", "atoms": {"elements": ["K"]}})
    packed = tmp_path / "all.json.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("all.json", json.dumps(entries, indent=1))
    first, second = convert({split.name: split}), convert({packed.name: packed})
    assert first.keys() == second.keys()
    for part in first:
        for name, values in first[part].items():
            assert np.array_equal(values, second[part][name])


def _crystal_elements(formula: str) -> list[str]:
    return [symbol for symbol, n in parse(formula).items() for _ in range(int(n))]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("formula,target\nKCl,1\nXx2,1\n", "jarvis.csv has in row 2 the formula 'Xx2', which has"),
        ("formula,energy\nKCl,1\n", "has no column of energies: one of formation_energy_peratom"),
        ("name,target\nKCl,1\n", "has no column of formulas: one of formula"),
        ("formula,target\nKCl,1\nNaCl\n", "has 1 of 2 columns in line 3"),
        ("formula,target\n", "No row of the files can be used"),
        ("", "jarvis.csv has 0 bytes where 1 to"),
    ],
)
def test_wrong_tables_are_named(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "jarvis.csv").write_text(content)
    with pytest.raises(UserError) as caught:
        store.prepare_from(find("jarvis"), tmp_path)
    assert words in str(caught.value)


def test_too_few_rows_to_be_split(tmp_path: Path) -> None:
    _write_csv(tmp_path / "jarvis.csv", _formulas(3))
    words = r"too few rows: of \d+ none is left for test and validation"
    with pytest.raises(UserError, match=words):
        store.prepare_from(find("jarvis"), tmp_path)


def test_a_folder_without_anything_of_use(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no CSV file whose name begins with matbench_mp or mp"):
        store.prepare_from(find("materials-project"), tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('[{"formula": "KCl", "e_form": 1}, {"for', "is truncated"),
        ('[{"formula": "KCl", "e_form": 1}', "ends in the middle"),
        ('{"data": []}', "names its columns behind its data"),
        ('{"columns": ["formula", "e_form"], "data": [["KCl"]]}', "does not have 2 columns"),
        ('{"columns": []}', "holds no data"),
        ("[1, 2]", "not an entry with names"),
        ("nonsense", "is not JSON of the right form"),
        ("", "ends in the middle"),
        ("[" * 100_000, "is truncated or not JSON"),
        ('[{"formula": 5, "e_form": 1}]', "neither a formula nor a composition"),
    ],
)
def test_damaged_json_is_named(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "all_oqmd.json"
    path.write_text(content)
    with pytest.raises(UserError) as caught:
        find("oqmd").convert({path.name: path})
    assert words in str(caught.value)
    assert "all_oqmd.json" in str(caught.value)
