/* Mean ranks, and bars that join what is not shown to differ. */
import { colour, ink } from "../colours.js";
import { visible } from "../data.js";
import { base, line, names, tip, valueAxis } from "../drawing.js";

export function ranks(view) {
  const rows = visible(view.data);
  if (!rows.length) return null;
  const { room, axis } = names(rows.map((row) => row.contender), view.width);
  const position = new Map(view.data.columns.contender.map((name, i) => [i, rows.findIndex((row) => row.contender === name)]));
  const joined = view.data.settings.joined.map(([a, b]) => [position.get(a), position.get(b)]).filter(([a, b]) => a >= 0 && b > a);
  const right = 22 + joined.length * 12;
  return {
    height: rows.length * 28 + 48,
    option: {
      ...base(),
      grid: { left: room, right: right + 40, top: 4, bottom: 40 },
      yAxis: axis,
      xAxis: valueAxis({ min: 0, max: view.data.length + 1, interval: 1, axisLabel: { color: ink.soft, fontSize: 12, hideOverlap: true, showMinLabel: false, showMaxLabel: false }, name: "mean rank", nameLocation: "middle", nameGap: 26 }),
      series: [{
        type: "scatter", symbolSize: 13,
        data: rows.map((row, i) => ({ value: [row.mean_rank, i], itemStyle: { color: colour(row.contender) } })),
        label: { show: true, position: "right", distance: 8, color: ink.ink, fontSize: 12.5, formatter: ({ value }) => value[0].toFixed(2) },
        tooltip: { formatter: ({ dataIndex }) => tip(rows[dataIndex].contender, [["mean rank", rows[dataIndex].mean_rank.toFixed(2)]]) },
      }, {
        type: "custom", silent: true, data: joined.map(([a], i) => [1, a, i]),
        renderItem: (params, api) => {
          const [a, b] = joined[params.dataIndex];
          const x = view.width - right + params.dataIndex * 12;
          return line(x, api.coord([1, a])[1] - 9, x, api.coord([1, b])[1] + 9, ink.ink, 4);
        },
      }],
    },
  };
}
