/* The table under a chart, with its download. */
import { download, visible } from "./data.js";
import { el } from "./page.js";

const MOST_ROWS = 300;
export function fillTable(view) {
  const { data } = view;
  const box = view.figure.querySelector(".rows");
  const rows = visible(data, view.everyCase);
  const head = el("tr", {});
  const isNumber = {};
  for (const name of data.names) {
    isNumber[name] = Array.isArray(data.columns[name]) && typeof data.columns[name].find((v) => v !== null) === "number";
    head.append(el("th", { scope: "col", text: name, class: isNumber[name] ? "number" : "" }));
  }
  const body = el("tbody", {});
  for (const row of rows.slice(0, MOST_ROWS)) {
    const line = el("tr", {});
    for (const name of data.names) {
      const value = row[name];
      line.append(el("td", {
        text: value === null ? "" : isNumber[name] ? String(value) : value,
        class: isNumber[name] ? "number" : "",
      }));
    }
    body.append(line);
  }
  const shown = Math.min(rows.length, MOST_ROWS);
  const count = shown < data.length ? `${shown.toLocaleString("en")} of ${data.length.toLocaleString("en")} rows; the CSV holds all.` : "";
  box.replaceChildren(
    el("button", { type: "button", class: "plain", text: "Download CSV", onclick: () => download(data) }),
    el("span", { class: "note", text: " " + count }),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Data of " + view.title },
      el("table", {}, el("thead", {}, head), body)));
}
