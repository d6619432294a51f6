/* Lines over the releases of each framework. */
import { frameworkColour, ink } from "../colours.js";
import { visible } from "../data.js";
import { base, between, lineWithWhiskers, textWidth, tip, valueAxis } from "../drawing.js";
import { number } from "../numbers.js";
import { unique } from "../page.js";

export function history(view) {
  const { unit } = view.data.settings;
  const rows = visible(view.data);
  if (!rows.length) return null;
  const lines = unique(rows.map((row) => row.line));
  const framework = (name) => rows.find((row) => row.line === name).framework;
  const key = (row) => row.framework + " " + row.release;
  const order = unique([...rows].map(key));
  const wide = Math.max(...rows.map((row) => row.median)) / Math.min(...rows.map((row) => row.median)) > 20;
  const legend = Math.ceil(lines.length / Math.max(1, Math.floor(view.width / 150))) * 24 + 8;
  const turned = Math.max(...order.map(textWidth)) * order.length > view.width - 100;
  return {
    height: 300 + legend + (turned ? 70 : 0),
    option: {
      ...base(),
      legend: { data: lines, top: 0, left: 0, textStyle: { color: ink.ink, fontSize: 12.5 }, inactiveColor: ink.line },
      grid: { left: 58, right: 16, top: legend + 8, bottom: turned ? 110 : 40 },
      xAxis: { type: "category", data: order, axisTick: { show: false }, axisLine: { lineStyle: { color: ink.line } },
        axisLabel: { color: ink.soft, fontSize: 12, rotate: turned ? 50 : 0, interval: order.length > view.width / 16 ? "auto" : 0 } },
      yAxis: valueAxis({ type: wide ? "log" : "value", name: "training time, " + unit + (wide ? " (log scale)" : ""), nameLocation: "middle", nameGap: 40 }),
      series: lines.flatMap((name) => {
        const own = rows.filter((row) => row.line === name);
        const shade = frameworkColour(framework(name));
        return lineWithWhiskers(name, own, key, shade, name === framework(name) ? "solid" : "dashed", (row) =>
          tip(name + " " + row.release, [["median", number(row.median) + " " + unit], ...between(row), ["trials", row.n]]));
      }),
    },
  };
}
