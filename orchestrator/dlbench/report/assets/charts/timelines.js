/* Panels over a trial: CPU, memory, GPU, power. */
import { colour, dark, ink, phaseColour } from "../colours.js";
import { visible } from "../data.js";
import { axisLabel, base, tip, valueAxis } from "../drawing.js";
import { brief, number } from "../numbers.js";
import { page, state, unique } from "../page.js";

const PANELS = [
  ["busy_cores", "Busy cores"], ["memory_in_use_mb", "Memory in use, MB"], ["gpu_percent", "GPU, %"],
  ["gpu_memory_in_use_mb", "GPU memory in use, MB"], ["power_w", "Power, W"],
];
export function timelines(view) {
  const here = visible(view.data);
  const contenders = unique(here.map((row) => row.contender));
  if (!contenders.length) return null;
  const contender = view.select("contender", contenders);
  const rows = here.filter((row) => row.contender === contender);
  const found = view.data.settings.phases.find((entry) => entry[0] === page.cases[state.case].name && entry[1] === contender);
  const phases = found ? found[3] : [];
  view.legend(unique(phases.map((stretch) => stretch[0])).map((phase) => [phase, phaseColour(phase)]));
  const panels = PANELS.filter(([name]) => view.data.columns[name] && rows.some((row) => row[name] !== null));
  const tall = 118;
  const last = Math.max(...rows.map((row) => row.t));
  const areas = phases.map(([phase, start, end]) => [
    { xAxis: Math.max(0, start), itemStyle: { color: phaseColour(phase), opacity: dark ? 0.26 : 0.16 } }, { xAxis: Math.min(end, last) }]);
  return {
    height: panels.length * (tall + 40) + 34,
    option: {
      ...base(),
      tooltip: { ...base().tooltip, trigger: "axis", axisPointer: { type: "line", lineStyle: { color: ink.soft } },
        formatter: (items) => {
          const row = rows[items[0].dataIndex];
          const phase = phases.find(([, start, end]) => row.t >= start && row.t <= end);
          return tip(number(row.t) + " s" + (phase ? ", " + phase[0] : ""), panels.map(([name, title]) => [title, number(row[name])]));
        } },
      axisPointer: { link: [{ xAxisIndex: "all" }] },
      grid: panels.map((panel, i) => ({ left: 58, right: 18, top: 26 + i * (tall + 40), height: tall })),
      xAxis: panels.map((panel, i) => valueAxis({ gridIndex: i, min: 0, max: last, splitLine: { show: false },
        axisLabel: axisLabel({ show: i === panels.length - 1, formatter: (v) => brief(v) + " s", showMaxLabel: false }) })),
      yAxis: panels.map(([, title], i) => valueAxis({ gridIndex: i, min: 0, name: title, nameTextStyle: { color: ink.soft, fontSize: 12, align: "left", padding: [0, 0, 0, -46] }, splitNumber: 3 })),
      series: panels.map(([name], i) => ({
        type: "line", xAxisIndex: i, yAxisIndex: i, symbol: "none", data: rows.map((row) => [row.t, row[name]]),
        lineStyle: { color: colour(contender), width: 1.8 }, itemStyle: { color: colour(contender) },
        markArea: { silent: true, data: areas },
      })),
    },
  };
}
