/* Lines over the releases of each framework. */
import { frameworkColour, ink } from "../colours.js";
import { visible } from "../data.js";
import { base, between, line, textWidth, tip, valueAxis } from "../drawing.js";
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
        return [{
          name, type: "line", data: own.map((row) => [key(row), row.median]), symbol: "circle", symbolSize: 7,
          lineStyle: { color: shade, width: 2, type: name === framework(name) ? "solid" : "dashed" }, itemStyle: { color: shade },
          tooltip: { formatter: ({ dataIndex }) => {
            const row = own[dataIndex];
            return tip(name + " " + row.release, [["median", number(row.median) + " " + unit], ...between(row, "low", "high"), ["trials", row.n]]);
          } },
        }, {
          name, type: "custom", silent: true, data: own.filter((row) => row.low !== null).map((row) => [key(row), row.low, row.high]), encode: { x: 0, y: [1, 2] },
          renderItem: (params, api) => {
            const [x, y1] = api.coord([api.value(0), api.value(1)]);
            const y2 = api.coord([api.value(0), api.value(2)])[1];
            return { type: "group", children: [line(x, y1, x, y2, shade, 1.6), line(x - 4, y1, x + 4, y1, shade, 1.6), line(x - 4, y2, x + 4, y2, shade, 1.6)] };
          },
        }];
      }),
    },
  };
}
