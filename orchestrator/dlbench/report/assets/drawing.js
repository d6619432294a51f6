/* What all drawings share: tooltips, axes, lines and words. */
import { ink } from "./colours.js";
import { brief, number } from "./numbers.js";
import { el, FONT } from "./page.js";


export function tip(title, pairs) {
  const box = el("div", { class: "tip" }, el("b", { text: title }));
  for (const [name, value] of pairs) {
    box.append(el("div", {}, el("span", { text: name }), el("span", { text: value })));
  }
  return box;
}

export const between = (row) =>
  row.low === null ? [] : [[row.interval || "interval", number(row.low) + " to " + number(row.high)]];

export function base() {
  return {
    animation: false,
    textStyle: { fontFamily: FONT, color: ink.ink },
    tooltip: {
      trigger: "item", confine: true, backgroundColor: ink.back, borderColor: ink.line, padding: [7, 11],
      textStyle: { color: ink.ink, fontSize: 13 }, extraCssText: "box-shadow: 0 2px 12px rgba(0,0,0,.18)",
    },
  };
}
export const nameStyle = () => ({ color: ink.soft, fontSize: 12 });
export const axisLabel = (extra) => ({ color: ink.soft, fontSize: 12, formatter: brief, hideOverlap: true, ...extra });
export function valueAxis(extra) {
  return {
    type: "value", axisLine: { show: false }, axisTick: { show: false },
    axisLabel: axisLabel(),
    splitLine: { showMinLine: false, showMaxLine: false, lineStyle: { color: ink.line } }, nameTextStyle: nameStyle(), ...extra,
  };
}
export function names(labels, width) {
  const longest = Math.max(...labels.map(textWidth), 30) + 16;
  const room = Math.min(longest, width * 0.4);
  return {
    room,
    axis: {
      type: "category", data: labels, inverse: true, axisTick: { show: false },
      axisLine: { lineStyle: { color: ink.line } },
      axisLabel: { color: ink.ink, fontSize: 13, interval: 0, formatter: (name) => shortened(name, room - 12) },
    },
  };
}
const pen = document.createElement("canvas").getContext("2d");
export function textWidth(text) {
  pen.font = "13px " + FONT;
  return Math.ceil(pen.measureText(text).width);
}
/** A name that fits so many pixels; its middle is left out, because names often differ at their ends. */
export function shortened(text, room) {
  let short = text;
  for (let kept = text.length - 1; kept > 4 && textWidth(short) > room; kept--) {
    short = text.slice(0, Math.ceil(kept / 2)) + "…" + text.slice(text.length - Math.floor(kept / 2));
  }
  return short;
}
/** The legend of some names, and how high it is in so wide a chart. */
export function legendOf(labels, width, extra) {
  let [rows, used] = [1, 0];
  for (const label of labels) {
    const own = Math.min(textWidth(label), width - 60) + 52;
    if (used && used + own > width) [rows, used] = [rows + 1, 0];
    used += own;
  }
  return [rows * 24 + 8, {
    data: labels, top: 0, left: 0, formatter: (label) => shortened(label, width - 60),
    textStyle: { color: ink.ink, fontSize: 12.5 }, inactiveColor: ink.line, ...extra,
  }];
}
export const line = (x1, y1, x2, y2, stroke, lineWidth) =>
  ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth }, silent: true });
/** A line between two ends with caps that reach (dx, dy) to either side. */
export const whisker = ([x1, y1], [x2, y2], [dx, dy], stroke, lineWidth, capWidth = lineWidth) => [
  line(x1, y1, x2, y2, stroke, lineWidth),
  line(x1 - dx, y1 - dy, x1 + dx, y1 + dy, stroke, capWidth), line(x2 - dx, y2 - dy, x2 + dx, y2 + dy, stroke, capWidth)];
/** The medians of some rows as a line, with whiskers from low to high; `xOf` is where a row stands. */
export function lineWithWhiskers(name, rows, xOf, shade, dash, tooltip) {
  const whiskers = rows.filter((row) => row.low !== null).map((row) => [xOf(row), row.low, row.high]);
  return [{
    name, type: "line", data: rows.map((row) => [xOf(row), row.median]), symbol: "circle", symbolSize: 7,
    lineStyle: { color: shade, width: 2, type: dash }, itemStyle: { color: shade },
    tooltip: { formatter: ({ dataIndex }) => tooltip(rows[dataIndex]) },
  }, {
    name, type: "custom", silent: true, data: whiskers, encode: { x: 0, y: [1, 2] }, itemStyle: { color: shade },
    renderItem: (params, api) => {
      const [low, high] = [1, 2].map((i) => api.coord([api.value(0), api.value(i)]));
      return { type: "group", children: whisker(low, high, [4, 0], shade, 1.6) };
    },
  }];
}
export const words = (x, y, text, fill, extra) =>
  ({ type: "text", silent: true, style: { x, y, text, fill, fontFamily: FONT, fontSize: 12.5, verticalAlign: "middle", ...extra } });

export const MOST_BARS = 60;
export function cut(view, items, most) {
  view.limit = items.length > most
    ? `The first ${most} of ${items.length} are drawn: choose contenders above. The data hold all.` : "";
  return items.slice(0, most);
}
