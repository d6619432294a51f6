/* What a cell of the summary says: the comparison, its interval, the value, and what weakens it. */
import { groupOf, opponent, unranked, verdictOn } from "./comparisons.js";
import { plain, together, withUnit } from "./numbers.js";
import { page, state } from "./page.js";

const SHADES = 8;
const DARKEST = 4;
const TOLD = { better: "better", worse: "worse" };

const wordOf = (metric, decision) =>
  metric[TOLD[decision]] ?? (decision === "equivalent" ? decision : metric.tested ? "undecided" : "not tested");

/** An interval, or the range of runs that are too few for one. */
const span = (low, high, range) => (range ? `(${low} to ${high})` : `[${low}, ${high}]`);
/** That of a group's value, in a list; empty: it has none. */
export function aroundOf({ groups: { low, high, range }, unit }, i) {
  return low[i] === null ? [] : [span(plain(low[i], unit), plain(high[i], unit), range[i])];
}

/** `1.22× slower` and `[1.21, 1.24]`; `undecided` and `1.03× [0.97, 1.10]`. */
export function said(metric, verdict) {
  // Where failed runs decided, the size is that of the others.
  const decided = verdict.decision in TOLD && !verdict.lost;
  const word = wordOf(metric, verdict.decision);
  let values = [verdict.estimate, verdict.low, verdict.high];
  if (verdict.estimate === null) return [word, ""];
  if (metric.ratio && decided && verdict.estimate < 1) {
    values = [1 / verdict.estimate, verdict.high === null ? null : 1 / verdict.high, verdict.low === null ? null : 1 / verdict.low];
  }
  const texts = verdict.low === null ? [values[0].toFixed(2)] : together(values);
  const sign = !metric.ratio && verdict.estimate > 0 ? "+" : "";
  const size = sign + texts[0] + (metric.ratio ? "×" : metric.unit === "%" ? " pp" : "");
  const around = texts.length > 1 ? span(texts[1], texts[2], verdict.range) : "";
  if (decided) return [`${size} ${word}`, around];
  return [word, `${size} ${around}`.trim() + (verdict.lost ? " of those that finished" : "")];
}

/** How dark a cell is: how far what is shown to be better or worse is from the baseline. */
function shade(metric, verdict) {
  if (!(verdict.decision in TOLD)) return "undecided";
  const size = Math.abs(verdict.estimate ?? (metric.ratio ? 1 : 0));
  const share = metric.ratio ? Math.abs(Math.log(size)) / Math.log(DARKEST) : metric.unit === "%" ? size / 10 : 1 / SHADES;
  return verdict.decision + Math.min(SHADES, Math.max(1, Math.round(share * SHADES)));
}

/** One contender in one case on one metric: {kind, main, details, lost, marks, group, verdict}. */
export function cellOf(metric, caseNumber, contender) {
  const number = groupOf(caseNumber, contender);
  if (number === undefined) return { kind: "empty", main: "not run", details: [] };
  const group = page.groups[number];
  const cell = { group: number, lost: group.failed, marks: metric.weakened ? group.marks : [], details: [] };
  if (!group.complete) return { ...cell, kind: "failed", main: "failed", details: [group.outcomes], lost: "" };
  const { middle } = metric.groups;
  if (middle[number] === null) return { ...cell, kind: "empty", main: "–", details: ["no " + metric.title.toLowerCase()] };
  const value = withUnit(middle[number], metric.unit);
  if (group.proof !== "yes") {
    return { ...cell, kind: "apart", main: unranked(group.proof), details: [value] };
  }
  const other = opponent(metric, number, state.baseline);
  if (other === contender) {
    const [kind, word] = state.baseline !== null ? ["best", "baseline"] : standing(metric, caseNumber, contender);
    return { ...cell, kind, word, main: value, details: [...aroundOf(metric, number), word] };
  }
  const verdict = other === null ? null : verdictOn(metric, caseNumber, contender, other);
  if (verdict === null) return { ...cell, kind: "apart", main: value, details: [missing(metric, caseNumber)] };
  const [main, interval] = said(metric, verdict);
  return { ...cell, kind: shade(metric, verdict), main, details: [interval, value], verdict };
}

/** The first of a column: shown to be better than any other, ahead of others or level with one, or alone. */
function standing(metric, caseNumber, contender) {
  const verdicts = page.contenders.map((_, other) => (other === contender ? null : verdictOn(metric, caseNumber, other, contender)));
  const rivals = verdicts.filter((verdict) => verdict !== null && verdict.decision !== "not comparable");
  if (!rivals.length) return ["alone", "no rival"];
  if (rivals.some(({ decision }) => decision === "worse")) return ["best", "best"];
  const { best, level } = metric.groups;
  const equal = page.groups.some((group, which) => group.case === caseNumber && level[which] && best[which] === contender);
  return ["ahead", equal ? "equal best so far" : "best so far"];
}

/** Why a cell has nothing to be compared with. */
function missing(metric, caseNumber) {
  if (state.baseline === null) return "not comparable";
  const number = groupOf(caseNumber, state.baseline);
  if (number === undefined) return "baseline not run";
  const group = page.groups[number];
  if (!group.complete) return "baseline failed";
  if (group.proof !== "yes") return group.proof === "altered" ? "baseline altered on purpose" : "baseline not certified";
  return metric.groups.middle[number] === null ? "baseline has none" : "not comparable";
}

/** A contender over all ticked cases: the mean of its ratios, unless one of them is missing. */
export function togetherOf(metric, cells) {
  const tally = new Map();
  const estimates = [];
  let [runs, failed] = [0, 0];
  for (const cell of cells) {
    const group = page.groups[cell.group];
    runs += group?.trials ?? 0;
    failed += group ? group.trials - group.complete : 0;
    if (["best", "ahead", "alone"].includes(cell.kind)) estimates.push(metric.ratio ? 1 : 0);
    else if (cell.verdict && cell.verdict.estimate !== null) estimates.push(cell.verdict.estimate);
    const word = cell.verdict ? wordOf(metric, cell.verdict.decision)
      : cell.word ?? { failed: "failed", empty: "missing" }[cell.kind] ?? "not comparable";
    tally.set(word, (tally.get(word) ?? 0) + 1);
  }
  const whole = { words: [...tally].map(([word, n]) => `${word} ${n}`), lost: failed ? `${failed} of ${runs} runs failed` : "" };
  if (estimates.length < cells.length) return { ...whole, kind: "apart", main: `${estimates.length} of ${cells.length}`, rank: null };
  const sum = estimates.reduce((all, value) => all + (metric.ratio ? Math.log(value) : value), 0) / estimates.length;
  const mean = metric.ratio ? Math.exp(sum) : sum;
  const main = metric.ratio ? `${mean.toFixed(2)}×` : (mean > 0 ? "+" : "") + mean.toFixed(2) + (metric.unit === "%" ? " pp" : "");
  return { ...whole, kind: "mean", main, rank: metric.less ? mean : -mean };
}
