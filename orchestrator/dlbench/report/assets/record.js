/* Where a number comes from: its trials, certificate, lock and command, beside the summary. */
import { aroundOf, said } from "./cells.js";
import { metrics, opponent, verdictOn } from "./comparisons.js";
import { unpack } from "./data.js";
import { number, withUnit } from "./numbers.js";
import { el, page, scrolling, state } from "./page.js";

const dialog = document.getElementById("record");
let trials = null;
const byGroup = new Map();

function rowsOf(group) {
  if (!trials) {
    trials = unpack("trials");
    trials.columns.group.forEach((own, i) => byGroup.set(own, [...(byGroup.get(own) ?? []), i]));
  }
  return byGroup.get(group) ?? [];
}

const shown = (value) => (value === null ? "" : typeof value === "number" && !Number.isInteger(value) ? number(value) : String(value));

/** The trials of a group as a table. */
function trialTable(group) {
  const own = rowsOf(group);
  const names = trials.names.filter((name) => name !== "group");
  const lines = own.map((i) => el("tr", { class: trials.columns.outcome[i] === "ok" ? "" : "bad" },
    ...names.map((name) => el("td", { text: shown(trials.columns[name][i]) }))));
  return scrolling("Trials", { class: "plain" }, names, lines);
}

/** Each metric of the group: its value, and the comparison that the summary shows. */
function values(which) {
  const group = page.groups[which];
  const fixed = state.baseline !== null && state.baseline !== group.contender;
  const lines = [];
  for (const metric of metrics) {
    const { middle, n } = metric.groups;
    if (middle[which] === null) continue;
    const around = aroundOf(metric, which).map((text) => " " + text).join("");
    const other = opponent(metric, which, state.baseline);
    const verdict = other === null || other === group.contender ? null : verdictOn(metric, group.case, group.contender, other);
    const words = verdict ? said(metric, verdict).join(verdict.decision === "better" || verdict.decision === "worse" ? " " : ", ") : "";
    lines.push(el("tr", {}, el("th", { scope: "row", text: metric.title }),
      el("td", { text: withUnit(middle[which], metric.unit) + around }), el("td", { text: `${metric.middle} of ${n[which]}` }),
      el("td", { text: verdict && !fixed ? `${words} (${page.contenders[other].name})` : words })));
  }
  const against = fixed ? page.contenders[state.baseline].name : "the best";
  return scrolling("Values", { class: "plain" }, ["Metric", "Value", "", "Against " + against], lines);
}

/** Open the record of a group beside the page. */
export function openRecord(which) {
  const kept = document.getElementById("trials-" + which);
  const group = page.groups[which];
  if (!kept || !group) return false;
  const close = el("button", { type: "button", class: "plain", text: "Close", onclick: () => dialog.close() });
  const parts = [...kept.children].filter((part) => part.tagName !== "SUMMARY" && !part.classList.contains("rows"));
  dialog.replaceChildren(
    el("header", {}, el("h2", { id: "record-title", text: `${page.contenders[group.contender].name} on ${page.cases[group.case].name}` }), close),
    el("p", { text: kept.querySelector(".count").textContent }),
    values(which), ...parts.map((part) => part.cloneNode(true)), el("h3", { text: "Trials" }), trialTable(which));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  return true;
}

export function setUpRecords(onClose) {
  dialog.addEventListener("close", onClose);
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  for (const kept of document.querySelectorAll("details.record")) {
    kept.addEventListener("toggle", () => {
      if (kept.open) kept.querySelector(".rows").replaceChildren(trialTable(Number(kept.id.replace("trials-", ""))));
    });
  }
}
export const closeRecord = () => { if (dialog.open) dialog.close(); };
