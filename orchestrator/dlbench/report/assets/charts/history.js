/* Lines over the releases of each framework. */
import { frameworkColour, ink } from "../colours.js";
import { visible } from "../data.js";
import { base, between, legendOf, lineWithWhiskers, shortened, textWidth, tip, valueAxis } from "../drawing.js";
import { number } from "../numbers.js";
import { unique } from "../page.js";

const LONGEST = 120;
/* pixels of a release's name below the axis, which has room for so much when it is turned */

export function history(view) {
  const { unit } = view.data.settings;
  const rows = visible(view.data);
  if (!rows.length) return null;
  const lines = unique(rows.map((row) => row.line));
  const framework = (name) => rows.find((row) => row.line === name).framework;
  const key = (row) => row.framework + " " + row.release;
  const order = unique([...rows].map(key));
  const wide = Math.max(...rows.map((row) => row.median)) / Math.min(...rows.map((row) => row.median)) > 20;
  const [high, legend] = legendOf(lines, view.width);
  const turned = Math.max(...order.map(textWidth)) * order.length > view.width - 100;
  return {
    height: 300 + high + (turned ? 70 : 0),
    option: {
      ...base(),
      legend,
      grid: { left: 58, right: 16, top: high + 8, bottom: turned ? 110 : 40 },
      xAxis: { type: "category", data: order, axisTick: { show: false }, axisLine: { lineStyle: { color: ink.line } },
        axisLabel: { color: ink.soft, fontSize: 12, rotate: turned ? 50 : 0, formatter: (name) => shortened(name, LONGEST), interval: order.length > view.width / 16 ? "auto" : 0 } },
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
