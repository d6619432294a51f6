/* Stacked bars: the phases of a trial. */
import { ink, phaseColour } from "../colours.js";
import { visible } from "../data.js";
import { axisLabel, base, cut, MOST_BARS, names, tip, valueAxis } from "../drawing.js";
import { brief, number } from "../numbers.js";

export function stack(view) {
  const { order, unit } = view.data.settings;
  const rows = visible(view.data);
  const total = new Map();
  for (const row of rows) total.set(row.contender, (total.get(row.contender) || 0) + row.seconds);
  const contenders = cut(view, [...total.keys()].sort((a, b) => total.get(a) - total.get(b)), MOST_BARS);
  if (!contenders.length) return null;
  const { room, axis } = names(contenders, view.width);
  const present = order.filter((phase) => rows.some((row) => row.phase === phase));
  const legend = view.width < 600 ? 58 : 34;
  return {
    height: contenders.length * 30 + 44 + legend,
    option: {
      ...base(),
      legend: { top: 0, left: 0, itemWidth: 14, itemHeight: 10, textStyle: { color: ink.ink, fontSize: 12.5 }, inactiveColor: ink.line },
      grid: { left: room, right: 24, top: legend, bottom: 30 },
      yAxis: axis, xAxis: valueAxis({ axisLabel: axisLabel({ formatter: (v) => brief(v) + " " + unit }) }),
      series: present.map((phase) => ({
        name: phase, type: "bar", stack: "all", barWidth: 16, itemStyle: { color: phaseColour(phase), borderColor: ink.back, borderWidth: 0.5 },
        data: contenders.map((name) => rows.find((row) => row.contender === name && row.phase === phase)?.seconds ?? null),
        tooltip: { formatter: ({ dataIndex, value }) => tip(contenders[dataIndex], [[phase, number(value) + " " + unit], ["all phases", number(total.get(contenders[dataIndex])) + " " + unit]]) },
      })),
    },
  };
}
