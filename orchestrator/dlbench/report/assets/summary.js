/* The summary: contenders by ticked workloads, against the chosen baseline, as wide as there is room. */
import { cellOf, togetherOf } from "./cells.js";
import { colour } from "./colours.js";
import { metricOf, metrics } from "./comparisons.js";
import { textWidth } from "./drawing.js";
import { choose, el, page, refocus, roomOf, state, unique } from "./page.js";

const NAMES = 230;
const COLUMN = 118;
const WIDEST = 190;
const SPACING = 2;

/** What stands in the columns: the ticked cases, or all metrics of the only one. */
function columns() {
  const cases = [...state.cases].sort((a, b) => a - b);
  if (cases.length === 1) {
    return metrics.map((metric) => ({ metric, case: cases[0], title: metric.title, under: page.cases[cases[0]].around }));
  }
  const metric = metricOf(state.metric);
  return cases.map((own) => ({ metric, case: own, title: page.cases[own].name, under: page.cases[own].around }));
}

/** The rows in the chosen order; the baseline always first. */
function rows(every, whole) {
  const shown = page.contenders.map((contender, i) => i).filter((i) => state.contenders.has(i) || i === state.baseline);
  const made = shown.map((contender) => {
    const cells = every.map((column) => cellOf(column.metric, column.case, contender));
    return { contender, cells, together: whole ? togetherOf(every[0].metric, cells) : null };
  });
  if (state.order === "best" && whole) {
    const rank = (row) => row.together.rank ?? Infinity;
    made.sort((a, b) => rank(a) - rank(b) || a.contender - b.contender);
  }
  return made.sort((a, b) => (b.contender === state.baseline) - (a.contender === state.baseline));
}

function drawCell(cell) {
  const parts = [el("b", { text: cell.main })];
  for (const text of cell.details) if (text) parts.push(el("small", { text }));
  if (cell.lost) parts.push(el("small", { class: "lost", text: cell.lost }));
  if (cell.marks?.length) parts.push(el("small", { class: "marks", text: cell.marks.join(", ") }));
  if (cell.group === undefined) return el("td", { class: cell.kind }, ...parts);
  return el("td", { class: cell.kind }, el("a", { href: "#trials-" + cell.group }, ...parts));
}

function drawTogether(whole) {
  return el("td", { class: "together " + whole.kind }, el("b", { text: whole.main }),
    ...whole.words.map((text) => el("small", { text })), ...(whole.lost ? [el("small", { class: "lost", text: whole.lost })] : []));
}

/** One table of some of the columns; the first has the column over all of them. */
function table(some, start, made, whole, widths) {
  const around = unique(some.map(({ under }) => under));
  const alike = around.length === 1 ? around[0] : "";
  const head = el("tr", {}, el("th", { scope: "col", text: "Contender" }));
  if (whole && start === 0) head.append(el("th", { scope: "col" }, "Together", el("small", { text: `over ${state.cases.size} columns` })));
  for (const { title, under } of some) head.append(el("th", { scope: "col" }, title, ...(under && !alike ? [el("small", { text: under })] : [])));
  const group = el("colgroup", {});
  for (let i = 0; i < head.children.length; i++) {
    const column = el("col", {});
    column.style.width = (i ? widths.column : widths.names) + "px";
    group.append(column);
  }
  const body = el("tbody", {});
  for (const row of made) {
    const { name } = page.contenders[row.contender];
    const dot = el("i", { "aria-hidden": "true" });
    dot.style.background = colour(name);
    const line = el("tr", {}, el("th", { scope: "row" }, el("div", {}, dot, el("span", { text: name }))));
    if (whole && start === 0) line.append(drawTogether(row.together));
    line.append(...row.cells.slice(start, start + some.length).map(drawCell));
    body.append(line);
  }
  const drawn = el("table", { "aria-label": `Summary, ${some[0].title} to ${some.at(-1).title}` }, group, el("thead", {}, head), body);
  const columns = head.children.length;
  drawn.style.width = widths.names + (columns - 1) * widths.column + SPACING * (columns + 1) + "px";
  if (alike) drawn.prepend(el("caption", { text: alike }));
  return el("div", { class: "matrix" }, drawn);
}

const live = document.getElementById("live");
const still = document.getElementById("still");
const controls = el("div", { class: "line" });
const note = el("p", { class: "note" });
const tables = el("div", {});

function explanation(every, whole, few) {
  if (page.contenders.length < 2) return "There is nothing to compare with. A cell leads to its trials, certificate, lock and command.";
  const against = state.baseline === null ? "the best of its column" : page.contenders[state.baseline].name;
  const [{ metric }] = every;
  const several = page.cases.length * metrics.filter(({ tested }) => tested).length;
  const parts = [`Each cell compares with ${against}; [ ] is the 95 % interval of what it stands beside, ( ) the range of single runs where these are too few for one.`];
  parts.push(metric.tested
    ? `Decided as dlbench compare decides: at most 1 in 20 campaigns makes any false claim in a column.${several > 1 ? ` There are ${several} columns, so one of them may.` : ""}`
    : "Sizes only: on this metric nothing is tested here.");
  if (whole) {
    parts.push(`Together: the ${metric.ratio ? "geometric mean of the ratios" : "mean of the differences"}, only where no workload is missing.`);
  } else if (page.cases.length > 1) parts.push(`With one workload ticked, all metrics of ${page.cases[every[0].case].name} are shown.`);
  if (few) parts.push(`Of the undecided, ${few} have too few runs.`);
  parts.push("A cell leads to its trials, certificate, lock and command.");
  return parts.join(" ");
}

function drawControls(whole) {
  const button = (text, on, changes) => el("button", { type: "button", text, "aria-pressed": String(on), onclick: () => {
    choose(changes);
    refocus(controls, text);
  } });
  const made = [];
  if (whole && metrics.length > 1) {
    made.push(el("div", { class: "tabs", role: "group", "aria-label": "Metric" },
      ...metrics.map((metric) => button(metric.title, metric === metricOf(state.metric), { metric: metric.id }))));
  }
  if (whole) {
    made.push(el("div", { class: "tabs order", role: "group", "aria-label": "Order" },
      button("by version", state.order !== "best", { order: "version" }), button("best first", state.order === "best", { order: "best" })));
  }
  controls.replaceChildren(...made);
}

/** Draw it for the room that there is. */
export function drawSummary() {
  live.hidden = false;
  still.hidden = true;
  if (!live.contains(tables)) live.append(controls, note, tables);
  if (!state.cases.size || !metrics.length) {
    controls.replaceChildren();
    note.textContent = metrics.length ? "No workload is ticked." : "No trial was completed: there is nothing to compare.";
    tables.replaceChildren();
    return;
  }
  const every = columns();
  const whole = state.cases.size > 1;
  drawControls(whole);
  const made = rows(every, whole);
  const few = made.flatMap((row) => row.cells).filter((cell) => cell.verdict?.decision === "too few runs").length;
  note.textContent = explanation(every, whole, few);
  const room = roomOf(live);
  const longest = Math.max(...page.contenders.map(({ name }) => textWidth(name)));
  const names = Math.min(NAMES, longest * 1.15 + 34, room * 0.34);
  const most = Math.max(1, Math.floor((room - names) / Math.min(COLUMN, (room - names) / 2)));
  const parts = [];
  let start = 0;
  const total = every.length + (whole ? 1 : 0);
  const size = Math.ceil(total / Math.ceil(total / most));
  const widths = { names, column: Math.min(WIDEST, Math.floor((room - names - SPACING * (size + 2)) / size)) };
  while (start < every.length) {
    const some = every.slice(start, start + size - (whole && start === 0 && size > 1 ? 1 : 0));
    parts.push(table(some, start, made, whole, widths));
    start += some.length;
  }
  tables.replaceChildren(...parts);
}
