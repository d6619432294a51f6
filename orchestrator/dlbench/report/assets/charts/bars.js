/* Bars with intervals, or dots for what has no zero. */
import { colour, ink } from "../colours.js";
import { unranked } from "../comparisons.js";
import { visible } from "../data.js";
import { axisLabel, base, between, cut, MOST_BARS, names, textWidth, tip, valueAxis, whisker, words } from "../drawing.js";
import { number } from "../numbers.js";

export function bars(view) {
  const { unit, less, dots } = view.data.settings;
  const sign = less ? 1 : -1;
  const all = visible(view.data).map((row) => ({ ...row, median: row.median ?? row.mean })).sort((a, b) =>
    (a.certified !== "yes") - (b.certified !== "yes") || sign * (a.median - b.median));
  const rows = cut(view, all, MOST_BARS);
  if (!rows.length) return null;
  const { room, axis } = names(rows.map((row) => row.contender), view.width);
  const top = Math.max(...rows.map((row) => Math.max(row.median, row.high ?? 0)));
  const bottom = Math.min(...rows.map((row) => row.low ?? row.median));
  const span = Math.max(top - bottom, Math.abs(top) * 0.005) || 1;
  const tooltip = { formatter: ({ dataIndex }) => {
    const row = rows[dataIndex];
    return tip(row.contender, [[row.mean === undefined ? "median" : "mean", label(row)], ...between(row), ["trials", row.n], ["certified", row.certified]]);
  } };
  const label = (row) => (unit === "×" ? "×" + number(row.median) : (unit === "%" ? row.median.toFixed(2) : number(row.median)) + (unit ? " " + unit : ""))
    + (row.certified !== "yes" ? ", " + unranked(row.certified) : "");
  // The longest label must fit behind the longest bar.
  const start = dots ? bottom - span * 0.1 : 0;
  const plot = view.width - room - 16;
  const stretch = plot / Math.max(plot * 0.3, plot - Math.max(...rows.map((row) => textWidth(label(row)))) - 24);
  return {
    height: rows.length * 30 + 48,
    option: {
      ...base(),
      grid: { left: room, right: 16, top: 4, bottom: 30 },
      yAxis: axis,
      xAxis: valueAxis({ min: start, max: start + (top - start) * stretch || 1, axisLabel: axisLabel({ showMaxLabel: false, showMinLabel: !dots }) }),
      series: [
        { tooltip, ...(dots ? {
          type: "scatter", symbolSize: 12, z: 6,
          data: rows.map((row, i) => ({ value: [row.median, i], itemStyle: row.certified !== "yes"
            ? { color: ink.back, borderColor: colour(row.contender), borderWidth: 2 } : { color: colour(row.contender) } })),
        } : {
          type: "bar", barWidth: 16,
          data: rows.map((row) => ({ value: row.median, itemStyle: row.certified !== "yes"
            ? { color: "transparent", borderColor: colour(row.contender), borderType: "dashed", borderWidth: 1.5 }
            : { color: colour(row.contender), borderRadius: [0, 3, 3, 0] } })),
        }) },
        {
          type: "custom", silent: true, z: 5, data: rows.map((row, i) => [row.high ?? row.median, i]),
          renderItem: (params, api) => {
            const row = rows[params.dataIndex];
            const [x, y] = api.coord([row.median, params.dataIndex]);
            const parts = [];
            let right = x;
            if (row.low !== null) {
              const [x1, x2] = [row.low, row.high].map((value) => api.coord([value, 0])[0]);
              right = Math.max(right, x2);
              parts.push(...whisker([x1, y], [x2, y], [0, 4], ink.ink, 1.5));
            }
            parts.push(words(right + (dots ? 14 : 8), y, label(row), ink.ink));
            return { type: "group", children: parts };
          },
        },
      ],
    },
  };
}
