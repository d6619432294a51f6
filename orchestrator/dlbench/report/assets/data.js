/* The data of a chart: unpacked, filtered by what is chosen, and as CSV. */
import { el, state } from "./page.js";


export function unpack(id) {
  const content = JSON.parse(document.getElementById("data-" + id).textContent);
  const names = Object.keys(content.columns);
  const columns = {};
  let length = 0;
  for (const name of names) {
    const column = content.columns[name];
    columns[name] = Array.isArray(column)
      ? column : column.rows.map((word) => (word === null ? null : column.words[word]));
    length = columns[name].length;
  }
  const row = (i) => Object.fromEntries(names.map((name) => [name, columns[name][i]]));
  return { ...content, names, columns, length, row };
}

export function visible(data, everyCase) {
  const rows = [];
  const { case: cases, framework } = data.columns;
  for (let i = 0; i < data.length; i++) {
    if (!everyCase && cases && cases[i] !== state.case) continue;
    if (state.hidden.has(framework[i])) continue;
    rows.push(data.row(i));
  }
  return rows;
}

function csv(data) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const lines = [data.names.join(",")];
  for (let i = 0; i < data.length; i++) {
    lines.push(data.names.map((name) => cell(data.columns[name][i])).join(","));
  }
  return lines.join("\r\n") + "\r\n";
}

export function download(data) {
  const url = URL.createObjectURL(new Blob([csv(data)], { type: "text/csv" }));
  const link = el("a", { href: url, download: data.file });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
