/* Cost over the values of what was swept, one line a contender, of all points of the sweep that the
   chosen case is one of. */
import { colour } from "../colours.js";
import { axisLabel, base, between, legendOf, lineWithWhiskers, tip, valueAxis } from "../drawing.js";
import { number } from "../numbers.js";
import { isShown, page, state, unique } from "../page.js";

const everyRow = (data) => Array.from({ length: data.length }, (_, i) => data.row(i));

function costAxis(values, name, gap) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const log = least > 0 && most / least >= 8;
  return valueAxis({
    type: log ? "log" : "value", logBase: most / least < 200 ? 2 : 10, name: name + (log ? " (log scale)" : ""), nameLocation: "middle", nameGap: gap,
    scale: !log && least > 0.5 * most,
    ...(log ? { min: least / 1.3, max: most * 1.3, axisLabel: axisLabel({ showMinLabel: false, showMaxLabel: false }) } : {}),
  });
}

export function scaling(view) {
  const every = everyRow(view.data);
  const here = every.filter((row) => row.case === page.cases[state.case].name);
  if (!here.length) return null;
  const field = view.choice("field", unique(here.map((row) => row.field)), here[0].field);
  const family = here.find((row) => row.field === field).family;
  const swept = every.filter((row) => row.field === field && row.family === family && isShown(row.contender));
  if (!swept.length) return null;
  const metrics = unique(swept.map((row) => row.metric));
  const metric = view.choice("metric", metrics, metrics[0]);
  const rows = swept.filter((row) => row.metric === metric);
  const lines = unique(rows.map((row) => row.contender));
  const unit = rows[0].unit ? ", " + rows[0].unit : "";
  const [high, legend] = legendOf(lines, view.width);
  const costs = rows.flatMap((row) => [row.median, row.low ?? row.median, row.high ?? row.median]);
  return {
    height: 320 + high,
    option: {
      ...base(),
      legend,
      grid: { left: 64, right: 20, top: high + 8, bottom: 48 },
      xAxis: costAxis(rows.map((row) => row.value), field, 28),
      yAxis: costAxis(costs, metric.toLowerCase() + unit, 44),
      series: lines.flatMap((name) => {
        const own = rows.filter((row) => row.contender === name);
        return lineWithWhiskers(name, own, (row) => row.value, colour(name), "solid", (row) =>
          tip(name, [[field, number(row.value)], ["median", number(row.median) + " " + row.unit], ...between(row), ["trials", row.n]]));
      }),
    },
  };
}
