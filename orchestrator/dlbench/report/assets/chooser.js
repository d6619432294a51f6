/* The bar that chooses: baseline, presets, workloads, contenders, and the case of the charts. */
import { frameworkColour } from "./colours.js";
import { choose, el, isPreset, page, state, unique } from "./page.js";

const bar = document.querySelector(".chooser");
const baselines = document.getElementById("baseline");
const charts = document.getElementById("case");
const presetButtons = [];
const tickBoxes = [];

function option(value, text) {
  return el("option", { value, text });
}

function setUpLists() {
  baselines.append(option("", "the best of each column"), ...page.baselines.map((i) => option(i, page.contenders[i].name)));
  baselines.addEventListener("change", () => choose({ baseline: baselines.value === "" ? null : Number(baselines.value) }));
  baselines.parentElement.hidden = page.baselines.length < 2;
  charts.append(...page.cases.map(({ name }, i) => option(i, name)));
  charts.addEventListener("change", () => choose({ case: Number(charts.value) }));
  charts.parentElement.hidden = page.cases.length < 2;
}

function setUpPresets() {
  const line = document.getElementById("presets");
  line.hidden = page.presets.length < 2;
  for (const preset of page.presets) {
    const button = el("button", { type: "button", class: "chip", text: preset.name,
      onclick: () => choose({ contenders: new Set(preset.contenders), cases: new Set(preset.cases) }) });
    presetButtons.push([button, preset]);
    line.append(button);
  }
}

/** A box to tick that stands for some members of a set of the state. */
function tick(key, members, text, attributes) {
  const box = el("input", { type: "checkbox", onchange: () => {
    const chosen = new Set(state[key]);
    for (const member of members) {
      if (box.checked) chosen.add(member);
      else chosen.delete(member);
    }
    choose({ [key]: chosen });
  } });
  tickBoxes.push([box, key, members]);
  return el("label", attributes, box, text);
}

function setUpTicks() {
  const cases = document.querySelector("#workloads .list");
  if (page.cases.length > 2) cases.append(tick("cases", [...page.cases.keys()], "all workloads", { class: "all" }));
  page.cases.forEach(({ name, around }, i) => cases.append(tick("cases", [i], name, { title: around })));
  document.getElementById("workloads").hidden = page.cases.length < 2;
  const list = document.querySelector("#contenders .list");
  if (page.contenders.length > 2) list.append(tick("contenders", [...page.contenders.keys()], "all contenders", { class: "all" }));
  for (const framework of unique(page.contenders.map((contender) => contender.framework))) {
    const own = [...page.contenders.keys()].filter((i) => page.contenders[i].framework === framework);
    const label = tick("contenders", own, framework, { class: "family" });
    const dot = el("i", { "aria-hidden": "true" });
    dot.dataset.framework = framework;
    label.append(dot);
    list.append(label);
    if (own.length > 1 || page.contenders[own[0]].name !== framework) {
      for (const i of own) list.append(tick("contenders", [i], page.contenders[i].name, { class: "member" }));
    }
  }
  document.getElementById("contenders").hidden = page.contenders.length < 2;
  for (const details of bar.querySelectorAll("details")) {
    details.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { details.open = false; details.querySelector("summary").focus(); }
    });
    document.addEventListener("click", (event) => { if (!details.contains(event.target)) details.open = false; });
  }
}

export function paintDots() {
  for (const dot of bar.querySelectorAll("i[data-framework]")) dot.style.background = frameworkColour(dot.dataset.framework);
}

/** Everything on the bar as the state has it. */
export function showChoice() {
  baselines.value = state.baseline === null ? "" : String(state.baseline);
  charts.value = String(state.case);
  for (const item of charts.options) item.hidden = !state.cases.has(Number(item.value));
  for (const [box, key, members] of tickBoxes) {
    const on = members.filter((member) => state[key].has(member)).length;
    box.checked = on === members.length;
    box.indeterminate = on > 0 && on < members.length;
  }
  for (const [button, preset] of presetButtons) button.setAttribute("aria-pressed", String(isPreset(preset)));
  const counted = (set, list, word) => `${set.size === list.length ? "all" : set.size + " of"} ${list.length} ${word}`;
  bar.querySelector("#workloads summary").textContent = counted(state.cases, page.cases, "workloads");
  bar.querySelector("#contenders summary").textContent = counted(state.contenders, page.contenders, "contenders");
}

export function setUpChooser() {
  bar.hidden = page.contenders.length < 2 && page.cases.length < 2;
  setUpLists();
  setUpPresets();
  setUpTicks();
  paintDots();
  const status = document.getElementById("said");
  document.getElementById("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      status.textContent = "The link to this choice is copied.";
    } catch {
      status.textContent = "The address of this page is the link to this choice.";
    }
  });
}
