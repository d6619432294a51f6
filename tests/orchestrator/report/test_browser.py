"""The report in a real Chromium: quiet, self-contained, usable, and deaf to attacks."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote_plus

import pytest

from dlbench import report
from dlbench.analysis.metrics import TRAINING
from dlbench.report.matrix import matrices, said
from dlbench.statistics.verdicts import Decision
from tests.orchestrator.analysis import campaigns
from tests.orchestrator.report.attack import HOSTILE, SHOWN
from tests.orchestrator.report.browser import Browser

_NUMBER = re.compile(r"\d+\.\d+")
_TAB, _ENTER, _ESCAPE = "\ue004", "\ue007", "\ue00c"


def _elsewhere(window: Browser) -> list[str]:
    """Requests that left the file."""
    own = ("file:", "data:", "blob:", "chrome:", "about:")
    return [address for address in window.requests() if not address.startswith(own)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_everything_is_drawn_without_an_error_or_a_request(
    chromium: Browser, page: Path, scheme: str, width: int
) -> None:
    chromium.prefer(scheme)
    chromium.shape(width, 900, phone=width < 500)
    chromium.open(page)
    chromium.draw_everything()
    missing = chromium.run(
        """return [...document.querySelectorAll('figure.chart:not([hidden])')]
             .filter((figure) => !figure.querySelector('.drawing svg path, .drawing svg rect'))
             .map((figure) => figure.dataset.chart)"""
    )
    assert missing == []
    cut = chromium.run(
        """return [...document.querySelectorAll('figure.chart:not([hidden]) .drawing svg')].flatMap(
             (svg) => [...svg.querySelectorAll('text')].filter((text) =>
               text.getBoundingClientRect().right > svg.getBoundingClientRect().right + 1
             ).map((text) => text.textContent))"""
    )
    assert cut == []
    assert chromium.console() == []
    assert _elsewhere(chromium) == []
    assert chromium.run("return document.documentElement.scrollWidth <= innerWidth")
    back = chromium.run("return getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (scheme == "light")


def _shown(window: Browser, file: Path, choice: str = "", width: int = 1280) -> None:
    """The page with something chosen in its address."""
    window.prefer("light")
    window.shape(width, 900)
    window.open(file.with_name("elsewhere.html"))
    window.open(file, choice)


def _cell(window: Browser, contender: str, column: str) -> list[str]:
    """The lines of a cell of the summary."""
    found: list[str] = window.run(
        """const [name, column] = arguments;
           for (const table of document.querySelectorAll('#live table')) {
             const heads = [...table.querySelectorAll('thead th')].map((h) => h.firstChild.data);
             const row = [...table.querySelectorAll('tbody tr')]
               .find((tr) => tr.firstChild.textContent === name);
             if (row && heads.includes(column))
               return [...row.children[heads.indexOf(column)].querySelectorAll('b, small')]
                 .map((part) => part.textContent);
           }
           return []""",
        contender,
        column,
    )
    return found


def _rows(window: Browser) -> list[str]:
    rows: list[str] = window.run(
        """return [...document.querySelector('#live table').querySelectorAll('tbody th')]
             .map((head) => head.textContent)"""
    )
    return rows


def _choose(window: Browser, list: str, text: str) -> None:
    window.run(
        """const list = document.getElementById(arguments[0]);
           list.value = [...list.options].find((o) => o.text === arguments[1]).value;
           list.dispatchEvent(new Event('change'))""",
        list,
        text,
    )


def _press(window: Browser, text: str) -> None:
    window.run(
        """[...document.querySelectorAll('button')]
             .find((button) => button.textContent === arguments[0]).click()""",
        text,
    )


def _tick(window: Browser, list: str, text: str) -> None:
    window.run(
        """[...document.querySelectorAll(`#${arguments[0]} label`)]
             .find((label) => label.textContent === arguments[1]).firstChild.click()""",
        list,
        text,
    )


def _hash(window: Browser) -> str:
    return unquote_plus(window.run("return location.hash"))


def test_of_equal_contenders_none_is_the_best_so_far(chromium: Browser, tmp_path: Path) -> None:
    """On the page and in the file, which readers without scripts see."""
    few, level = [1.0, 1.1, 1.2], [1.2, 1.1, 1.0]
    equal = campaigns.write(
        tmp_path / "equal", [campaigns.Cell("a@1", few), campaigns.Cell("b@1", level)]
    )
    apart = campaigns.write(
        tmp_path / "apart", [campaigns.Cell("a@1", few), campaigns.Cell("b@1", [1.3, 1.2, 1.4])]
    )
    for folder, word in ((equal, "equal best so far"), (apart, "best so far")):
        (table,) = matrices(report.load(folder))
        assert word in table.rows[0].cells[0].details
        page = tmp_path / f"{folder.name}.html"
        page.write_text(report.html(report.load(folder)), encoding="utf-8")
        page.with_name("elsewhere.html").write_text("<!doctype html><title>another page</title>")
        _shown(chromium, page)
        assert _cell(chromium, "a@1", table.columns[0].title)[-1] == word


def test_any_contender_can_be_the_baseline(
    chromium: Browser, decided_page: Path, many_repeats: Path
) -> None:
    _shown(chromium, decided_page)
    assert "best" in _cell(chromium, "jax@0.12.0.1", "mnist-cnn")
    _choose(chromium, "baseline", "pytorch@2.0.1")
    assert _rows(chromium)[0] == "pytorch@2.0.1"
    assert _cell(chromium, "pytorch@2.0.1", "mnist-cnn")[2] == "baseline"
    material = report.load(many_repeats)
    for group in material.groups:
        relation = material.relation(group, "pytorch@2.0.1", TRAINING)
        if relation is None or relation.decision is Decision.NOT_COMPARABLE:
            continue
        expected = " ".join(said(relation, TRAINING, tested=True))
        seen = " ".join(_cell(chromium, group.name, group.case)[:2])
        assert _NUMBER.sub("", seen) == _NUMBER.sub("", expected)
        # the page holds six digits, and turns them round
        numbers = ([float(x) for x in _NUMBER.findall(text)] for text in (seen, expected))
        assert next(numbers) == pytest.approx(next(numbers), abs=0.011)
    words = {_cell(chromium, name, "mnist-cnn")[0].split()[-1] for name in _rows(chromium)[1:]}
    assert {"faster", "slower"} <= words <= {"faster", "slower", "undecided"}
    assert "times pytorch@2.0.1" in chromium.run(
        "return document.querySelector('.lead .drawing').textContent"
    )
    assert chromium.console() == []


def test_presets_choose_and_are_marked(chromium: Browser, decided_page: Path) -> None:
    _shown(chromium, decided_page)
    _press(chromium, "Releases of pytorch")
    assert all(name.startswith("pytorch@") for name in _rows(chromium))
    pressed = "return [...document.querySelectorAll('#presets [aria-pressed=true]')]"
    assert chromium.run(f"{pressed}.map((b) => b.textContent)") == ["Releases of pytorch"]
    chromium.draw_everything()
    drawn = chromium.run(
        "return document.querySelector('[data-chart=bars-train-s] .drawing').textContent"
    )
    assert "pytorch@2.0.1" in drawn and "jax" not in drawn
    _press(chromium, "CPU only")
    assert _cell(chromium, "jax@0.12.0.1", "mnist-cnn")
    assert not _cell(chromium, "jax@0.12.0.1", "mnist-cnn (gpu)")
    assert _hash(chromium) == "#preset=CPU only"


def test_ticking_workloads_computes_the_summary_anew(chromium: Browser, decided_page: Path) -> None:
    _shown(chromium, decided_page)
    name = "pytorch@2.0.1"
    whole = _cell(chromium, name, "Together")
    ratios = []
    for column in ("cifar10-cnn", "cifar10-cnn (gpu)"):
        ratios.append(float(_cell(chromium, name, column)[0].partition("×")[0]))
    _tick(chromium, "workloads", "mnist-cnn")
    _tick(chromium, "workloads", "mnist-cnn (gpu)")
    part = _cell(chromium, name, "Together")
    assert whole[1] == "slower 4" and part[1] == "slower 2"
    expected = (ratios[0] * ratios[1]) ** 0.5
    assert abs(float(part[0].rstrip("×")) - expected) < 0.02
    # of one workload all metrics are shown
    _tick(chromium, "workloads", "cifar10-cnn (gpu)")
    assert _cell(chromium, name, "Peak memory") and not _cell(chromium, name, "Together")
    _tick(chromium, "workloads", "cifar10-cnn")
    assert "No workload is ticked" in chromium.run(
        "return document.getElementById('live').textContent"
    )
    assert chromium.console() == []


def test_the_address_holds_the_choice_and_a_link_shows_it(
    chromium: Browser, decided_page: Path
) -> None:
    _shown(chromium, decided_page)
    _choose(chromium, "baseline", "mxnet@1.9.1")
    _tick(chromium, "workloads", "mnist-cnn (gpu)")
    _tick(chromium, "contenders", "jax@0.12.0.1")
    _press(chromium, "Accuracy")
    _press(chromium, "best first")
    cells = "return document.getElementById('live').innerText"
    before, link = chromium.run(cells), chromium.run("return location.hash")
    assert "baseline=mxnet@1.9.1" in _hash(chromium) and "jax" not in _hash(chromium)
    _shown(chromium, decided_page, link)
    assert chromium.run(cells) == before
    assert chromium.run("return document.getElementById('baseline').selectedOptions[0].text") == (
        "mxnet@1.9.1"
    )
    # a link to a place keeps the choice
    chromium.run("document.querySelector('.contents a[href=\"#quality\"]').click()")
    assert "at=quality" in _hash(chromium) and "baseline=mxnet@1.9.1" in _hash(chromium)


def test_a_link_that_names_what_is_not_here_says_so(chromium: Browser, decided_page: Path) -> None:
    _shown(chromium, decided_page, "#baseline=nothing@1&workload=%3Cb%3E&metric=x&order=y")
    status = chromium.run("return document.getElementById('said').textContent")
    assert "nothing@1" in status and "<b>" in status
    assert len(_rows(chromium)) == 10
    assert chromium.console() == []


def test_a_cell_leads_to_its_trials_certificate_lock_and_command(
    chromium: Browser, decided_page: Path
) -> None:
    _shown(chromium, decided_page)
    chromium.run("document.querySelector('#live tbody tr td:nth-child(3) a').click()")
    opened = "return document.querySelector('dialog[open]')?.innerText ?? ''"
    text = chromium.run(opened)
    assert text.startswith("jax@0.12.0.1 on cifar10-cnn")
    for word in ("Training time", "certificate", "Lock", "dlbench run --framework jax@0.12.0.1"):
        assert word in text
    assert chromium.run("return document.querySelectorAll('dialog tbody tr').length") > 20
    link = chromium.run("return location.hash")
    chromium.press(_ESCAPE)
    assert chromium.run(opened) == "" and "trials" not in _hash(chromium)
    _shown(chromium, decided_page, link)
    assert chromium.run(opened) == text


_WIDE = """return [...document.querySelectorAll('#live, #live .matrix, #live table, #live td')]
  .filter((part) => part.scrollWidth > part.clientWidth + 2)
  .map((part) => [part.tagName, part.textContent.slice(0, 40), part.scrollWidth, part.clientWidth])
  .concat([...document.querySelectorAll('#live table')]
    .map((table) => [table, table.closest('section')].map((e) => e.getBoundingClientRect().right))
    .filter(([table, section]) => table > section + 1))"""


@pytest.mark.parametrize("width", [320, 390, 768, 1000, 1400, 1920, 2560])
def test_no_column_of_the_summary_is_cut_off(chromium: Browser, page: Path, width: int) -> None:
    for metric in ("train_s", "gpu_energy_j"):
        _shown(chromium, page, f"#baseline=pytorch@2.13.0&metric={metric}", width)
        assert chromium.run(_WIDE) == []
        assert chromium.run("return document.documentElement.scrollWidth <= innerWidth")
        columns = chromium.run(
            """return [...document.querySelectorAll('#live thead th')]
                 .map((head) => head.firstChild.data).filter((name) => name !== 'Contender')"""
        )
        assert len(columns) == len(set(columns)) == 11


def test_on_paper_nothing_is_cut_off_and_ink_is_dark(chromium: Browser, page: Path) -> None:
    chromium.prefer("dark")
    chromium.shape(1400, 900)
    chromium.open(page)
    chromium.run("window.dispatchEvent(new Event('beforeprint'))")
    assert chromium.run(
        """const all = [...document.querySelectorAll('#live table, .drawing svg')];
           return all.length > 8
             && all.every((part) => part.getBoundingClientRect().width <= 700)"""
    )
    ink = "return getComputedStyle(document.body).color"
    assert chromium.run(ink) == "rgb(27, 30, 35)"
    chromium.run("window.dispatchEvent(new Event('afterprint'))")
    assert chromium.run(ink) == "rgb(233, 235, 238)"


def test_without_javascript_the_tables_are_there(chromium: Browser, page: Path) -> None:
    _shown(chromium, page)
    text = "return document.getElementById('summary').innerText"
    chromium.devtools("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.open(page.with_name("elsewhere.html"))
        chromium.open(page)
        said_there = chromium.run(text)
        assert chromium.run("return document.querySelectorAll('#still td a').length") > 100
    finally:
        chromium.devtools("Emulation.setScriptExecutionDisabled", value=False)
    for word in ("Training time", "Peak memory", "not certified", "undecided", "best"):
        assert word in said_there


def test_charts_are_drawn_without_scrolling(chromium: Browser, page: Path) -> None:
    _shown(chromium, page)
    missing = chromium.wait(
        """const done = arguments[0]; let tries = 0;
           const look = () => {
             const left = [...document.querySelectorAll('figure.chart:not([hidden]) .drawing')]
               .filter((box) => !box.querySelector('svg')).length;
             if (left && tries++ < 200) setTimeout(look, 50); else done(left);
           };
           look();"""
    )
    assert missing == 0
    assert chromium.run("return scrollY") == 0


def test_charts_that_have_no_data_of_a_case_are_hidden(chromium: Browser, page: Path) -> None:
    _shown(chromium, page)
    energy = "return document.querySelector('[data-chart=bars-gpu-energy-j]').hidden"
    assert chromium.run(energy)
    _choose(chromium, "case", "mnist-cnn (gpu)")
    assert not chromium.run(energy)
    around = "return document.querySelector('[data-chart=bars-train-s] .around').textContent"
    assert chromium.run(around).startswith("mnist-cnn (gpu): synthetic data, 10 epochs")


def test_each_chart_has_its_table_and_its_csv(chromium: Browser, page: Path) -> None:
    chromium.shape(1280, 900)
    chromium.open(page)
    chromium.run(
        "document.querySelectorAll('figure details.data').forEach((d) => { d.open = true })"
    )
    rows = chromium.wait(
        """const done = arguments[0];
           setTimeout(() => done([...document.querySelectorAll('figure')].map(
             (f) => [f.dataset.chart, f.querySelectorAll('tbody tr').length, f.hidden])), 500)"""
    )
    assert len(rows) > 8
    assert [name for name, count, hidden in rows if not count and not hidden] == []
    text = chromium.wait(
        """const done = arguments[0];
           const make = URL.createObjectURL;
           URL.createObjectURL = (blob) => { blob.text().then(done); return make(blob); };
           HTMLAnchorElement.prototype.click = () => {};
           document.querySelector('[data-chart=bars-train-s] button.plain').click()"""
    )
    lines = text.splitlines()
    assert lines[0] == "case,contender,framework,median,low,high,interval,n,certified"
    assert len(lines) == 101


def test_the_keyboard_reaches_and_works_the_controls(chromium: Browser, page: Path) -> None:
    chromium.prefer("light")
    chromium.shape(1280, 900)
    chromium.open(page)
    chromium.press(_TAB)
    assert chromium.run("return document.activeElement.className") == "skip"
    chromium.press(_TAB)
    assert chromium.run("return document.activeElement.id") == "theme"
    chromium.press(_ENTER)
    assert chromium.run("return document.documentElement.dataset.theme") == "dark"
    chromium.run("localStorage.clear()")


def test_images_of_data_have_words_and_controls_have_names(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    nameless = chromium.run(
        """return [...document.querySelectorAll('button, select, [role=img], [role=region]')]
             .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim()
                              || (e.labels && e.labels.length)))
             .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert nameless == []


def test_it_prints_with_every_chart(chromium: Browser, page: Path) -> None:
    chromium.prefer("light")
    chromium.shape(1280, 900)
    chromium.open(page)
    assert chromium.pdf().startswith(b"%PDF")
    assert chromium.run(
        """return [...document.querySelectorAll('figure.chart:not([hidden]) .drawing')]
             .every((box) => box.querySelector('svg'))"""
    )


def test_hostile_texts_stay_texts(chromium: Browser, hostile: Path, tmp_path: Path) -> None:
    target = tmp_path / "hostile.html"
    target.write_text(report.html(report.load(hostile)), encoding="utf-8")
    chromium.shape(1280, 900)
    chromium.console()
    chromium.requests()
    chromium.open(target)
    chromium.draw_everything()
    chromium.run("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    chromium.draw_everything()
    hover = """const done = arguments[0];
      for (const shape of document.querySelectorAll('.drawing svg path')) {
        const at = shape.getBoundingClientRect();
        shape.closest('.drawing').firstChild.dispatchEvent(new MouseEvent('mousemove',
          { clientX: at.x + at.width / 2, clientY: at.y + at.height / 2, bubbles: true }));
      }
      setTimeout(done, 200);"""
    chromium.wait(hover)
    assert chromium.run("return typeof window.pwned") == "undefined"
    assert chromium.run("return document.querySelectorAll('img').length") == 0
    assert chromium.run("return document.scripts.length") == chromium.run(
        "return 4 + document.querySelectorAll('figure, script.metric').length"
    )
    assert chromium.console() == []
    assert _elsewhere(chromium) == []
    assert SHOWN in chromium.run("return document.getElementById('failures').textContent")
    # what is not printable is written out where a certificate is read
    written = HOSTILE.replace("\u2028", "\\u2028")
    assert written in chromium.run("return document.getElementById('certificates').textContent")


def test_the_policy_refuses_whatever_is_added(
    chromium: Browser, page: Path, tmp_path: Path
) -> None:
    """Were an attack to find a way in after all, the page would still not run it."""
    target = tmp_path / "added.html"
    added = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'></body>"
    target.write_text(page.read_text(encoding="utf-8").replace("</body>", added), encoding="utf-8")
    chromium.open(target)
    assert chromium.run("return typeof window.pwned") == "undefined"
    assert len(chromium.console()) >= 2
    chromium.requests()
