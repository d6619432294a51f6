/* What is chosen, in the address: a link shows what its sender saw. */
import { metrics } from "./comparisons.js";
import { every, isPreset, page, state } from "./page.js";

const namesOf = (set, list) => [...set].sort((a, b) => a - b).map((i) => list[i].name);

/** The part of the address after `#`; `at` is where on the page. */
export function written(at) {
  const said = new URLSearchParams();
  if (state.baseline !== null) said.set("baseline", page.contenders[state.baseline].name);
  if (metrics.length && state.metric && state.metric !== metrics[0].id) said.set("metric", state.metric);
  if (state.order !== "version") said.set("order", state.order);
  const preset = page.presets.findIndex(isPreset);
  if (preset > 0) said.set("preset", page.presets[preset].name);
  if (preset < 0) {
    if (state.cases.size < page.cases.length) for (const name of namesOf(state.cases, page.cases)) said.append("workload", name);
    if (state.contenders.size < page.contenders.length) for (const name of namesOf(state.contenders, page.contenders)) said.append("contender", name);
  }
  const first = state.cases.size ? Math.min(...state.cases) : 0;
  if (state.case !== first) said.set("charts", page.cases[state.case].name);
  if (!said.size) return at;
  if (at) said.set("at", at);
  return said.toString();
}

/** {changes, at, unknown}: what an address chooses, and what it names that is not here. */
export function readAddress(hash) {
  const text = hash.replace(/^#/, "");
  const changes = { baseline: null, contenders: every(page.contenders), cases: every(page.cases), case: 0, metric: metrics[0]?.id ?? "", order: "version" };
  if (!text.includes("=")) return { changes, at: text, unknown: [] };
  const said = new URLSearchParams(text);
  const unknown = [];
  const find = (list, name) => {
    const i = list.findIndex((item) => item.name === name);
    if (i < 0) unknown.push(name);
    return i;
  };
  const chosen = (key, list) => new Set(said.getAll(key).map((name) => find(list, name)).filter((i) => i >= 0));
  if (said.has("preset")) {
    const i = find(page.presets, said.get("preset"));
    if (i >= 0) {
      changes.contenders = new Set(page.presets[i].contenders);
      changes.cases = new Set(page.presets[i].cases);
    }
  }
  if (said.has("workload")) changes.cases = chosen("workload", page.cases);
  if (said.has("contender")) changes.contenders = chosen("contender", page.contenders);
  if (!changes.cases.size) changes.cases = every(page.cases);
  if (!changes.contenders.size) changes.contenders = every(page.contenders);
  if (said.has("baseline")) {
    const i = find(page.contenders, said.get("baseline"));
    if (i >= 0 && page.baselines.includes(i)) changes.baseline = i;
  }
  if (metrics.some((metric) => metric.id === said.get("metric"))) changes.metric = said.get("metric");
  if (said.get("order") === "best") changes.order = "best";
  const charts = said.has("charts") ? find(page.cases, said.get("charts")) : -1;
  changes.case = changes.cases.has(charts) ? charts : Math.min(...changes.cases);
  return { changes, at: said.get("at") ?? "", unknown };
}
