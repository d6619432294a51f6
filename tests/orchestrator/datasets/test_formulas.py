"""Chemical formulas, right and wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.datasets._formulas import ELEMENTS, FormulaError, OtherElement, fractions, parse


@pytest.mark.parametrize(
    ("formula", "atoms"),
    [
        ("KCl", {"K": 1, "Cl": 1}),
        ("Ba(NO3)2", {"Ba": 1, "N": 2, "O": 6}),
        ("Lu(MnGe)6", {"Lu": 1, "Mn": 6, "Ge": 6}),
        ("Fe4[Fe(CN)6]3", {"Fe": 7, "C": 18, "N": 18}),
        ("CO", {"C": 1, "O": 1}),
        ("Co", {"Co": 1}),
        ("Li0.5CoO2", {"Li": 0.5, "Co": 1, "O": 2}),
        ("CuSO4·5H2O", {"Cu": 1, "S": 1, "O": 9, "H": 10}),
        ("H2OH2O", {"H": 4, "O": 2}),
        ("Cd5 Fe2 O28 P8", {"Cd": 5, "Fe": 2, "O": 28, "P": 8}),
        ("HeNe", {"He": 1, "Ne": 1}),
        ("LiD", {"Li": 1, "H": 1}),
        ("HDO", {"H": 2, "O": 1}),
    ],
)
def test_right_ones(formula: str, atoms: dict[str, float]) -> None:
    assert parse(formula) == atoms


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("", "is empty"),
        ("K" * 301, "longer than 300"),
        ("Xx2", "'Xx', which is not an element"),
        ("k2", "'k' at position 1"),
        ("K-Cl", "'-' at position 2"),
        ("K+", r"'\+' at position 2"),
        ("2K", "number 2 with nothing in front"),
        ("K2 3", None),
        ("K0", "the amount 0,"),
        ("K9999999", "not above 0 and up to"),
        ("(K999999)999999", "more than 1e\\+06 atoms of K"),
        ("Ba(NO3", "not closed"),
        ("Ba(NO3]2", "closes nothing"),
        ("BaNO3)2", "closes nothing"),
        ("Ba()2", "nothing in them"),
        ("(" * 40 + "K" + ")" * 40, "brackets more than 9 deep"),
        ("·H2O", "names no element"),
        ("Ba(NO3)2\n<script>", "at position"),
    ],
)
def test_wrong_ones(formula: str, words: str | None) -> None:
    if words is None:
        assert parse(formula) == {"K": 23}
        return
    with pytest.raises(FormulaError, match=words):
        parse(formula)


@given(st.text(max_size=40))
def test_any_text_is_a_formula_or_an_error(text: str) -> None:
    try:
        atoms = parse(text)
    except FormulaError:
        return
    assert atoms
    assert all(0 < amount <= 1e6 for amount in atoms.values())


def test_fractions_of_86_elements() -> None:
    assert len(ELEMENTS) == len(set(ELEMENTS)) == 86
    assert (ELEMENTS[0], ELEMENTS[-1]) == ("H", "Pu")
    assert not {"He", "Ne", "Ar", "Po", "At", "Rn", "Fr", "Ra"} & set(ELEMENTS)
    assert {"Kr", "Xe", "Ac"} < set(ELEMENTS)
    row = fractions(parse("Ba(NO3)2"))
    assert (row.shape, row.dtype) == ((86,), np.float32)
    shares = {ELEMENTS[k]: float(row[k]) for k in np.flatnonzero(row)}
    assert shares == pytest.approx({"Ba": 1 / 9, "N": 2 / 9, "O": 6 / 9})
    assert np.array_equal(fractions(parse("Ba3N6O18")), row)
    assert np.array_equal(fractions({"H": 1, "D": 1, "O": 1}), fractions(parse("H2O")))
    with pytest.raises(OtherElement, match="He, which is not among the 86"):
        fractions(parse("LiHe"))
