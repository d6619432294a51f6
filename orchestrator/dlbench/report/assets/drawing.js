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

export const between = (row, low, high) =>
  row[low] === null ? [] : [[row.interval || "interval", number(row[low]) + " to " + number(row[high])]];

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
export function valueAxis(extra) {
  return {
    type: "value", axisLine: { show: false }, axisTick: { show: false },
    axisLabel: { color: ink.soft, fontSize: 12, formatter: brief, hideOverlap: true },
    splitLine: { showMinLine: false, showMaxLine: false, lineStyle: { color: ink.line } }, nameTextStyle: nameStyle(), ...extra,
  };
}
export function names(labels, width, extra) {
  const longest = Math.max(...labels.map(textWidth), 30) + 16;
  const room = Math.min(longest, width * 0.4);
  return {
    room,
    axis: {
      type: "category", data: labels, inverse: true, axisTick: { show: false },
      axisLine: { lineStyle: { color: ink.line } },
      axisLabel: { color: ink.ink, fontSize: 13, interval: 0, width: room - 12, overflow: "truncate" },
      ...extra,
    },
  };
}
const pen = document.createElement("canvas").getContext("2d");
export function textWidth(text) {
  pen.font = "13px " + FONT;
  return Math.ceil(pen.measureText(text).width);
}
export const line = (x1, y1, x2, y2, stroke, lineWidth) =>
  ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth }, silent: true });
export const words = (x, y, text, fill, extra) =>
  ({ type: "text", silent: true, style: { x, y, text, fill, fontFamily: FONT, fontSize: 12.5, verticalAlign: "middle", ...extra } });

export const MOST_BARS = 60;
export function cut(view, items, most) {
  view.limit = items.length > most
    ? `The first ${most} of ${items.length} are drawn: choose contenders above. The data hold all.` : "";
  return items.slice(0, most);
}
