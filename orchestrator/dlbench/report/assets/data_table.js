/* The table under a chart, with its download. */
import { download, visible } from "./data.js";
import { el, scrolling } from "./page.js";

const MOST_ROWS = 300;
export function fillTable(view) {
  const { data } = view;
  const box = view.figure.querySelector(".rows");
  const rows = visible(data, view.everyCase);
  const kind = Object.fromEntries(data.names.map((name) =>
    [name, typeof data.columns[name].find((value) => value !== null) === "number" ? "number" : ""]));
  const head = data.names.map((name) => el("th", { scope: "col", text: name, class: kind[name] }));
  const lines = rows.slice(0, MOST_ROWS).map((row) =>
    el("tr", {}, ...data.names.map((name) => el("td", { text: row[name] ?? "", class: kind[name] }))));
  const shown = Math.min(rows.length, MOST_ROWS);
  const count = shown < data.length ? `${shown.toLocaleString("en")} of ${data.length.toLocaleString("en")} rows; the CSV holds all.` : "";
  box.replaceChildren(
    el("button", { type: "button", class: "plain", text: "Download CSV", onclick: () => download(data) }),
    el("span", { class: "note", text: " " + count }),
    scrolling("Data of " + view.title, {}, head, lines));
}
