/* Colours of contenders and phases in the light and in the dark theme. */
import { page, position } from "./page.js";


const PHASES = {
  import: ["#8c8c8c", "#9a9a9a"], load: ["#a58d6f", "#b59d7f"], build: ["#b5588f", "#d68cb8"],
  "first-step": ["#d1500a", "#ff9457"], "warm-up": ["#d9a300", "#edb83d"],
  train: ["#0068ab", "#56abe8"], evaluate: ["#00855f", "#3fc79c"], save: ["#6a3d9a", "#b796e0"],
};
const UNKNOWN = ["#777777", "#999999"];
const DASHES = ["solid", [6, 3], [2, 3], [9, 3, 2, 3], [1, 2], [12, 4]];

export let dark = false;
export let ink = {};
export function readTheme() {
  const css = getComputedStyle(document.documentElement);
  const of = (name) => css.getPropertyValue("--" + name).trim();
  ink = { back: of("back"), panel: of("panel"), ink: of("ink"), soft: of("soft"), line: of("line"),
          dark: of("worse8"), light: of("back"), bad: of("bad") };
  const chosen = document.documentElement.dataset.theme;
  dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
const pick = (pair) => pair[dark ? 1 : 0];
export const phaseColour = (phase) => pick(Object.hasOwn(PHASES, phase) ? PHASES[phase] : UNKNOWN);

/** A contender's own shade of its framework's colour. */
export const colour = (name) => pick(page.contenders[position(name)]?.colours ?? UNKNOWN);

/** A framework's colour is that of its newest release. */
export function frameworkColour(framework) {
  return pick(page.contenders.findLast((contender) => contender.framework === framework)?.colours ?? UNKNOWN);
}

/** A contender's dash: lines of one framework differ in shade and dash. */
export const dashes = new Map();
const seen = new Map();
for (const { name, framework } of page.contenders) {
  const turn = seen.get(framework) ?? 0;
  dashes.set(name, DASHES[turn % DASHES.length]);
  seen.set(framework, turn + 1);
}
