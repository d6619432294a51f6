/* The data of a chart: unpacked, filtered by what is chosen, and as CSV. */
import { el, isShown, page, state } from "./page.js";


/** Columns as they are packed in the file, of which each word stands there once. */
export function unpackColumns(packed) {
  const names = Object.keys(packed);
  const columns = {};
  let length = 0;
  for (const name of names) {
    const column = packed[name];
    columns[name] = Array.isArray(column)
      ? column : column.rows.map((word) => (word === null ? null : column.words[word]));
    length = columns[name].length;
  }
  const row = (i) => Object.fromEntries(names.map((name) => [name, columns[name][i]]));
  return { names, columns, length, row };
}

export function unpack(id) {
  const content = JSON.parse(document.getElementById("data-" + id).textContent);
  return { ...content, ...unpackColumns(content.columns) };
}

/** The rows of what is chosen: of the charts' case, or of every ticked one. */
export function visible(data, everyCase) {
  const rows = [];
  const { case: cases, contender } = data.columns;
  const chosen = new Set(everyCase
    ? [...state.cases].map((i) => page.cases[i].name) : [page.cases[state.case].name]);
  for (let i = 0; i < data.length; i++) {
    if (cases && !chosen.has(cases[i])) continue;
    if (!isShown(contender[i])) continue;
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
