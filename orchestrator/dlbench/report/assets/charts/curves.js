/* Curves over epochs or time, with bands. */
import { colour, dashes, ink } from "../colours.js";
import { visible } from "../data.js";
import { axisLabel, base, cut, legendOf, tip, valueAxis } from "../drawing.js";
import { brief, number } from "../numbers.js";
import { unique } from "../page.js";

const MOST_CURVES = 24;
export function curves(view) {
  const { metrics } = view.data.settings;
  const here = visible(view.data);
  const present = metrics.filter((metric) => here.some((row) => row.metric === metric));
  const metric = view.choice("metric", present, present[0]);
  const by = view.choice("by", ["by epoch", "by time"], "by epoch");
  const rows = here.filter((row) => row.metric === metric);
  const contenders = cut(view, unique(rows.map((row) => row.contender)), MOST_CURVES);
  if (!contenders.length) return null;
  const scale = metric === "accuracy" ? 100 : 1;
  const unit = metric === "accuracy" ? " %" : "";
  const time = by === "by time";
  const series = [];
  const bands = contenders.length <= 8;
  for (const contender of contenders) {
    const points = rows.filter((row) => row.contender === contender);
    const x = (row) => (time ? row.train_s : row.epoch);
    const shade = colour(contender);
    if (bands && points.some((row) => row.high > row.low)) {
      const hidden = { type: "line", stack: "band " + contender, stackStrategy: "all", symbol: "none", silent: true,
        lineStyle: { opacity: 0 }, tooltip: { show: false }, z: 1 };
      series.push({ ...hidden, data: points.map((row) => [x(row), row.low * scale]) });
      series.push({ ...hidden, areaStyle: { color: shade, opacity: 0.14 }, data: points.map((row) => [x(row), (row.high - row.low) * scale]) });
    }
    series.push({
      name: contender, type: "line", z: 3, data: points.map((row) => [x(row), row.median * scale]),
      lineStyle: { color: shade, width: 2.2, type: dashes.get(contender) }, itemStyle: { color: shade },
      symbol: "circle", symbolSize: points.length <= 40 ? 5 : 1, showSymbol: true,
      emphasis: { focus: "series" },
      tooltip: { formatter: ({ dataIndex }) => {
        const row = points[dataIndex];
        return tip(contender, [[metric, number(row.median * scale) + unit],
          ["middle 90 %", number(row.low * scale) + " to " + number(row.high * scale)],
          ["epoch", row.epoch], ["training time", number(row.train_s) + " s"]]);
      } },
    });
  }
  const [high, legend] = legendOf(contenders, view.width, { top: undefined, left: "center", bottom: 0, itemWidth: 30, itemGap: 14 });
  return {
    height: 340 + high,
    option: {
      ...base(),
      legend,
      grid: { left: 52, right: 18, top: 14, bottom: high + 44 },
      xAxis: valueAxis({ name: time ? "training time, s" : "epoch", nameLocation: "middle", nameGap: 28, minInterval: time ? 0 : 1, splitLine: { show: false }, min: time ? 0 : ({ min, max }) => (min === max ? min - 1 : min), max: ({ min, max }) => (time || min !== max ? max : max + 1),
        axisLabel: axisLabel({ showMaxLabel: !time }) }),
      yAxis: valueAxis({ scale: true, axisLabel: { color: ink.soft, fontSize: 12, formatter: (v) => brief(v) + unit } }),
      series,
    },
  };
}
