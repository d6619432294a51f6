"""Formation energies of materials by composition: what the three sets of gupta2023 share.

Of all rows 81 % are for training, 9 % to validate and 10 % to test. Formulas repeat (one
composition, several crystals), so all rows of one composition are in the same split; the number of
elements is spread evenly over the splits. Rows with an element that is not among the 86, or without
an energy, are left out.
"""

from __future__ import annotations

import math
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dlbench.datasets import Arrays, Dataset, Download, Packaging, _synthetic
from dlbench.datasets._folders import Inside
from dlbench.datasets._formulas import ELEMENTS, FormulaError, OtherElement, fractions, parse
from dlbench.datasets._json_stream import entries
from dlbench.datasets._reading import opened, read_rows, wrong
from dlbench.errors import UserError

Row = tuple[np.ndarray, float]
"""Fractions of the elements, eV per atom."""
_SEED = 1_234_567
_SHARES = {"test": 0.1, "validation": 0.09}
_MOST_CSV = 500_000_000
_MOST_ROWS = 5_000_000
_COMPOSITION = (
    "formula", "composition", "pretty_comp", "pretty_formula", "reduced_formula", "full_formula",
    "structure", "atoms",
)  # fmt: skip
"""Names of columns, the plainest first."""
_ENERGY = (
    "formation_energy_peratom", "e_form", "formation_energy_per_atom", "_oqmd_delta_e", "delta_e",
    "formation_energy", "target",
)  # fmt: skip
_SYNTHETIC = partial(_synthetic.compositions, elements=len(ELEMENTS))
"""One for all of them: models that share a graph, a recipe and these rows share their proof."""


def materials(
    name: str,
    title: str,
    rows: tuple[int, int],
    download: Download,
    *,
    others: tuple[Download, ...] = (),
    prefixes: tuple[str, ...] = (),
    lowest: bool = False,
    notes: str = "",
) -> Dataset:
    """A data set of this kind. `prefixes`: how CSV files of it begin, the best first; `lowest`: of
    each composition the row of the lowest energy alone."""

    def convert(files: Mapping[str, Path]) -> Arrays:
        (path,) = files.values()
        return split(_from_json(path), lowest=lowest)

    def from_folder(folder: Path) -> Arrays:
        """From tables that people have: all CSV files whose names begin alike."""
        beginnings, inside = prefixes or (name,), Inside(folder)
        found = (inside.like(f"{each}*.csv{end}") for each in beginnings for end in ("", ".gz"))
        tables = next((files for files in found if files), [])
        if not tables:
            raise UserError(
                f"{folder} and the folders in it have no file {download.name}, and no CSV file"
                f" whose name begins with {' or '.join(beginnings)}.",
                f"It is at {download.urls[0]}. A CSV file needs a column with formulas"
                " (`formula`) and one with eV per atom (`target`).",
            )
        return split((row for path in tables for row in _from_csv(path)), lowest=lowest)

    return Dataset(
        name=name,
        title=title,
        licence="CC BY 4.0",
        rows=rows,
        convert=convert,
        synthetic=_SYNTHETIC,
        downloads=(download,),
        packagings=tuple(Packaging(other.name, (other,), convert) for other in others),
        from_folder=from_folder,
        notes=notes,
    )


def _from_json(path: Path) -> Iterator[Row]:
    """A JSON file, as it is, packed with gzip, or the only one in a zip archive."""
    with opened(path) as file:
        if path.suffix == ".zip":
            with zipfile.ZipFile(file) as archive:
                inside = [info for info in archive.infolist() if info.filename.endswith(".json")]
                if len(inside) != 1:
                    raise wrong(path.name, f"holds {len(inside)} JSON files, not one")
                with archive.open(inside[0]) as member:
                    yield from _rows(entries(member, path.name), path.name)
        else:
            yield from _rows(entries(file, path.name), path.name)


def _from_csv(path: Path) -> Iterator[Row]:
    lines = read_rows(path, _MOST_CSV)
    columns = [column.strip() for column in next(lines, [])]

    def named() -> Iterator[dict[str, Any]]:
        for number, line in enumerate(lines, 2):
            if len(line) != len(columns):
                raise wrong(
                    path.name, f"has {len(line)} of {len(columns)} columns in line {number}"
                )
            yield dict(zip(columns, line, strict=True))

    yield from _rows(named(), path.name)


def _rows(found: Iterable[Mapping[str, Any]], name: str) -> Iterator[Row]:
    composition = energy = ""
    for number, entry in enumerate(found, 1):
        if number > _MOST_ROWS:
            raise wrong(name, f"has more than {_MOST_ROWS:,} rows")
        if number == 1:
            composition = _column(entry, _COMPOSITION, "formulas", name)
            energy = _column(entry, _ENERGY, "energies", name)
        value = _energy(entry.get(energy))
        if value is None:
            continue
        try:
            yield fractions(_atoms(entry.get(composition))), value
        except OtherElement:
            continue
        except FormulaError as error:
            text = str(entry.get(composition))[:60]
            raise wrong(name, f"has in row {number} the formula {text!r}, which {error}") from error


def _column(entry: Mapping[str, Any], known: tuple[str, ...], what: str, name: str) -> str:
    for column in known:
        if column in entry:
            return column
    raise wrong(name, f"has no column of {what}: one of {', '.join(known)} was expected")


def _energy(value: Any) -> float | None:
    """The number; None where there is none (JARVIS writes `na`)."""
    try:
        energy = float(value)
    except (TypeError, ValueError):
        return None
    return energy if math.isfinite(energy) else None


def _atoms(value: Any) -> Mapping[str, float]:
    """How many atoms of each element: of a formula, a composition or a crystal."""
    if isinstance(value, str):
        return parse(value.strip())
    try:
        if "sites" in value:
            atoms: Counter[str] = Counter()
            for site in value["sites"]:
                for species in site["species"]:
                    atoms[str(species["element"])] += species.get("occu", 1)
            return atoms
        if "elements" in value:
            return Counter(str(symbol).strip() for symbol in value["elements"])
        return {str(k): float(v) for k, v in value.items() if not str(k).startswith("@")}
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise FormulaError("is neither a formula nor a composition nor a crystal") from error


def split(rows: Iterable[Row], *, lowest: bool = False) -> Arrays:
    """Grouped by composition, stratified by the number of elements."""
    groups: dict[bytes, list[Row]] = defaultdict(list)
    for row in rows:
        own = groups[row[0].tobytes()]
        if lowest and own:
            own[0] = min(own[0], row, key=lambda one: one[1])
        else:
            own.append(row)
    if not groups:
        raise UserError("No row of the files can be used.", "Check that they hold formulas.")
    strata: dict[int, list[list[Row]]] = defaultdict(list)
    for group in groups.values():
        strata[int(np.count_nonzero(group[0][0]))].append(group)
    parts: dict[str, list[Row]] = {"train": [], "test": [], "validation": []}
    for elements, members in sorted(strata.items()):
        rows_of_it = sum(map(len, members))
        room = {name: round(share * rows_of_it) for name, share in _SHARES.items()}
        for k in np.random.RandomState(_SEED + elements).permutation(len(members)):
            size = len(members[k])
            name = next((each for each in _SHARES if size <= room[each]), "train")
            parts[name].extend(members[k])
            if name in room:
                room[name] -= size
    if empty := [name for name, part in parts.items() if not part]:
        raise UserError(
            f"The files hold too few rows: of {sum(map(len, groups.values())):,} none is left"
            f" for {' and '.join(empty)}.",
            "Name a folder with more of them.",
        )
    order = np.random.RandomState(_SEED).permutation
    return {
        name: {
            "fractions": np.stack([part[k][0] for k in order(len(part))]),
            "value": np.array([[part[k][1]] for k in order(len(part))], np.float32),
        }
        for name, part in parts.items()
    }
