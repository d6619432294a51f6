"""Chemical formulas: `KCl`, `Ba(NO3)2`, `Li0.5CoO2`, `CuSO4·5H2O`; and fractions of 86 elements."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

_SYMBOLS = re.findall(
    r"\S+",
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br"
    " Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho"
    " Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es"
    " Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og",
)
_LEFT_OUT = {"He", "Ne", "Ar", "Po", "At", "Rn", "Fr", "Ra"}
ELEMENTS = tuple(s for s in _SYMBOLS[: _SYMBOLS.index("Pu") + 1] if s not in _LEFT_OUT)
"""Those of gupta2023, by atomic number: hydrogen to plutonium, without eight."""
_PLACES = {symbol: place for place, symbol in enumerate(ELEMENTS)}
_TOKEN = re.compile(r"([A-Z][a-z]?)|([(\[{])|([)\]}])|(\d+(?:\.\d*)?|\.\d+)")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_MOST_CHARACTERS = 300
_MOST_DEPTH = 10
_MOST_ATOMS = 1e6


class FormulaError(ValueError):
    """Not a formula; the message is the end of a sentence that begins with it."""


class OtherElement(FormulaError):
    """A right formula with an element that is not among the 86."""


def parse(formula: str) -> dict[str, float]:
    """How many atoms of each element."""
    if not formula or len(formula) > _MOST_CHARACTERS:
        raise FormulaError(f"is empty or longer than {_MOST_CHARACTERS} characters")
    total: dict[str, float] = {}
    parts = re.split(r"[·*•]", formula.replace(" ", ""))
    for number, part in enumerate(parts):
        factor = re.match(r"\d+(?:\.\d+)?", part) if number else None  # the 5 of ·5H2O
        times = float(factor[0]) if factor else 1.0
        counted = _parse_part(part[factor.end() :] if factor else part)
        _add(total, counted, times)
    return total


def _parse_part(text: str) -> dict[str, float]:
    """A formula without dots, from left to right; an open bracket is one more level."""
    levels: list[dict[str, float]] = [{}]
    brackets: list[str] = []
    last: dict[str, float] | None = None
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise FormulaError(f"has {text[place]!r} at position {place + 1}")
        symbol, opening, closing, number = match.groups()
        if number:
            if last is None:
                raise FormulaError(f"has the number {number} with nothing in front of it")
            _add(levels[-1], last, _amount(number))
            last = None
        else:
            if last is not None:
                _add(levels[-1], last, 1.0)
                last = None
            if symbol:
                last = {_known(symbol): 1.0}
            elif opening:
                levels.append({})
                brackets.append(opening)
                if len(levels) > _MOST_DEPTH:
                    raise FormulaError(f"has brackets more than {_MOST_DEPTH - 1} deep")
            elif not brackets or _CLOSING[brackets.pop()] != closing:
                raise FormulaError(f"has a {closing!r} that closes nothing")
            else:
                last = levels.pop()
                if not last:
                    raise FormulaError("has brackets with nothing in them")
        place = match.end()
    if brackets:
        raise FormulaError(f"has a {brackets[-1]!r} that is not closed")
    if last is not None:
        _add(levels[-1], last, 1.0)
    if not levels[0]:
        raise FormulaError("names no element")
    return levels[0]


def _known(symbol: str) -> str:
    """The element; heavy hydrogen is hydrogen."""
    if symbol in ("D", "T"):
        return "H"
    if symbol not in _SYMBOLS:
        raise FormulaError(f"has {symbol!r}, which is not an element")
    return symbol


def _amount(text: str) -> float:
    amount = float(text)
    if not 0 < amount <= _MOST_ATOMS:
        raise FormulaError(f"has the amount {text}, which is not above 0 and up to {_MOST_ATOMS:g}")
    return amount


def _add(total: dict[str, float], more: Mapping[str, float], times: float) -> None:
    for symbol, amount in more.items():
        total[symbol] = total.get(symbol, 0.0) + amount * times
        if not total[symbol] <= _MOST_ATOMS:
            raise FormulaError(f"has more than {_MOST_ATOMS:g} atoms of {symbol}")


def fractions(atoms: Mapping[str, float]) -> np.ndarray:
    """The share of each of the 86 elements."""
    values = np.zeros(len(ELEMENTS))
    for symbol, amount in atoms.items():
        element = _known(symbol)
        if element not in _PLACES:
            raise OtherElement(f"has {symbol}, which is not among the 86 elements")
        if not (math.isfinite(amount) and amount > 0):
            raise FormulaError(f"has the amount {amount} of {symbol}")
        values[_PLACES[element]] += amount
    shares: np.ndarray = (values / values.sum()).astype(np.float32)
    return shares
