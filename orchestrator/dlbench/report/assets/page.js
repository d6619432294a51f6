/* What the page holds and what is chosen on it. Text from the campaign is only ever set as text,
   never as markup. */
export const page = JSON.parse(document.getElementById("page").textContent);

/** The positions of all items of a list. */
export const every = (list) => new Set(list.keys());
/** Contenders and cases by their positions in the page. */
export const state = {
  baseline: null, // null: the best of each column
  contenders: every(page.contenders),
  cases: every(page.cases),
  case: 0, // the one that the charts show
  metric: "",
  order: "version",
};
const same = (set, list) => set.size === list.length && list.every((item) => set.has(item));
/** Whether just what a preset has is chosen. */
export const isPreset = (preset) => same(state.contenders, preset.contenders) && same(state.cases, preset.cases);
const listeners = [];
export const onChoice = (listener) => listeners.push(listener);

/** Choose something else; everything that shows it follows. */
export function choose(changes) {
  Object.assign(state, changes);
  if (!state.cases.has(state.case) && state.cases.size) state.case = Math.min(...state.cases);
  for (const listener of listeners) listener();
}

const positions = new Map(page.contenders.map((contender, i) => [contender.name, i]));
export const position = (name) => positions.get(name);
/** Whether a contender of this name is shown; names that are not in the list always are. */
export const isShown = (name) => !positions.has(name) || state.contenders.has(positions.get(name));

export function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Buttons are made anew when one is pressed: the one of the same text has the focus again. */
export function refocus(box, text) {
  [...box.querySelectorAll("button")].find((button) => button.textContent === text)?.focus();
}

/** A table that scrolls by itself: headings are texts or cells, rows are lines of it. */
export function scrolling(label, attributes, headings, rows) {
  const cells = headings.map((text) => (typeof text === "string" ? el("th", { scope: "col", text }) : text));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", attributes, el("thead", {}, el("tr", {}, ...cells)), el("tbody", {}, ...rows)));
}

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif";
export const unique = (values) => [...new Set(values)];

const PAPER = 690;
let paper = false;
/** Paper is narrower than most windows, and the window's width is all that a script can measure. */
export const printing = (on) => { paper = on; };
/** How wide something in this element may be. */
export const roomOf = (box) => Math.min(box.clientWidth || PAPER, paper ? PAPER : Infinity);
