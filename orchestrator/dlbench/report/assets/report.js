/* Draws the report's charts from the JSON beside them, each when it is first scrolled into view.
   Text from the campaign is only ever set as text, never as markup. */
(function () {
  "use strict";

  const page = JSON.parse(document.getElementById("page").textContent);
  const state = { workload: page.workloads[0], hidden: new Set() };

  // ---- small things -------------------------------------------------------------------------

  function el(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "text") made.textContent = value;
      else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  function number(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size >= 1000) return Math.round(value).toLocaleString("en");
    if (size < 0.0001) return value.toExponential(1);
    return value.toFixed(Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(size)))));
  }

  /** For axes: as short as it can be. */
  function brief(value) {
    if (Math.abs(value) >= 10000) return Math.round(value / 1000).toLocaleString("en") + "k";
    return String(+value.toPrecision(4));
  }

  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif";
  const unique = (values) => [...new Set(values)];

  // ---- colours ------------------------------------------------------------------------------

  const FRAMEWORKS = {
    pytorch: ["#d1500a", "#ff9457"], tensorflow: ["#0068ab", "#56abe8"], keras: ["#b5588f", "#e29cc5"],
    mxnet: ["#3a93bd", "#8fd0ee"], theano: ["#00855f", "#3fc79c"], chainer: ["#b37d00", "#edb83d"],
    jax: ["#6a3d9a", "#b796e0"], numpy: ["#6b6b6b", "#b0b0b0"],
  };
  const OTHERS = [["#7a6a00", "#d6c64a"], ["#8a3324", "#e58b78"], ["#2f6f6f", "#7cc4c4"]];
  const PHASES = {
    import: ["#8c8c8c", "#9a9a9a"], load: ["#a58d6f", "#b59d7f"], build: ["#b5588f", "#d68cb8"],
    "first-step": ["#d1500a", "#ff9457"], "warm-up": ["#d9a300", "#edb83d"],
    train: ["#0068ab", "#56abe8"], evaluate: ["#00855f", "#3fc79c"], save: ["#6a3d9a", "#b796e0"],
  };
  const DASHES = ["solid", [6, 3], [2, 3], [9, 3, 2, 3], [1, 2], [12, 4]];

  let dark = false;
  let ink = {};
  function readTheme() {
    const css = getComputedStyle(document.documentElement);
    const of = (name) => css.getPropertyValue("--" + name).trim();
    ink = { back: of("back"), panel: of("panel"), ink: of("ink"), soft: of("soft"), line: of("line"),
            dark: of("shade8"), light: of("shade0") };
    const chosen = document.documentElement.dataset.theme;
    dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  const pick = (pair) => pair[dark ? 1 : 0];
  function colour(framework) {
    const rest = page.frameworks.filter((name) => !Object.hasOwn(FRAMEWORKS, name));
    return pick(Object.hasOwn(FRAMEWORKS, framework)
      ? FRAMEWORKS[framework] : OTHERS[Math.max(0, rest.indexOf(framework)) % OTHERS.length]);
  }
  const phaseColour = (phase) =>
    pick(Object.hasOwn(PHASES, phase) ? PHASES[phase] : ["#777777", "#999999"]);

  /** A contender's dash: releases of one framework share its colour and differ in their dash. */
  const frameworkOf = new Map(page.contenders);
  const dashes = new Map();
  for (const framework of page.frameworks) {
    page.contenders.filter(([, f]) => f === framework)
      .forEach(([name], place) => dashes.set(name, DASHES[place % DASHES.length]));
  }

  // ---- data ---------------------------------------------------------------------------------

  function unpack(id) {
    const content = JSON.parse(document.getElementById("data-" + id).textContent);
    const names = Object.keys(content.columns);
    const columns = {};
    let length = 0;
    for (const name of names) {
      const column = content.columns[name];
      columns[name] = Array.isArray(column)
        ? column : column.places.map((place) => (place === null ? null : column.words[place]));
      length = columns[name].length;
    }
    const row = (i) => Object.fromEntries(names.map((name) => [name, columns[name][i]]));
    return { ...content, names, columns, length, row };
  }

  function visible(data, everyWorkload) {
    const rows = [];
    const { workload, framework } = data.columns;
    for (let i = 0; i < data.length; i++) {
      if (!everyWorkload && workload && workload[i] !== state.workload) continue;
      if (state.hidden.has(framework[i])) continue;
      rows.push(data.row(i));
    }
    return rows;
  }

  function csv(data) {
    const cell = (value) => {
      if (value === null || value === undefined) return "";
      if (typeof value === "number") return String(value);
      const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
      return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
    };
    const lines = [data.names.join(",")];
    for (let i = 0; i < data.length; i++) {
      lines.push(data.names.map((name) => cell(data.columns[name][i])).join(","));
    }
    return lines.join("\r\n") + "\r\n";
  }

  function download(data) {
    const url = URL.createObjectURL(new Blob([csv(data)], { type: "text/csv" }));
    const link = el("a", { href: url, download: data.file });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  const MOST_ROWS = 300;
  function fillTable(view) {
    const { data } = view;
    const place = view.figure.querySelector(".rows");
    const rows = visible(data, view.everyWorkload);
    const head = el("tr", {});
    const isNumber = {};
    for (const name of data.names) {
      isNumber[name] = Array.isArray(data.columns[name]) && typeof data.columns[name].find((v) => v !== null) === "number";
      head.append(el("th", { scope: "col", text: name, class: isNumber[name] ? "number" : "" }));
    }
    const body = el("tbody", {});
    for (const row of rows.slice(0, MOST_ROWS)) {
      const line = el("tr", {});
      for (const name of data.names) {
        const value = row[name];
        line.append(el("td", {
          text: value === null ? "" : isNumber[name] ? String(value) : value,
          class: isNumber[name] ? "number" : "",
        }));
      }
      body.append(line);
    }
    const shown = Math.min(rows.length, MOST_ROWS);
    const count = shown < data.length ? `${shown.toLocaleString("en")} of ${data.length.toLocaleString("en")} rows; the CSV holds all.` : "";
    place.replaceChildren(
      el("button", { type: "button", class: "plain", text: "Download CSV", onclick: () => download(data) }),
      el("span", { class: "note", text: " " + count }),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Data of " + view.title },
        el("table", {}, el("thead", {}, head), body)));
  }

  // ---- what all drawings share ----------------------------------------------------------------

  function tip(title, pairs) {
    const box = el("div", { class: "tip" }, el("b", { text: title }));
    for (const [name, value] of pairs) {
      box.append(el("div", {}, el("span", { text: name }), el("span", { text: value })));
    }
    return box;
  }

  const between = (row, low, high) =>
    row[low] === null ? [] : [["95 % interval", number(row[low]) + " to " + number(row[high])]];

  function base() {
    return {
      animation: false,
      textStyle: { fontFamily: FONT, color: ink.ink },
      tooltip: {
        trigger: "item", confine: true, backgroundColor: ink.back, borderColor: ink.line, padding: [7, 11],
        textStyle: { color: ink.ink, fontSize: 13 }, extraCssText: "box-shadow: 0 2px 12px rgba(0,0,0,.18)",
      },
    };
  }
  const nameStyle = () => ({ color: ink.soft, fontSize: 12 });
  function valueAxis(extra) {
    return {
      type: "value", axisLine: { show: false }, axisTick: { show: false },
      axisLabel: { color: ink.soft, fontSize: 12, formatter: brief, hideOverlap: true },
      splitLine: { showMinLine: false, showMaxLine: false, lineStyle: { color: ink.line } }, nameTextStyle: nameStyle(), ...extra,
    };
  }
  function names(labels, width, extra) {
    const longest = Math.max(...labels.map(textWidth), 30) + 16;
    const room = Math.min(longest, width * 0.4);
    return {
      room,
      axis: {
        type: "category", data: labels, inverse: true, axisTick: { show: false },
        axisLine: { lineStyle: { color: ink.line } },
        axisLabel: { color: ink.ink, fontSize: 13, interval: 0, width: room - 12, overflow: "truncate" },
        ...extra,
      },
    };
  }
  const pen = document.createElement("canvas").getContext("2d");
  function textWidth(text) {
    pen.font = "13px " + FONT;
    return Math.ceil(pen.measureText(text).width);
  }
  const line = (x1, y1, x2, y2, stroke, lineWidth) =>
    ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth }, silent: true });
  const words = (x, y, text, fill, extra) =>
    ({ type: "text", silent: true, style: { x, y, text, fill, fontFamily: FONT, fontSize: 12.5, verticalAlign: "middle", ...extra } });

  const MOST_BARS = 60;
  function cut(view, items, most) {
    view.limit = items.length > most
      ? `The first ${most} of ${items.length} are drawn: choose by framework above. The data hold all.` : "";
    return items.slice(0, most);
  }

  // ---- the drawings ---------------------------------------------------------------------------

  const drawings = {};

  drawings.ratios = (view) => {
    const rows = visible(view.data, true);
    const several = page.workloads.length > 1;
    const grouped = Map.groupBy
      ? Map.groupBy(rows, (row) => row.contender)
      : rows.reduce((m, row) => m.set(row.contender, [...(m.get(row.contender) || []), row]), new Map());
    const mean = (list) => Math.exp(list.reduce((sum, row) => sum + Math.log(row.ratio), 0) / list.length);
    const order = [...grouped.keys()].sort((a, b) => mean(grouped.get(a)) - mean(grouped.get(b)));
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
          min: Math.min(several ? 1 : least, 1 - 0.03 * (most - 1), log ? 0.92 : 1), max: log ? most * 1.15 : several ? undefined : most,
          name: "times the best", nameLocation: "middle", nameGap: 26,
          axisLabel: { color: ink.soft, fontSize: 12, showMinLabel: false, showMaxLabel: several && !log, hideOverlap: true, formatter: (v) => "×" + brief(v) },
        }),
        series: [
          {
            type: "custom", data: points, z: 3,
            renderItem: (params, api) => {
              const { row } = points[params.dataIndex];
              const [x, y] = api.coord([row.ratio, api.value(1)]);
              const fill = colour(row.framework);
              const parts = [];
              if (row.low !== null && !several) {
                const [x1] = api.coord([row.low, 0]);
                const [x2] = api.coord([row.high, 0]);
                parts.push(line(x1, y, x2, y, fill, 2.5), line(x1, y - 6, x1, y + 6, fill, 2), line(x2, y - 6, x2, y + 6, fill, 2));
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
              return tip(row.contender, [["workload", row.workload], ["times the best", "×" + number(row.ratio)],
                ...between(row, "low", "high"), ["median", number(row.train_s) + " s"], ["trials", row.n]]);
            } },
          },
          ...(several ? [{
            type: "custom", data: marks, z: 4, silent: true,
            renderItem: (params, api) => {
              const [x, y] = api.coord([api.value(0), api.value(1)]);
              const right = view.width - 62;
              return { type: "group", children: [line(x, y - 10, x, y + 10, ink.ink, 2.5),
                words(right, y, "×" + number(api.value(0)), ink.ink, { fontWeight: 600 })] };
            },
          }] : []),
        ],
      },
    };
  };

  drawings.bars = (view) => {
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
      return tip(row.contender, [[row.mean === undefined ? "median" : "mean", label(row)], ...between(row, "low", "high"), ["trials", row.n], ["certified", row.certified]]);
    } };
    const label = (row) => (unit === "×" ? "×" + number(row.median) : (unit === "%" ? row.median.toFixed(2) : number(row.median)) + (unit ? " " + unit : ""))
      + (row.certified !== "yes" ? ", " + (row.certified === "no" ? "not certified" : "proof not made") : "");
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
        xAxis: valueAxis({ min: start, max: start + (top - start) * stretch || 1, axisLabel: { color: ink.soft, fontSize: 12, formatter: brief, showMaxLabel: false, showMinLabel: !dots, hideOverlap: true } }),
        series: [
          dots ? {
            type: "scatter", symbolSize: 12, z: 6,
            data: rows.map((row, i) => ({ value: [row.median, i], itemStyle: row.certified !== "yes"
              ? { color: ink.back, borderColor: colour(row.framework), borderWidth: 2 } : { color: colour(row.framework) } })),
            tooltip,
          } : {
            type: "bar", barWidth: 16,
            data: rows.map((row) => ({
              value: row.median,
              itemStyle: row.certified !== "yes"
                ? { color: "transparent", borderColor: colour(row.framework), borderType: "dashed", borderWidth: 1.5 }
                : { color: colour(row.framework), borderRadius: [0, 3, 3, 0] },
            })),
            tooltip,
          },
          {
            type: "custom", silent: true, z: 5, data: rows.map((row, i) => [row.high ?? row.median, i]),
            renderItem: (params, api) => {
              const row = rows[params.dataIndex];
              const [x, y] = api.coord([row.median, params.dataIndex]);
              const parts = [];
              let right = x;
              if (row.low !== null) {
                const [x1] = api.coord([row.low, 0]);
                const [x2] = api.coord([row.high, 0]);
                right = Math.max(right, x2);
                parts.push(line(x1, y, x2, y, ink.ink, 1.5), line(x1, y - 4, x1, y + 4, ink.ink, 1.5), line(x2, y - 4, x2, y + 4, ink.ink, 1.5));
              }
              parts.push(words(right + (dots ? 14 : 8), y, label(row), ink.ink));
              return { type: "group", children: parts };
            },
          },
        ],
      },
    };
  };

  drawings.ranks = (view) => {
    const rows = visible(view.data);
    if (!rows.length) return null;
    const { room, axis } = names(rows.map((row) => row.contender), view.width);
    const place = new Map(view.data.columns.contender.map((name, i) => [i, rows.findIndex((row) => row.contender === name)]));
    const joined = view.data.settings.joined.map(([a, b]) => [place.get(a), place.get(b)]).filter(([a, b]) => a >= 0 && b > a);
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
          data: rows.map((row, i) => ({ value: [row.mean_rank, i], itemStyle: { color: colour(row.framework) } })),
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
  };

  const MOST_CURVES = 24;
  drawings.curves = (view) => {
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
      const shade = colour(points[0].framework);
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
    const perLine = Math.max(1, Math.floor(view.width / 190));
    const legend = Math.ceil(contenders.length / perLine) * 24 + 10;
    return {
      height: 340 + legend,
      option: {
        ...base(),
        legend: { data: contenders, bottom: 0, itemWidth: 30, itemGap: 14, textStyle: { color: ink.ink, fontSize: 12.5 }, inactiveColor: ink.line },
        grid: { left: 52, right: 18, top: 14, bottom: legend + 44 },
        xAxis: valueAxis({ name: time ? "training time, s" : "epoch", nameLocation: "middle", nameGap: 28, minInterval: time ? 0 : 1, splitLine: { show: false }, min: time ? 0 : ({ min, max }) => (min === max ? min - 1 : min), max: ({ min, max }) => (time || min !== max ? max : max + 1),
          axisLabel: { color: ink.soft, fontSize: 12, formatter: brief, hideOverlap: true, showMaxLabel: !time } }),
        yAxis: valueAxis({ scale: true, axisLabel: { color: ink.soft, fontSize: 12, formatter: (v) => brief(v) + unit } }),
        series,
      },
    };
  };

  drawings.stack = (view) => {
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
        yAxis: axis, xAxis: valueAxis({ axisLabel: { color: ink.soft, fontSize: 12, formatter: (v) => brief(v) + " " + unit, hideOverlap: true } }),
        series: present.map((phase) => ({
          name: phase, type: "bar", stack: "all", barWidth: 16, itemStyle: { color: phaseColour(phase), borderColor: ink.back, borderWidth: 0.5 },
          data: contenders.map((name) => rows.find((row) => row.contender === name && row.phase === phase)?.seconds ?? null),
          tooltip: { formatter: ({ dataIndex, value }) => tip(contenders[dataIndex], [[phase, number(value) + " " + unit], ["all phases", number(total.get(contenders[dataIndex])) + " " + unit]]) },
        })),
      },
    };
  };

  drawings.boxes = (view) => {
    const { unit } = view.data.settings;
    const rows = cut(view, visible(view.data).sort((a, b) => a.p50 - b.p50), MOST_BARS);
    if (!rows.length) return null;
    const { room, axis } = names(rows.map((row) => row.contender), view.width);
    const low = Math.min(...rows.map((row) => row.p05));
    const high = Math.max(...rows.map((row) => row.p99));
    const log = low > 0 && high / low > 20;
    return {
      height: rows.length * 34 + 52,
      option: {
        ...base(),
        grid: { left: room, right: 20, top: 6, bottom: 34 },
        yAxis: axis,
        xAxis: valueAxis({ type: log ? "log" : "value", min: log ? low * 0.8 : 0, max: high * 1.05,
          axisLabel: { color: ink.soft, fontSize: 12, hideOverlap: true, showMaxLabel: false, showMinLabel: !log, formatter: (v) => brief(v) + " " + unit } }),
        series: [{
          type: "custom", data: rows.map((row, i) => [row.p50, i, row.p05, row.p99]), encode: { x: [0, 2, 3], y: 1 },
          renderItem: (params, api) => {
            const row = rows[params.dataIndex];
            const fill = colour(row.framework);
            const at = (value) => api.coord([value, params.dataIndex])[0];
            const y = api.coord([row.p50, params.dataIndex])[1];
            return { type: "group", children: [
              line(at(row.p05), y, at(row.p95), y, fill, 2),
              { type: "rect", shape: { x: at(row.p25), y: y - 8, width: Math.max(2, at(row.p75) - at(row.p25)), height: 16, r: 2 }, style: { fill, opacity: 0.85 } },
              line(at(row.p50), y - 10, at(row.p50), y + 10, ink.ink, 2.5),
              { type: "circle", shape: { cx: at(row.p99), cy: y, r: 3 }, style: { fill: "none", stroke: fill, lineWidth: 1.5 } },
              { type: "rect", shape: { x: at(row.p05), y: y - 14, width: Math.max(4, at(row.p99) - at(row.p05)), height: 28 }, style: { fill: "transparent" } },
            ] };
          },
          tooltip: { formatter: ({ dataIndex }) => {
            const row = rows[dataIndex];
            return tip(row.contender, [["median", number(row.p50) + " " + unit], ["middle half", number(row.p25) + " to " + number(row.p75)],
              ["5 to 95 %", number(row.p05) + " to " + number(row.p95)], ["99 %", number(row.p99)], ["slowest", number(row.max)], ["steps", row.steps.toLocaleString("en")]]);
          } },
        }],
      },
    };
  };

  drawings.scatter = (view) => {
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
        axisLabel: { color: ink.soft, fontSize: 12, formatter: brief, hideOverlap: true, showMaxLabel: false, showMinLabel: false },
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
            const stroke = colour(row.framework);
            const [x, y] = api.coord([row.memory_mb, row.train_s]);
            const parts = [];
            if (row.memory_low !== null) parts.push(line(api.coord([row.memory_low, row.train_s])[0], y, api.coord([row.memory_high, row.train_s])[0], y, stroke, 1.4));
            if (row.train_low !== null) parts.push(line(x, api.coord([row.memory_mb, row.train_low])[1], x, api.coord([row.memory_mb, row.train_high])[1], stroke, 1.4));
            return { type: "group", children: parts };
          },
        }, {
          type: "scatter", symbolSize: 12,
          data: rows.map((row) => ({ value: [row.memory_mb, row.train_s], name: row.contender,
            itemStyle: { color: colour(row.framework), borderColor: ink.back, borderWidth: 1.5 } })),
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
  };

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

  drawings.history = (view) => {
    const { unit } = view.data.settings;
    const rows = visible(view.data);
    if (!rows.length) return null;
    const lines = unique(rows.map((row) => row.line));
    const framework = (name) => rows.find((row) => row.line === name).framework;
    const key = (row) => row.framework + " " + row.release;
    const order = unique([...rows].map(key));
    const wide = Math.max(...rows.map((row) => row.median)) / Math.min(...rows.map((row) => row.median)) > 20;
    const legend = Math.ceil(lines.length / Math.max(1, Math.floor(view.width / 150))) * 24 + 8;
    const turned = Math.max(...order.map(textWidth)) * order.length > view.width - 100;
    return {
      height: 300 + legend + (turned ? 70 : 0),
      option: {
        ...base(),
        legend: { data: lines, top: 0, left: 0, textStyle: { color: ink.ink, fontSize: 12.5 }, inactiveColor: ink.line },
        grid: { left: 58, right: 16, top: legend + 8, bottom: turned ? 110 : 40 },
        xAxis: { type: "category", data: order, axisTick: { show: false }, axisLine: { lineStyle: { color: ink.line } },
          axisLabel: { color: ink.soft, fontSize: 12, rotate: turned ? 50 : 0, interval: order.length > view.width / 16 ? "auto" : 0 } },
        yAxis: valueAxis({ type: wide ? "log" : "value", name: "training time, " + unit + (wide ? " (log scale)" : ""), nameLocation: "middle", nameGap: 40 }),
        series: lines.flatMap((name) => {
          const own = rows.filter((row) => row.line === name);
          const shade = colour(framework(name));
          return [{
            name, type: "line", data: own.map((row) => [key(row), row.median]), symbol: "circle", symbolSize: 7,
            lineStyle: { color: shade, width: 2, type: name === framework(name) ? "solid" : "dashed" }, itemStyle: { color: shade },
            tooltip: { formatter: ({ dataIndex }) => {
              const row = own[dataIndex];
              return tip(name + " " + row.release, [["median", number(row.median) + " " + unit], ...between(row, "low", "high"), ["trials", row.n]]);
            } },
          }, {
            name, type: "custom", silent: true, data: own.filter((row) => row.low !== null).map((row) => [key(row), row.low, row.high]), encode: { x: 0, y: [1, 2] },
            renderItem: (params, api) => {
              const [x, y1] = api.coord([api.value(0), api.value(1)]);
              const y2 = api.coord([api.value(0), api.value(2)])[1];
              return { type: "group", children: [line(x, y1, x, y2, shade, 1.6), line(x - 4, y1, x + 4, y1, shade, 1.6), line(x - 4, y2, x + 4, y2, shade, 1.6)] };
            },
          }];
        }),
      },
    };
  };

  const PANELS = [
    ["cpu_percent", "CPU, %"], ["memory_mb", "Memory, MB"], ["gpu_percent", "GPU, %"],
    ["gpu_memory_mb", "GPU memory, MB"], ["power_w", "Power, W"],
  ];
  drawings.timelines = (view) => {
    const here = visible(view.data);
    const contenders = unique(here.map((row) => row.contender));
    if (!contenders.length) return null;
    const contender = view.select("contender", contenders);
    const rows = here.filter((row) => row.contender === contender);
    const found = view.data.settings.phases.find((entry) => entry[0] === state.workload && entry[1] === contender);
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
          axisLabel: { show: i === panels.length - 1, color: ink.soft, fontSize: 12, formatter: (v) => brief(v) + " s", hideOverlap: true, showMaxLabel: false } })),
        yAxis: panels.map(([, title], i) => valueAxis({ gridIndex: i, min: 0, name: title, nameTextStyle: { color: ink.soft, fontSize: 12, align: "left", padding: [0, 0, 0, -46] }, splitNumber: 3 })),
        series: panels.map(([name], i) => ({
          type: "line", xAxisIndex: i, yAxisIndex: i, symbol: "none", data: rows.map((row) => [row.t, row[name]]),
          lineStyle: { color: colour(rows[0].framework), width: 1.8 }, itemStyle: { color: colour(rows[0].framework) },
          markArea: { silent: true, data: areas },
        })),
      },
    };
  };

  drawings.dots = (view) => {
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
        xAxis: valueAxis({ scale: true, boundaryGap: ["6%", "6%"], splitLine: { show: false }, axisLabel: { color: ink.soft, fontSize: 12, hideOverlap: true, formatter: (v) => brief(v) + (unit ? " " + unit : "") } }),
        series: [{
          type: "scatter", symbolSize: 11, data: rows.map((row) => ({
            value: [row.value, contenders.indexOf(row.contender)],
            itemStyle: { color: colour(row.framework), opacity: 0.7, borderColor: ink.back, borderWidth: 1 } })),
          tooltip: { formatter: ({ dataIndex }) => {
            const { seed } = rows[dataIndex];
            const same = rows.filter((row) => row.seed === seed).slice(0, 12);
            return tip("seed " + seed, same.map((row) => [row.contender, number(row.value) + (unit ? " " + unit : "")]));
          } },
        }],
      },
    };
  };

  drawings.confusion = (view) => {
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
  };

  // ---- views: one chart each --------------------------------------------------------------------

  class View {
    constructor(figure) {
      this.figure = figure;
      this.box = figure.querySelector(".drawing");
      this.controls = figure.querySelector(".controls");
      this.title = figure.querySelector("h3").textContent;
      this.places = figure.dataset.places.split(" ");
      this.everyWorkload = figure.classList.contains("lead");
      this.drawn = false;
      this.near = false;
      this.chosen = {};
      figure.querySelector("details.data").addEventListener("toggle", (event) => {
        if (event.target.open) { this.load(); fillTable(this); }
      });
    }

    /** Charts that have nothing of the chosen workload are not there at all. */
    show() {
      const place = String(page.workloads.indexOf(state.workload));
      this.figure.hidden = !this.everyWorkload && !this.places.includes(place);
    }

    load() {
      this.data ||= unpack(this.figure.dataset.chart);
    }

    /** A row of buttons of which one is on. */
    choice(name, options, first) {
      if (!options.includes(this.chosen[name])) this.chosen[name] = first;
      if (options.length > 1) {
        for (const option of options) {
          this.fresh.push(el("button", {
            type: "button", text: option, "aria-pressed": String(option === this.chosen[name]),
            onclick: () => { this.chosen[name] = option; this.draw(); this.refocus(option); },
          }));
        }
      }
      return this.chosen[name];
    }

    refocus(text) {
      [...this.controls.querySelectorAll("button")].find((button) => button.textContent === text)?.focus();
    }

    select(name, options) {
      if (!options.includes(this.chosen[name])) this.chosen[name] = options[0];
      if (options.length > 1) {
        const list = el("select", { "aria-label": name });
        for (const option of options) list.append(el("option", { text: option, value: option }));
        list.value = this.chosen[name];
        list.addEventListener("change", () => {
          this.chosen[name] = list.value;
          this.draw();
          this.controls.querySelector("select").focus();
        });
        this.fresh.push(list);
      }
      return this.chosen[name];
    }

    legend(entries) {
      const list = el("div", { class: "legend" });
      for (const [text, fill] of entries) {
        const swatch = el("i", {});
        swatch.style.background = fill;
        list.append(el("span", {}, swatch, text));
      }
      this.fresh.push(list);
    }

    draw() {
      this.load();
      this.drawn = true;
      this.limit = "";
      this.fresh = [];
      this.width = this.box.clientWidth || 600;
      const made = drawings[this.data.drawing](this);
      this.controls.replaceChildren(...this.fresh);
      this.figure.querySelector(".limit").textContent = made ? this.limit : "Nothing to show for what is chosen above.";
      if (!made) {
        this.box.style.height = "0px";
        this.chart?.dispose();
        this.chart = null;
        return;
      }
      this.box.style.height = made.height + "px";
      if (!this.chart) this.chart = echarts.init(this.box, null, { renderer: "svg", width: this.width, height: made.height });
      else this.chart.resize({ width: this.width, height: made.height });
      this.chart.setOption(made.option, { notMerge: true });
      if (this.figure.querySelector("details.data").open) fillTable(this);
    }
  }

  const views = [...document.querySelectorAll("figure.chart")].map((figure) => new View(figure));
  const byFigure = new Map(views.map((view) => [view.figure, view]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const view = byFigure.get(entry.target);
      view.near = entry.isIntersecting;
      if (view.near && !view.drawn) view.draw();
    }
  }, { rootMargin: "400px" });

  /** Everything changes: what is near is drawn now, the rest when it comes near. */
  function redraw() {
    readTheme();
    for (const view of views) {
      view.drawn = false;
      view.show();
      if (view.near && !view.figure.hidden) view.draw();
    }
  }

  // ---- the page ---------------------------------------------------------------------------------

  function setUpFilters() {
    const bar = document.querySelector(".filters");
    const chips = document.getElementById("chips");
    const list = document.getElementById("workload");
    if (page.frameworks.length < 2 && !list) return;
    bar.hidden = false;
    list?.addEventListener("change", () => { state.workload = list.value; redraw(); });
    if (page.frameworks.length < 2) return;
    for (const framework of page.frameworks) {
      const dot = el("i", {});
      dot.dataset.framework = framework;
      const chip = el("button", {
        type: "button", class: "chip", "aria-pressed": "true", title: "Show or hide " + framework,
        onclick: () => {
          const on = state.hidden.delete(framework);
          if (!on) state.hidden.add(framework);
          chip.setAttribute("aria-pressed", String(on));
          for (const row of document.querySelectorAll(".matrix tr[data-framework]")) {
            row.hidden = state.hidden.has(row.dataset.framework);
          }
          redraw();
        },
      }, dot, framework);
      chips.append(chip);
    }
  }

  function paintChips() {
    for (const dot of document.querySelectorAll(".chip i")) dot.style.background = colour(dot.dataset.framework);
  }

  function setUpTabs() {
    const tabs = document.querySelector(".tabs");
    if (!tabs) return;
    const buttons = [...tabs.querySelectorAll("button")];
    const show = (chosen) => {
      for (const button of buttons) {
        const on = button === chosen;
        button.setAttribute("aria-pressed", String(on));
        document.getElementById("matrix-" + button.dataset.matrix).hidden = !on;
      }
    };
    for (const button of buttons) button.addEventListener("click", () => show(button));
    tabs.hidden = buttons.length < 2;
    if (buttons.length) show(buttons[0]);
  }

  function setUpTheme() {
    const button = document.getElementById("theme");
    const root = document.documentElement;
    try { root.dataset.theme = localStorage.getItem("dlbench-theme") || root.dataset.theme || ""; } catch { /* not allowed here */ }
    if (!root.dataset.theme) delete root.dataset.theme;
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = dark ? "light" : "dark";
      try { localStorage.setItem("dlbench-theme", root.dataset.theme); } catch { /* not allowed here */ }
      redraw();
      paintChips();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { redraw(); paintChips(); });
  }

  function setUpContents() {
    const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
    const seen = new Set();
    const spy = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) seen.add(entry.target.id);
        else seen.delete(entry.target.id);
      }
      const first = [...links.keys()].find((id) => seen.has(id));
      for (const [id, link] of links) {
        if (id === first) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }, { rootMargin: "-80px 0px -55% 0px" });
    for (const id of links.keys()) {
      const section = document.getElementById(id);
      if (section) spy.observe(section);
    }
  }

  setUpTheme();
  readTheme();
  setUpFilters();
  paintChips();
  setUpTabs();
  setUpContents();
  for (const view of views) {
    view.show();
    watcher.observe(view.figure);
  }
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) { width = innerWidth; redraw(); }
  });
  addEventListener("beforeprint", () => {
    for (const view of views) if (!view.drawn && !view.figure.hidden) view.draw();
  });
  // How long it took, for whoever asks.
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
