/* A heat map of true against predicted classes. */
import { ink } from "../colours.js";
import { visible } from "../data.js";
import { base, nameStyle, tip } from "../drawing.js";
import { number } from "../numbers.js";
import { unique } from "../page.js";

export function confusion(view) {
  const here = visible(view.data);
  const contenders = unique(here.map((row) => row.contender));
  if (!contenders.length) return null;
  const contender = view.select("contender", contenders);
  const rows = here.filter((row) => row.contender === contender);
  const classes = unique(rows.map((row) => row.label));
  const total = new Map();
  for (const row of rows) total.set(row.label, (total.get(row.label) || 0) + row.count);
  const side = Math.min(520, view.width);
  const axis = (title, extra) => ({ type: "category", data: classes, name: title, nameLocation: "middle", nameTextStyle: nameStyle(),
    axisLine: { show: false }, axisTick: { show: false }, axisLabel: { color: ink.soft, fontSize: 12 }, splitArea: { show: false }, ...extra });
  return {
    height: side,
    option: {
      ...base(),
      grid: { left: 52, top: 8, bottom: 48, width: side - 68, height: side - 60 },
      xAxis: axis("predicted class", { nameGap: 28 }),
      yAxis: axis("true class", { inverse: true, nameGap: 34 }),
      visualMap: { show: false, min: 0, max: 1, dimension: 2, inRange: { color: [ink.light, ink.dark] } },
      series: [{
        type: "heatmap",
        data: rows.map((row) => [row.predicted, classes.indexOf(row.label), row.count / (total.get(row.label) || 1), row.count]),
        label: { show: classes.length <= 12, color: ink.ink, fontSize: 12, formatter: ({ value }) => (value[3] ? String(value[3]) : "") },
        itemStyle: { borderColor: ink.back, borderWidth: 2 },
        tooltip: { formatter: ({ value }) => tip(contender, [["true class", classes[value[1]]], ["predicted", value[0]], ["rows", value[3]], ["of the class", number(100 * value[2]) + " %"]]) },
      }],
    },
  };
}
