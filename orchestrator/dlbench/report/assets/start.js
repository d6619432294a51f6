/* Starts the page: each chart is drawn when it is first scrolled into view. */
import { colour, dark, readTheme } from "./colours.js";
import { el, page, state } from "./page.js";
import { View } from "./view.js";

const views = [...document.querySelectorAll("figure.chart")].map((figure) => new View(figure));
const byFigure = new Map(views.map((view) => [view.figure, view]));
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const view = byFigure.get(entry.target);
    view.near = entry.isIntersecting;
    if (view.near && !view.drawn) view.draw();
  }
}, { rootMargin: "400px" });

/** Everything changes: what is near is drawn now, the rest when it comes near. */
function redraw() {
  readTheme();
  for (const view of views) {
    view.drawn = false;
    view.show();
    if (view.near && !view.figure.hidden) view.draw();
  }
}

function setUpFilters() {
  const bar = document.querySelector(".filters");
  const chips = document.getElementById("chips");
  const list = document.getElementById("case");
  if (page.frameworks.length < 2 && !list) return;
  bar.hidden = false;
  list?.addEventListener("change", () => { state.case = list.value; redraw(); });
  if (page.frameworks.length < 2) return;
  for (const framework of page.frameworks) {
    const dot = el("i", {});
    dot.dataset.framework = framework;
    const chip = el("button", {
      type: "button", class: "chip", "aria-pressed": "true", title: "Show or hide " + framework,
      onclick: () => {
        const on = state.hidden.delete(framework);
        if (!on) state.hidden.add(framework);
        chip.setAttribute("aria-pressed", String(on));
        for (const row of document.querySelectorAll(".matrix tr[data-framework]")) {
          row.hidden = state.hidden.has(row.dataset.framework);
        }
        redraw();
      },
    }, dot, framework);
    chips.append(chip);
  }
}

function paintChips() {
  for (const dot of document.querySelectorAll(".chip i")) dot.style.background = colour(dot.dataset.framework);
}

function setUpTabs() {
  const tabs = document.querySelector(".tabs");
  if (!tabs) return;
  const buttons = [...tabs.querySelectorAll("button")];
  const show = (chosen) => {
    for (const button of buttons) {
      const on = button === chosen;
      button.setAttribute("aria-pressed", String(on));
      document.getElementById("matrix-" + button.dataset.matrix).hidden = !on;
    }
  };
  for (const button of buttons) button.addEventListener("click", () => show(button));
  tabs.hidden = buttons.length < 2;
  if (buttons.length) show(buttons[0]);
}

function setUpTheme() {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  try { root.dataset.theme = localStorage.getItem("dlbench-theme") || root.dataset.theme || ""; } catch { /* not allowed here */ }
  if (!root.dataset.theme) delete root.dataset.theme;
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("dlbench-theme", root.dataset.theme); } catch { /* not allowed here */ }
    redraw();
    paintChips();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { redraw(); paintChips(); });
}

function setUpContents() {
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const seen = new Set();
  const spy = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) seen.add(entry.target.id);
      else seen.delete(entry.target.id);
    }
    const first = [...links.keys()].find((id) => seen.has(id));
    for (const [id, link] of links) {
      if (id === first) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-80px 0px -55% 0px" });
  for (const id of links.keys()) {
    const section = document.getElementById(id);
    if (section) spy.observe(section);
  }
}

setUpTheme();
readTheme();
setUpFilters();
paintChips();
setUpTabs();
setUpContents();
for (const view of views) {
  view.show();
  watcher.observe(view.figure);
}
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) { width = innerWidth; redraw(); }
});
addEventListener("beforeprint", () => {
  for (const view of views) if (!view.drawn && !view.figure.hidden) view.draw();
});
// How long it took, for whoever asks.
document.documentElement.dataset.ready = String(Math.round(performance.now()));
