/* One chart on the page: its controls, its drawing, its table. */
import { unpack } from "./data.js";
import { fillTable } from "./data_table.js";
import { drawings } from "./drawings.js";
import { el, page, refocus, roomOf, state } from "./page.js";


export class View {
  constructor(figure) {
    this.figure = figure;
    this.box = figure.querySelector(".drawing");
    this.controls = figure.querySelector(".controls");
    this.title = figure.querySelector("h3").textContent;
    this.cases = figure.dataset.cases.split(" ");
    this.everyCase = figure.classList.contains("lead");
    this.drawn = false;
    this.chosen = {};
    figure.querySelector("details.data").addEventListener("toggle", (event) => {
      if (event.target.open) { this.load(); fillTable(this); }
    });
  }

  /** Charts that have nothing of the chosen case are not there at all. */
  show() {
    this.figure.hidden = !this.everyCase && !this.cases.includes(String(state.case));
    const { name, around } = page.cases[state.case];
    const several = page.cases.length > 1 ? name + ": " : "";
    if (!this.everyCase) this.figure.querySelector(".around").textContent = around && `${several}${around}.`;
  }

  load() {
    this.data ||= unpack(this.figure.dataset.chart);
  }

  /** A row of buttons of which one is on. */
  choice(name, options, first) {
    if (!options.includes(this.chosen[name])) this.chosen[name] = first;
    for (const option of options.length > 1 ? options : []) {
      this.fresh.push(el("button", {
        type: "button", text: option, "aria-pressed": String(option === this.chosen[name]),
        onclick: () => { this.chosen[name] = option; this.draw(); refocus(this.controls, option); },
      }));
    }
    return this.chosen[name];
  }

  select(name, options) {
    if (!options.includes(this.chosen[name])) this.chosen[name] = options[0];
    if (options.length > 1) {
      const list = el("select", { "aria-label": name });
      for (const option of options) list.append(el("option", { text: option, value: option }));
      list.value = this.chosen[name];
      list.addEventListener("change", () => {
        this.chosen[name] = list.value;
        this.draw();
        this.controls.querySelector("select").focus();
      });
      this.fresh.push(list);
    }
    return this.chosen[name];
  }

  legend(entries) {
    const list = el("div", { class: "legend" });
    for (const [text, fill] of entries) {
      const swatch = el("i", {});
      swatch.style.background = fill;
      list.append(el("span", {}, swatch, text));
    }
    this.fresh.push(list);
  }

  draw() {
    this.load();
    this.drawn = true;
    this.limit = "";
    this.fresh = [];
    this.width = roomOf(this.box);
    const made = drawings[this.data.drawing](this);
    this.controls.replaceChildren(...this.fresh);
    this.figure.querySelector(".limit").textContent = made ? this.limit : "Nothing to show for what is chosen above.";
    if (!made) {
      this.box.style.height = "0px";
      this.chart?.dispose();
      this.chart = null;
      return;
    }
    this.box.style.height = made.height + "px";
    if (!this.chart) this.chart = echarts.init(this.box, null, { renderer: "svg", width: this.width, height: made.height });
    else this.chart.resize({ width: this.width, height: made.height });
    this.chart.setOption(made.option, { notMerge: true });
    if (this.figure.querySelector("details.data").open) fillTable(this);
  }
}
