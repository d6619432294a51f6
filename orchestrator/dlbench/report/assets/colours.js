/* Colours of frameworks and phases in the light and in the dark theme. */
import { page } from "./page.js";


const FRAMEWORKS = {
  pytorch: ["#d1500a", "#ff9457"], tensorflow: ["#0068ab", "#56abe8"], keras: ["#b5588f", "#e29cc5"],
  mxnet: ["#3a93bd", "#8fd0ee"], theano: ["#00855f", "#3fc79c"], chainer: ["#b37d00", "#edb83d"],
  jax: ["#6a3d9a", "#b796e0"], numpy: ["#6b6b6b", "#b0b0b0"],
};
const OTHERS = [["#7a6a00", "#d6c64a"], ["#8a3324", "#e58b78"], ["#2f6f6f", "#7cc4c4"]];
const PHASES = {
  import: ["#8c8c8c", "#9a9a9a"], load: ["#a58d6f", "#b59d7f"], build: ["#b5588f", "#d68cb8"],
  "first-step": ["#d1500a", "#ff9457"], "warm-up": ["#d9a300", "#edb83d"],
  train: ["#0068ab", "#56abe8"], evaluate: ["#00855f", "#3fc79c"], save: ["#6a3d9a", "#b796e0"],
};
const DASHES = ["solid", [6, 3], [2, 3], [9, 3, 2, 3], [1, 2], [12, 4]];

export let dark = false;
export let ink = {};
export function readTheme() {
  const css = getComputedStyle(document.documentElement);
  const of = (name) => css.getPropertyValue("--" + name).trim();
  ink = { back: of("back"), panel: of("panel"), ink: of("ink"), soft: of("soft"), line: of("line"),
          dark: of("shade8"), light: of("shade0") };
  const chosen = document.documentElement.dataset.theme;
  dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
const pick = (pair) => pair[dark ? 1 : 0];
export function colour(framework) {
  const rest = page.frameworks.filter((name) => !Object.hasOwn(FRAMEWORKS, name));
  return pick(Object.hasOwn(FRAMEWORKS, framework)
    ? FRAMEWORKS[framework] : OTHERS[Math.max(0, rest.indexOf(framework)) % OTHERS.length]);
}
export const phaseColour = (phase) =>
  pick(Object.hasOwn(PHASES, phase) ? PHASES[phase] : ["#777777", "#999999"]);

/** A contender's dash: releases of one framework share its colour and differ in their dash. */
export const dashes = new Map();
for (const framework of page.frameworks) {
  page.contenders.filter(([, f]) => f === framework)
    .forEach(([name], i) => dashes.set(name, DASHES[i % DASHES.length]));
}
