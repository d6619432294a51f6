/* The verdicts of the analysis, looked up and turned round. Nothing is decided here. */
import { unpackColumns } from "./data.js";
import { page } from "./page.js";

export const metrics = [...document.querySelectorAll("script.metric")].map((script) => {
  const metric = JSON.parse(script.textContent);
  metric.groups = unpackColumns(metric.groups).columns;
  metric.pairs = unpackColumns(metric.pairs).columns;
  return metric;
});
/** Why a contender is never ranked, by what its proof came to. */
export const unranked = (proof) => ({ no: "not certified", altered: "altered on purpose" })[proof] ?? "proof not made";
export const metricOf = (id) => metrics.find((metric) => metric.id === id) ?? metrics[0];

const many = page.contenders.length;
const groups = new Map(page.groups.map((group, i) => [group.case * many + group.contender, i]));
/** Where the trials of a contender in a case stand in the list of groups; undefined: not run. */
export const groupOf = (caseNumber, contender) => groups.get(caseNumber * many + contender);

const found = new Map();
function pairsOf(metric) {
  if (!found.has(metric)) {
    const { case: cases, first, second } = metric.pairs;
    found.set(metric, new Map((cases ?? []).map((own, i) => [(own * many + first[i]) * many + second[i], i])));
  }
  return found.get(metric);
}

const TURNED = { better: "worse", worse: "better" };
/** What was decided of a contender against another; null: they were not compared. */
export function verdictOn(metric, caseNumber, contender, other) {
  const pairs = pairsOf(metric);
  const { decision, estimate, low, high, range, lost } = metric.pairs;
  const i = pairs.get((caseNumber * many + contender) * many + other);
  if (i !== undefined) {
    return { decision: decision[i], estimate: estimate[i], low: low[i], high: high[i], range: range[i], lost: lost[i] };
  }
  const j = pairs.get((caseNumber * many + other) * many + contender);
  if (j === undefined) return null;
  const turn = (value) => (value === null ? null : metric.ratio ? 1 / value : -value);
  return { decision: TURNED[decision[j]] ?? decision[j], estimate: turn(estimate[j]), low: turn(high[j]), high: turn(low[j]), range: range[j], lost: lost[j] };
}

/** Whom a contender is compared with: the chosen baseline, or the best that it may be compared with. */
export function opponent(metric, group, baseline) {
  return baseline ?? metric.groups.best[group];
}
