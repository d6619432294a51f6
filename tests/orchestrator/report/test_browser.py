"""The report in a real Chromium: quiet, self-contained, usable, and deaf to attacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench import report
from tests.orchestrator.report.attack import HOSTILE, SHOWN
from tests.orchestrator.report.browser import Browser

_TAB, _ENTER = "\ue004", "\ue007"


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


def test_filters_change_what_is_drawn_and_hide_what_has_no_data(
    chromium: Browser, page: Path
) -> None:
    chromium.prefer("light")
    chromium.shape(1280, 900)
    chromium.open(page)
    chromium.draw_everything()
    energy = "return document.querySelector('[data-chart=bars-gpu-energy-j]').hidden"
    assert chromium.run(energy)
    chromium.run(
        """const list = document.getElementById('case');
           list.value = [...list.options].find((o) => o.text.endsWith('(gpu)')).value;
           list.dispatchEvent(new Event('change'))"""
    )
    assert not chromium.run(energy)
    chromium.run("[...document.querySelectorAll('.chip')][0].click()")
    chromium.draw_everything()
    hidden = chromium.run("return document.querySelector('.chip').textContent")
    drawn = chromium.run(
        "return document.querySelector('[data-chart=bars-train-s] .drawing').textContent"
    )
    assert hidden not in drawn and "pytorch" in drawn
    assert chromium.run(
        """return [...document.querySelectorAll('.matrix tr[data-framework=jax]')]
             .every((row) => row.hidden)"""
    )
    assert chromium.console() == []


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
    assert lines[0] == "case,contender,framework,median,low,high,n,certified"
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
        "return 3 + document.querySelectorAll('figure').length"
    )
    assert chromium.console() == []
    assert _elsewhere(chromium) == []
    assert SHOWN in chromium.run("return document.getElementById('failures').textContent")
    # the parser of HTML may turn U+2028 into nothing else than itself
    assert HOSTILE in chromium.run("return document.getElementById('certificates').textContent")


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
