/* Boxes: how steps scatter. */
import { colour, ink } from "../colours.js";
import { visible } from "../data.js";
import { axisLabel, base, cut, line, MOST_BARS, names, tip, valueAxis } from "../drawing.js";
import { brief, number } from "../numbers.js";

export function boxes(view) {
  const { unit } = view.data.settings;
  const rows = cut(view, visible(view.data).sort((a, b) => a.p50 - b.p50), MOST_BARS);
  if (!rows.length) return null;
  const { room, axis } = names(rows.map((row) => row.contender), view.width);
  const low = Math.min(...rows.map((row) => row.p05));
  const high = Math.max(...rows.map((row) => row.p99));
  const log = low > 0 && high / low > 20;
  return {
    height: rows.length * 34 + 52,
    option: {
      ...base(),
      grid: { left: room, right: 20, top: 6, bottom: 34 },
      yAxis: axis,
      xAxis: valueAxis({ type: log ? "log" : "value", min: log ? low * 0.8 : 0, max: high * 1.05,
        axisLabel: axisLabel({ showMaxLabel: false, showMinLabel: !log, formatter: (v) => brief(v) + " " + unit }) }),
      series: [{
        type: "custom", data: rows.map((row, i) => [row.p50, i, row.p05, row.p99]), encode: { x: [0, 2, 3], y: 1 },
        renderItem: (params, api) => {
          const row = rows[params.dataIndex];
          const fill = colour(row.contender);
          const at = (value) => api.coord([value, params.dataIndex])[0];
          const y = api.coord([row.p50, params.dataIndex])[1];
          return { type: "group", children: [
            line(at(row.p05), y, at(row.p95), y, fill, 2),
            { type: "rect", shape: { x: at(row.p25), y: y - 8, width: Math.max(2, at(row.p75) - at(row.p25)), height: 16, r: 2 }, style: { fill, opacity: 0.85 } },
            line(at(row.p50), y - 10, at(row.p50), y + 10, ink.ink, 2.5),
            { type: "circle", shape: { cx: at(row.p99), cy: y, r: 3 }, style: { fill: "none", stroke: fill, lineWidth: 1.5 } },
            { type: "rect", shape: { x: at(row.p05), y: y - 14, width: Math.max(4, at(row.p99) - at(row.p05)), height: 28 }, style: { fill: "transparent" } },
          ] };
        },
        tooltip: { formatter: ({ dataIndex }) => {
          const row = rows[dataIndex];
          return tip(row.contender, [["median", number(row.p50) + " " + unit], ["middle half", number(row.p25) + " to " + number(row.p75)],
            ["5 to 95 %", number(row.p05) + " to " + number(row.p95)], ["99 %", number(row.p99)], ["slowest", number(row.max)], ["steps", row.steps.toLocaleString("en")]]);
        } },
      }],
    },
  };
}
