/* Starts the page. What is in sight is drawn first, the rest as soon as there is time: also what is
   never scrolled to, for pictures and for paper. */
import { paintDots, setUpChooser, showChoice } from "./chooser.js";
import { dark, readTheme } from "./colours.js";
import { onChoice, printing } from "./page.js";
import { follow, leaveRecord, rememberChoice, setUpPlaces } from "./places.js";
import { setUpRecords } from "./record.js";
import { drawSummary } from "./summary.js";
import { View } from "./view.js";

const views = [...document.querySelectorAll("figure.chart")].map((figure) => new View(figure));
const waiting = () => views.find((view) => !view.drawn && !view.figure.hidden);
let asked = false;

/** One chart after the other, with time for the reader in between. */
function drawRest() {
  if (asked) return;
  asked = true;
  setTimeout(() => {
    asked = false;
    const next = waiting();
    if (next) {
      next.draw();
      drawRest();
    }
  });
}

function redraw() {
  for (const view of views) {
    view.drawn = false;
    view.show();
    const { top, bottom } = view.figure.getBoundingClientRect();
    if (!view.figure.hidden && bottom > -200 && top < innerHeight + 200) view.draw();
  }
  drawRest();
}

function everything() {
  readTheme();
  const bar = document.querySelector(".chooser");
  const held = getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0;
  document.documentElement.style.scrollPaddingTop = held + 12 + "px";
  drawSummary();
  redraw();
}

function setUpTheme() {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const again = () => { everything(); paintDots(); };
  try { root.dataset.theme = localStorage.getItem("dlbench-theme") || root.dataset.theme || ""; } catch { /* not allowed here */ }
  if (!root.dataset.theme) delete root.dataset.theme;
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("dlbench-theme", root.dataset.theme); } catch { /* not allowed here */ }
    again();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
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

/** All of a sheet of paper is seen, so everything is drawn before it is printed. */
function setUpPaper() {
  const root = document.documentElement;
  let theme;
  let printed = false;
  const print = (on) => {
    if (on === printed) return;
    printed = on;
    // Ink on paper is dark, whatever the screen's theme.
    if (on) theme = root.dataset.theme;
    if (on || theme) root.dataset.theme = on ? "light" : theme;
    else delete root.dataset.theme;
    printing(on);
    everything();
    for (const view of views) if (on && !view.drawn && !view.figure.hidden) view.draw();
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("print").addEventListener("change", ({ matches }) => print(matches));
}

setUpTheme();
readTheme();
setUpChooser();
setUpContents();
setUpPaper();
setUpRecords(leaveRecord);
setUpPlaces();
onChoice(showChoice);
onChoice(everything);
follow();
onChoice(rememberChoice);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) { width = innerWidth; everything(); }
});
// How long it took, for whoever asks.
document.documentElement.dataset.ready = String(Math.round(performance.now()));
