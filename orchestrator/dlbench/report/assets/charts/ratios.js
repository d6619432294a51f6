/* Dots and whiskers: each contender as a multiple of the best. */
import { colour, ink } from "../colours.js";
import { metricOf, verdictOn } from "../comparisons.js";
import { visible } from "../data.js";
import { axisLabel, base, between, line, names, tip, valueAxis, whisker, words } from "../drawing.js";
import { brief, number } from "../numbers.js";
import { page, position, state, unique } from "../page.js";

/** The rows against the chosen baseline; what can't be compared with it has none. */
function against(rows) {
  const metric = metricOf("train_s");
  if (state.baseline === null) return rows;
  const found = [];
  for (const row of rows) {
    const contender = position(row.contender);
    const verdict = verdictOn(metric, page.cases.findIndex(({ name }) => name === row.case), contender, state.baseline);
    if (contender === state.baseline) found.push({ ...row, ratio: 1, low: null, high: null });
    else if (verdict?.estimate) found.push({ ...row, ratio: verdict.estimate, low: verdict.low, high: verdict.high });
  }
  return found;
}

export function ratios(view) {
  const rows = against(visible(view.data, true));
  if (!rows.length) return null;
  const several = state.cases.size > 1;
  const other = state.baseline === null ? "the best" : page.contenders[state.baseline].name;
  const grouped = new Map(unique(rows.map((row) => row.contender)).map((name) => [name, rows.filter((row) => row.contender === name)]));
  const mean = (list) => Math.exp(list.reduce((sum, row) => sum + Math.log(row.ratio), 0) / list.length);
  // A mean over fewer workloads than others have would compare apples with pears: it is not shown.
  const missing = (name) => state.cases.size - grouped.get(name).length;
  const order = [...grouped.keys()].sort((a, b) => (missing(a) > 0) - (missing(b) > 0) || mean(grouped.get(a)) - mean(grouped.get(b)));
  const { room, axis } = names(order, view.width);
  const most = Math.max(...rows.map((row) => Math.max(row.ratio, row.high ?? 0)), 1.2);
  const least = Math.min(...rows.map((row) => row.low ?? row.ratio), 1);
  const log = most > 6;
  const points = rows.map((row) => ({ value: [row.ratio, order.indexOf(row.contender)], row }));
  const marks = order.map((name, i) => ({ value: [mean(grouped.get(name)), i], name }));
  return {
    height: order.length * (several ? 30 : 40) + 56,
    option: {
      ...base(),
      grid: { left: room, right: several ? 70 : 60, top: 8, bottom: 40 },
      yAxis: axis,
      xAxis: valueAxis({
        type: log ? "log" : "value", logBase: 2,
        min: Math.min(several ? Math.min(...rows.map((row) => row.ratio)) : least, 1) - 0.03 * (most - 1) * (log ? 0 : 1), max: log ? most * 1.15 : several ? undefined : most,
        name: "times " + other, nameLocation: "middle", nameGap: 26,
        axisLabel: axisLabel({ showMinLabel: false, showMaxLabel: several && !log, formatter: (v) => "×" + brief(v) }),
      }),
      series: [
        {
          type: "custom", data: points, z: 3,
          renderItem: (params, api) => {
            const { row } = points[params.dataIndex];
            const [x, y] = api.coord([row.ratio, api.value(1)]);
            const fill = colour(row.contender);
            const parts = [];
            if (row.low !== null && !several) {
              const [x1, x2] = [row.low, row.high].map((value) => api.coord([value, 0])[0]);
              parts.push(...whisker([x1, y], [x2, y], [0, 6], fill, 2.5, 2));
            }
            parts.push({ type: "circle", shape: { cx: x, cy: y, r: several ? 4.5 : 7 },
              style: { fill, opacity: several ? 0.55 : 1, stroke: ink.back, lineWidth: several ? 0.5 : 2 } });
            if (!several) {
              const right = row.high === null ? x : Math.max(x, api.coord([row.high, 0])[0]);
              parts.push(words(right + 11, y, row.ratio === 1 ? number(row.train_s) + " s" : "×" + number(row.ratio), ink.ink, { fontWeight: 600 }));
            }
            return { type: "group", children: parts };
          },
          tooltip: { formatter: ({ dataIndex }) => {
            const { row } = points[dataIndex];
            return tip(row.contender, [["workload", row.case], ["times " + other, "×" + number(row.ratio)],
              ...between(row), ["median", number(row.train_s) + " s"], ["trials", row.n]]);
          } },
        },
        ...(several ? [{
          type: "custom", data: marks, z: 4, silent: true,
          renderItem: (params, api) => {
            const [x, y] = api.coord([api.value(0), api.value(1)]);
            const right = view.width - 62;
            const { name } = marks[params.dataIndex];
            if (missing(name)) return words(right, y, `${grouped.get(name).length} of ${state.cases.size}`, ink.bad, { fontWeight: 600 });
            return { type: "group", children: [line(x, y - 10, x, y + 10, ink.ink, 2.5),
              words(right, y, "×" + number(api.value(0)), ink.ink, { fontWeight: 600 })] };
          },
        }] : []),
      ],
    },
  };
}
