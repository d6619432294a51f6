/* Memory against time, one named dot a contender. */
import { colour, ink } from "../colours.js";
import { visible } from "../data.js";
import { axisLabel, base, line, tip, valueAxis, words } from "../drawing.js";
import { number } from "../numbers.js";

export function scatter(view) {
  const rows = visible(view.data);
  if (!rows.length) return null;
  const axis = (name, low, high, title) => {
    const values = rows.flatMap((row) => [row[name], row[low] ?? row[name], row[high] ?? row[name]]).filter((v) => v > 0);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const log = most / least > 12;
    // Values that are nearly alike shall look alike.
    const pad = Math.max((most - least) * 0.12, most * 0.08);
    return valueAxis({
      type: log ? "log" : "value", name: title + (log ? " (log scale)" : ""), nameLocation: "middle",
      min: log ? least / 1.5 : Math.max(0, least - pad), max: log ? most * 1.5 : most + pad,
      axisLabel: axisLabel({ showMaxLabel: false, showMinLabel: false }),
    });
  };
  const taken = [];
  return {
    height: Math.min(440, Math.max(320, view.width * 0.55)),
    option: {
      ...base(),
      grid: { left: 58, right: 30, top: 24, bottom: 46 },
      xAxis: { ...axis("memory_mb", "memory_low", "memory_high", "peak memory, MB"), nameGap: 28 },
      yAxis: { ...axis("train_s", "train_low", "train_high", "training time, s"), nameGap: 40 },
      series: [{
        type: "custom", silent: true, clip: true, data: rows.map((row) => [row.memory_mb, row.train_s]),
        renderItem: (params, api) => {
          const row = rows[params.dataIndex];
          const stroke = colour(row.contender);
          const [x, y] = api.coord([row.memory_mb, row.train_s]);
          const parts = [];
          if (row.memory_low !== null) parts.push(line(api.coord([row.memory_low, row.train_s])[0], y, api.coord([row.memory_high, row.train_s])[0], y, stroke, 1.4));
          if (row.train_low !== null) parts.push(line(x, api.coord([row.memory_mb, row.train_low])[1], x, api.coord([row.memory_mb, row.train_high])[1], stroke, 1.4));
          return { type: "group", children: parts };
        },
      }, {
        type: "scatter", symbolSize: 12,
        data: rows.map((row) => ({ value: [row.memory_mb, row.train_s], name: row.contender,
          itemStyle: { color: colour(row.contender), borderColor: ink.back, borderWidth: 1.5 } })),
        tooltip: { formatter: ({ dataIndex }) => {
          const row = rows[dataIndex];
          return tip(row.contender, [["peak memory", number(row.memory_mb) + " MB"], ["training time", number(row.train_s) + " s"], ["trials", row.n]]);
        } },
      }, {
        type: "custom", silent: true, z: 4, data: rows.map((row) => [row.memory_mb, row.train_s]),
        renderItem: (params, api) => named(params, api, rows, taken),
      }],
    },
  };
}

// A name beside its dot, wherever there is room; where there is none the tooltip has it.
function named(params, api, rows, taken) {
  if (params.dataIndex === 0) {
    taken.length = 0;
    for (const row of rows) {
      const [x, y] = api.coord([row.memory_mb, row.train_s]);
      taken.push([x - 7, y - 7, x + 7, y + 7]);
    }
  }
  const row = rows[params.dataIndex];
  const [x, y] = api.coord([row.memory_mb, row.train_s]);
  const long = row.contender.length * 7;
  const { x: left, width } = params.coordSys;
  for (const [dx, dy, textAlign] of [[0, -15, "center"], [0, 15, "center"], [11, 0, "left"], [-11, 0, "right"]]) {
    const start = x + dx - (textAlign === "center" ? long / 2 : textAlign === "right" ? long : 0);
    const box = [start, y + dy - 7, start + long, y + dy + 7];
    const free = taken.every(([a, b, c, d]) => box[2] < a || box[0] > c || box[3] < b || box[1] > d);
    if (free && box[0] >= left && box[2] <= left + width + 25) {
      taken.push(box);
      return words(x + dx, y + dy, row.contender, ink.ink, { align: textAlign });
    }
  }
  return null;
}
