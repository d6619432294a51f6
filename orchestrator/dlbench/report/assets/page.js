/* What the page holds and what is chosen on it. Text from the campaign is only ever set as text,
   never as markup. */
export const page = JSON.parse(document.getElementById("page").textContent);

const numbers = (list) => new Set(list.keys());
/** Contenders and cases by their positions in the page. */
export const state = {
  baseline: null, // null: the best of each column
  contenders: numbers(page.contenders),
  cases: numbers(page.cases),
  case: 0, // the one that the charts show
  metric: "",
  order: "version",
};
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

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif";
export const unique = (values) => [...new Set(values)];

const PAPER = 690;
let paper = false;
/** Paper is narrower than most windows, and the window's width is all that a script can measure. */
export const printing = (on) => { paper = on; };
/** How wide something in this element may be. */
export const roomOf = (box) => Math.min(box.clientWidth || PAPER, paper ? PAPER : Infinity);
