/* Dots: every trial by its value. */
import { colour, ink } from "../colours.js";
import { visible } from "../data.js";
import { axisLabel, base, cut, MOST_BARS, names, tip, valueAxis } from "../drawing.js";
import { brief, number } from "../numbers.js";
import { unique } from "../page.js";

export function dots(view) {
  const { unit } = view.data.settings;
  const here = visible(view.data);
  const contenders = cut(view, unique(here.map((row) => row.contender)), MOST_BARS);
  if (!contenders.length) return null;
  const rows = here.filter((row) => contenders.includes(row.contender));
  const { room, axis } = names(contenders, view.width);
  return {
    height: contenders.length * 32 + 52,
    option: {
      ...base(),
      grid: { left: room, right: 24, top: 6, bottom: 34 },
      yAxis: { ...axis, splitLine: { show: true, lineStyle: { color: ink.line } } },
      xAxis: valueAxis({ scale: true, boundaryGap: ["6%", "6%"], splitLine: { show: false }, axisLabel: axisLabel({ formatter: (v) => brief(v) + (unit ? " " + unit : "") }) }),
      series: [{
        type: "scatter", symbolSize: 11, data: rows.map((row) => ({
          value: [row.value, contenders.indexOf(row.contender)],
          itemStyle: { color: colour(row.contender), opacity: 0.7, borderColor: ink.back, borderWidth: 1 } })),
        tooltip: { formatter: ({ dataIndex }) => {
          const { seed } = rows[dataIndex];
          const same = rows.filter((row) => row.seed === seed).slice(0, 12);
          return tip("seed " + seed, same.map((row) => [row.contender, number(row.value) + (unit ? " " + unit : "")]));
        } },
      }],
    },
  };
}
