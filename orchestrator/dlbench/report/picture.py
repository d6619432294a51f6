"""One picture as an SVG file: training time of every release over the month it was published.

A panel a case, on a page of any browser, light or dark, without a script. Labels stand where they
cover neither a dot nor each other.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from dlbench.analysis.groups import Case, Group
from dlbench.analysis.metrics import TRAINING
from dlbench.environments import releases
from dlbench.errors import UserError
from dlbench.report.beside_numbers import cautions_of, of_case
from dlbench.report.colours import BACKGROUNDS, framework_colours
from dlbench.report.material import Estimate, Material
from dlbench.report.numbers import written
from dlbench.statistics.words import count, listing, some
from dlbench.versions import release_order

_WIDTH, _HEIGHT = 960, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 84, 30, 30
_CHARACTER = 6.3
"""Width of one at 11 px, with some room."""
_LINE = 17
_TEXT_CHARACTERS = 148
_MOST_PANELS = 12
_INKS = {"ink": ("#1d2329", "#e8eaed"), "soft": ("#59636e", "#a3adb8"),
         "line": ("#d5dae0", "#39414a")}  # fmt: skip


@dataclass(frozen=True)
class _Dot:
    """One contender in one panel."""

    group: Group
    time: Estimate
    month: int
    """Since the year 0."""
    line: tuple[str, ...]
    """Whom it is joined with: framework, flavour, variant, machine."""

    @property
    def label(self) -> str:
        return self.group.name.partition("@")[2] or self.group.name


Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def svg(material: Material) -> str:
    """The picture; what it leaves out is said below it."""
    undated: dict[str, None] = {}
    panels = []
    for case in material.cases:
        dots = list(_dots(material, case, undated))
        if len({dot.group.release for dot in dots}) > 1:
            panels.append((case, dots))
    if not panels:
        raise UserError(
            "There is nothing to draw over time: no case has two releases with a proven model and"
            " a training time.",
            "Run more releases, such as `dlbench run --suite history`.",
        )
    shown = panels[:_MOST_PANELS]
    frameworks = list(dict.fromkeys(d.group.framework for _, dots in shown for d in dots))
    sentence = _sentence(shown)
    top = 56.0 + _LINE * len(_wrapped(sentence))
    body = [*_legend(frameworks, top)]
    top += _LINE * len(_legend_rows(frameworks))
    for case, dots in shown:
        body += _panel(material, case, dots, frameworks, top)
        top += _HEIGHT
    notes = [*_left_out(material, shown, undated), *cautions_of(material)]
    if len(panels) > len(shown):
        notes.append(f"The first {len(shown)} of {len(panels)} cases are drawn.")
    for line in (line for note in notes for line in _wrapped(note)):
        top += _LINE
        body.append(_text(16, top, line, "soft"))
    return "\n".join([*_head(frameworks, sentence, top + 16), *body, "</svg>", ""])


def _sentence(panels: Sequence[tuple[Case, list[_Dot]]]) -> str:
    runs = sorted({dot.time.n for _, dots in panels for dot in dots})
    of = f"{runs[0]} to {runs[-1]} runs" if len(runs) > 1 else count(runs[0], "run")
    text = (
        f"Each dot is one release: the median training time of {of}, over the month in which it was"
        " published. Lines join releases of one framework; lower is faster."
    )
    spans = sorted({dot.time.interval for _, dots in panels for dot in dots if dot.time.interval})
    return f"{text} Whiskers: {listing(spans)}." if spans else text


def _dots(material: Material, case: Case, undated: dict[str, None]) -> Iterator[_Dot]:
    for group in case.groups:
        time = material.estimate(group, TRAINING) if group.certified else None
        if time is None or time.middle <= 0:
            continue
        try:
            year, month = map(int, releases.find(group.release).published.split("-"))
        except UserError:  # a release of somebody else, which is not on the search path
            undated[group.release] = None
            continue
        framework, _, flavour = release_order(group.release)
        line = (framework, flavour, str(group.rows[0]["variant"]), group.conditions.machine)
        yield _Dot(group, time, 12 * year + month - 1, line)


def _left_out(
    material: Material, panels: Sequence[tuple[Case, list[_Dot]]], undated: dict[str, None]
) -> Iterator[str]:
    drawn = {id(dot.group) for _, dots in panels for dot in dots}
    cases = {case.label for case, _ in panels}
    missing = [
        group
        for group in material.groups
        if group.case in cases and id(group) not in drawn and group.release not in undated
    ]
    if missing:
        names = [f"{group.name} on {group.case}" for group in missing]
        yield (
            f"Not drawn, because no model was proven or no run completed: {listing(some(names))}."
        )
    if undated:
        words = listing(list(undated))
        yield f"Not drawn, because it is not known when they were published: {words}."


def _head(frameworks: Sequence[str], sentence: str, height: float) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}"'
        f' width="{_WIDTH}" height="{height:.0f}" role="img" aria-labelledby="title about">'
    )
    title = "Training time over the releases"
    yield f'<title id="title">{title}</title>'
    yield f'<desc id="about">{escape(sentence)}</desc>'
    yield "<style>"
    yield "text { font: 11px system-ui, sans-serif; }"
    own = framework_colours(frameworks)
    for k, back in enumerate(BACKGROUNDS):
        rules = [f".back {{ fill: {back}; }}"]
        rules += [f".{name} {{ fill: {both[k]}; }}" for name, both in _INKS.items()]
        rules += [f".grid {{ stroke: {_INKS['line'][k]}; }}"]
        for i, name in enumerate(frameworks):
            colour = (own[name].light, own[name].dark)[k]
            rules.append(f".f{i} {{ fill: {colour}; }} .s{i} {{ stroke: {colour}; }}")
        text = " ".join(rules)
        yield f"@media (prefers-color-scheme: dark) {{ {text} }}" if k else text
    yield "</style>"
    yield f'<rect class="back" width="{_WIDTH}" height="{height:.0f}"/>'
    yield _text(16, 28, title, "ink", 'style="font-size:18px;font-weight:600"')
    for n, line in enumerate(_wrapped(sentence)):
        yield _text(16, 50 + n * _LINE, line, "soft")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _TEXT_CHARACTERS)


def _text(x: float, y: float, words: str, ink: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{ink}" {more}>{escape(words)}</text>'


def _legend_rows(frameworks: Sequence[str]) -> list[list[tuple[float, int]]]:
    """Where each framework's name stands: rows of (left, position)."""
    rows: list[list[tuple[float, int]]] = [[]]
    x = 16.0
    for i, name in enumerate(frameworks):
        wide = 34 + 7 * len(name)
        if x + wide > _WIDTH - 16 and rows[-1]:
            rows.append([])
            x = 16.0
        rows[-1].append((x, i))
        x += wide
    return rows


def _legend(frameworks: Sequence[str], top: float) -> Iterator[str]:
    for n, row in enumerate(_legend_rows(frameworks)):
        for x, i in row:
            y = top + n * _LINE
            yield f'<circle cx="{x + 5:.1f}" cy="{y - 4:.1f}" r="4.5" class="f{i}"/>'
            yield _text(x + 14, y, frameworks[i], "ink", 'style="font-size:12px"')


def _panel(
    material: Material, case: Case, dots: list[_Dot], frameworks: Sequence[str], top: float
) -> Iterator[str]:
    words = f"{case.label}: training time in seconds, log scale ({of_case(material, case)})"
    yield _text(16, top + 14, words, "ink", 'style="font-weight:600"')
    left, right, low, high = _LEFT, _WIDTH - _RIGHT, top + _HEIGHT - _BOTTOM, top + _TOP
    first, last = min(d.month for d in dots), max(d.month for d in dots)
    ends = [x for d in dots for x in (d.time.middle, d.time.low, d.time.high) if x and x > 0]
    least, most = min(ends) / 1.15, max(ends) * 1.15

    def x_of(month: float) -> float:
        return left + (month - first + 1) / (last - first + 2) * (right - left)

    def y_of(value: float) -> float:
        return low - math.log(value / least) / math.log(most / least) * (low - high)

    for value in _ticks(least, most):
        y = y_of(value)
        yield f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield _text(left - 8, y + 4, written(value, 1), "soft", 'text-anchor="end"')
    for year in range(first // 12, last // 12 + 2):
        if first - 1 <= 12 * year <= last + 1:
            x = x_of(12 * year)
            yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{high}" y2="{low}"/>'
            yield _text(x, low + 16, str(year), "soft", 'text-anchor="middle"')
    places = [(x_of(d.month), y_of(d.time.middle)) for d in dots]
    yield from _lines(dots, places, frameworks)
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in places]
    for dot, (x, y) in sorted(zip(dots, places, strict=True), key=lambda one: one[1]):
        i = frameworks.index(dot.group.framework)
        if dot.time.low and dot.time.high and dot.time.low > 0:
            a, b = y_of(dot.time.low), y_of(dot.time.high)
            yield f'<line class="s{i}" x1="{x:.1f}" x2="{x:.1f}" y1="{a:.1f}" y2="{b:.1f}"/>'
        told = f"{dot.group.name}: {written(dot.time.middle)} s, {count(dot.time.n, 'run')}"
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" class="f{i}">'
            f"<title>{escape(told)}</title></circle>"
        )
        place, anchor = _free_place(x, y, dot.label, taken, (left - 24, high, _WIDTH - 4, low))
        yield _text(*place, dot.label, f"f{i}", f'text-anchor="{anchor}"')


def _lines(
    dots: Sequence[_Dot], places: Sequence[tuple[float, float]], frameworks: Sequence[str]
) -> Iterator[str]:
    joined: dict[tuple[str, ...], list[int]] = {}
    for k, dot in enumerate(dots):
        joined.setdefault(dot.line, []).append(k)
    for own in joined.values():
        if len(own) > 1:
            own.sort(key=lambda k: release_order(dots[k].group.release))
            i = frameworks.index(dots[own[0]].group.framework)
            points = " ".join(f"{places[k][0]:.1f},{places[k][1]:.1f}" for k in own)
            yield (
                f'<polyline class="s{i}" points="{points}" style="fill:none" stroke-width="1.6"'
                ' stroke-opacity="0.75"/>'
            )


def _free_place(
    x: float, y: float, label: str, taken: list[Box], inside: Box
) -> tuple[tuple[float, float], str]:
    """Where the label of a dot stands, and its anchor: the first place that is free."""
    wide = _CHARACTER * len(label)
    # above and below first: lines come from the sides
    tries: list[tuple[float, float, str]] = [(x, y - 8, "middle"), (x, y + 16, "middle")]
    for up in (0, -10, 10, -20, 20, -30, 30):
        tries += [(x + 8, y + 4 + up, "start"), (x - 8, y + 4 + up, "end")]
    chosen, least = tries[0], math.inf
    for one in tries:
        overlap = sum(_shared(_box(one, wide), other) for other in taken)
        overlap += 1e6 if _outside(_box(one, wide), inside) else 0
        if overlap < least:
            chosen, least = one, overlap
        if not overlap:
            break
    taken.append(_box(chosen, wide))
    return (chosen[0], chosen[1]), chosen[2]


def _box(place: tuple[float, float, str], wide: float) -> Box:
    x, y, anchor = place
    left = {"start": x, "end": x - wide, "middle": x - wide / 2}[anchor]
    return left, y - 9, left + wide, y + 2


def _shared(a: Box, b: Box) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def _outside(box: Box, inside: Box) -> bool:
    return box[0] < inside[0] or box[1] < inside[1] or box[2] > inside[2] or box[3] > inside[3] + 10


def _ticks(least: float, most: float) -> Iterator[float]:
    """1, 2, 5, 10, … between the two; powers of ten alone where these are many."""
    steps = (1.0,) if most / least > 1e5 else (1.0, 2.0, 5.0)
    for power in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1):
        for step in steps:
            if least <= step * 10.0**power <= most:
                yield step * 10.0**power
