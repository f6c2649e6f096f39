/* Charts over time: fetched as JSON, drawn by uPlot, refreshed in place. Each chart is a slider whose
   value is the time of its cursor, so that screen readers announce the values; a table is below it. */

(() => {
  const PLACE = document.getElementById("charts");
  if (!PLACE) return;
  const HEIGHT = 190,
    MOST_REFRESH_S = 60,
    LEAST_SPAN_S = 60;
  const DASHES = [
    [],
    [8, 4],
    [2, 3],
    [10, 3, 2, 3],
    [14, 4],
    [5, 2],
    [2, 6],
    [12, 3, 2, 3, 2, 3]
  ];
  const EMPTY = document.getElementById("charts-empty"),
    ZOOMED = document.getElementById("zoomed"),
    SINCE = document.getElementById("charts-since"),
    CSV = document.getElementById("charts-csv"),
    CHOICE = document.getElementById("chart-choice");
  const first = { since: PLACE.dataset.since, until: PLACE.dataset.until };
  const drawn = new Map();
  let span = { ...first },
    data = null,
    asked = 0,
    timer = 0,
    active = null;

  const zone = document.body.dataset.zone || "UTC";
  const time = (options) => new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options });
  const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const DAY = { day: "numeric", month: "short" };
  const FORMATS = {
    second: time({ ...CLOCK, second: "2-digit" }),
    minute: time(CLOCK),
    day: time(DAY),
    full: time({ ...DAY, ...CLOCK, second: "2-digit", year: "numeric", timeZoneName: "short" }),
  };
  const format = (name, seconds) => FORMATS[name].format(new Date(seconds * 1000));
  const number = (value, digits) =>
    value.toLocaleString("en", { maximumFractionDigits: digits });
  const significant = (value) =>
    value.toLocaleString("en", { maximumSignificantDigits: 3 });

  function duration(value) {
    if (value >= 86400) return `${significant(value / 86400)} d`;
    if (value >= 3600) return `${significant(value / 3600)} h`;
    if (value >= 120) return `${significant(value / 60)} min`;
    if (value >= 1 || value === 0) return `${significant(value)} s`;
    return value >= 0.001 ? `${significant(value * 1e3)} ms` : `${significant(value * 1e6)} µs`;
  }

  function bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    const power = value < 1 ? 0 : Math.min(5, Math.floor(Math.log2(value) / 10));
    return `${significant(value / 1024 ** power)} ${units[power]}`;
  }

  const UNITS = {
    pods: (value) => number(value, 1),
    nodes: (value) => number(value, 1),
    "per second": (value) => `${significant(value)}/s`,
    "per minute": (value) => `${significant(value)}/min`,
    seconds: duration,
    share: (value) => `${number(value * 100, 1)} %`,
    cpu: (value) => `${significant(value / 1000)} cores`,
    memory: bytes,
    "yes or no": (value) => (value ? "yes" : "no"),
  };
  const say = (unit, value) =>
    value === null || value === undefined ? "unknown" : UNITS[unit](value);

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const token = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (index) => token(`--series-${(index % 8) + 1}`);

  /* Half-way between a solid and no line: for the area between the least and the most used node. */
  const faint = (text) => `color-mix(in srgb, ${text} 14%, transparent)`;

  const ticks = (u, splits, axis, space, step) =>
    splits.map((at) => {
      if (step >= 86400) return format("day", at);
      const text = format(step < 60 ? "second" : "minute", at);
      return text.startsWith("00:00") ? format("day", at) : text;
    });

  /* The indexes of values without a neighbour, which no line would show. */
  const alone = (u, line, shown) => {
    const values = u.data[line];
    if (!shown || !values) return [];
    const has = (index) => values[index] !== null && values[index] !== undefined;
    return [...values.keys()].filter((at) => has(at) && !has(at - 1) && !has(at + 1));
  };

  /* One chart with its legend and its table. */
  class Chart {
    constructor(id) {
      this.id = id;
      this.hidden = new Set();
      this.title = element("h2");
      this.help = element("p", { class: "hint" });
      this.plot = element("div", {
        class: "plot",
        tabindex: "0",
        role: "slider",
        "aria-describedby": "chart-keys",
      });
      this.tip = element("div", { class: "tip", hidden: "" });
      this.legend = element("div", { class: "lines", role: "group" });
      this.rows = element("div", { class: "scroll rows", tabindex: "0", role: "region" });
      this.table = element("details", {}, element("summary", {}, "Table"), this.rows);
      this.frame = element(
        "div", { class: "frame" },
        this.plot,
        this.tip,
      );
      this.section = element(
        "section", { class: "panel", id: `chart-${id}` },
        this.title,
        this.help,
        this.frame,
        this.legend,
        this.table,
      );
      this.table.addEventListener("toggle", () => this.fillTable());
      this.plot.addEventListener("keydown", (event) => this.onKey(event));
      this.plot.addEventListener("focus", () => this.onFocus());
      this.plot.addEventListener("blur", () => this.leave());
      this.plot.addEventListener("pointerenter", () => (active = this));
      this.plot.addEventListener("pointerleave", () => this.leave());
      new ResizeObserver(() => this.resize()).observe(this.frame);
    }

    show(chart) {
      const same = this.chart && this.signature(this.chart) === this.signature(chart);
      this.chart = chart;
      this.title.textContent = chart.title;
      this.help.textContent = chart.help;
      this.plot.setAttribute("aria-label", `${chart.title}: time`);
      this.legend.setAttribute("aria-label", `Lines of ${chart.title}`);
      this.rows.setAttribute("aria-label", `Table of ${chart.title}`);
      if (same && this.u) this.u.setData(this.values());
      else this.draw();
      this.plot.setAttribute("aria-valuemin", 0);
      this.plot.setAttribute("aria-valuemax", Math.max(0, data.times.length - 1));
      this.keepCursor();
      this.fillTable();
    }

    /* A focused chart stays at the time of its cursor, the others at the end. */
    keepCursor() {
      const last = data.times.length - 1,
        focused = document.activeElement === this.plot && this.moment !== undefined;
      const at = focused ? Math.round((this.moment - data.times[0]) / data.step) : last;
      if (focused && active === this) this.moveTo(at);
      else this.tell(Math.max(0, Math.min(last, at)));
    }

    signature = (chart) => chart.unit + chart.lines.map(({ name }) => name).join("\n");
    values = () => [data.times, ...this.chart.lines.map(({ values }) => values)];

    draw() {
      if (this.u) this.u.destroy();
      const { unit, lines } = this.chart;
      this.u = new uPlot({
          width: Math.max(200, this.frame.clientWidth),
          height: HEIGHT,
          legend: { show: false },
          scales: {
            x: { time: true, range: () => range() },
            y: { range: (u, least, most) => this.yRange(most) },
          },
          axes: [
            { ...this.axis(), values: ticks, space: 70, size: 30 }, {
              ...this.axis(),
              size: 68,
              space: 34,
              values: (u, splits) => splits.map((value) => UNITS[unit](value)),
              ...(["pods", "nodes", "yes or no"].includes(unit) ? { incrs: this.whole() } : {}),
            },
          ],
          cursor: {
            y: false,
            drag: { x: true, y: false, setScale: false },
            sync: { key: "charts" },
            points: { size: 7 },
          },
          hooks: {
            setCursor: [(u) => this.point(u)],
            setSelect: [(u) => this.select(u)],
          },
          series: [{}, ...lines.map((line, index) => this.line(line, index))],
          bands: this.bands(),
        },
        this.values(),
        this.plot,
      );
      this.drawLegend();
    }

    axis = () => ({
      stroke: token("--ink-2"),
      font: `11px ${getComputedStyle(document.body).fontFamily}`,
      grid: { stroke: token("--line"), width: 1 },
      ticks: { stroke: token("--line"), width: 1, size: 4 },
    });

    /* Whole steps: there is no half pod. */
    whole() {
      const powers = Array.from({ length: 8 }, (_, power) => 10 ** power);
      return powers.flatMap((power) => [power, 2 * power, 5 * power]);
    }

    line = ({ name, edge }, index) => ({
      label: name,
      stroke: colour(index),
      width: edge ? 1 : 1.75,
      dash: DASHES[index % DASHES.length],
      show: !this.hidden.has(name),
      spanGaps: false,
      points: { show: true, filter: alone, size: 5, fill: colour(index) },
    });

    bands() {
      const edges = [...this.chart.lines.keys()].filter((at) => this.chart.lines[at].edge);
      if (edges.length < 2) return [];
      return [{ series: [edges.at(-1) + 1, edges[0] + 1], fill: faint(colour(edges.at(-1))) }];
    }

    yRange(most) {
      if (this.chart.unit === "yes or no") return [0, 1];
      if (!most || most <= 0) return [0, 1];
      return [0, this.chart.unit === "share" && most > 0.6 ? Math.max(1, most) : most * 1.08];
    }

    drawLegend() {
      this.legend.replaceChildren(
        ...this.chart.lines.map(({ name }, index) => {
          const button = element("button", {
            type: "button",
            class: "line",
            "aria-pressed": String(!this.hidden.has(name)),
          });
          button.append(sample(index), name);
          button.addEventListener("click", () => {
            if (!this.hidden.delete(name)) this.hidden.add(name);
            button.setAttribute("aria-pressed", String(!this.hidden.has(name)));
            this.u.setSeries(index + 1, { show: !this.hidden.has(name) });
          });
          return button;
        }),
      );
    }

    resize() {
      const width = this.frame.clientWidth;
      if (this.u && width && width !== this.u.width) this.u.setSize({ width, height: HEIGHT });
    }

    /* The cursor moved, by the pointer here or on another chart, or by a key. */
    point(u) {
      const at = u.cursor.idx;
      if (active !== this || at === null || at === undefined || u.cursor.left < 0) {
        this.tip.hidden = true;
        return;
      }
      this.tell(at);
      const lines = this.chart.lines.filter(({ name }) => !this.hidden.has(name));
      this.tip.replaceChildren(
        element("b", {}, format("full", data.times[at])),
        ...lines.map(({ name, values }) => {
          const index = this.chart.lines.findIndex((line) => line.name === name);
          const value = element("span", {}, say(this.chart.unit, values[at]));
          return element("div", {}, sample(index), `${name} `, value);
        }),
      );
      this.tip.hidden = false;
      const left = u.valToPos(data.times[at], "x") + u.over.offsetLeft;
      const room = this.frame.clientWidth - this.tip.offsetWidth;
      const right = left + 14;
      this.tip.style.left = `${right <= room ? right : Math.max(0, left - 14 - this.tip.offsetWidth)}px`;
      this.tip.style.top = "6px";
    }

    tell(at) {
      const { unit, lines } = this.chart;
      const shown = lines.filter(({ name }) => !this.hidden.has(name));
      const texts = shown.map(({ name, values }) => `${name} ${say(unit, values[at])}`);
      this.at = at;
      this.plot.setAttribute("aria-valuenow", at);
      const moment = (this.moment = data.times[at]);
      const text = moment === undefined ? "no data" : `${format("full", moment)}: ${texts.join(", ")}`;
      this.plot.setAttribute("aria-valuetext", text);
    }

    onFocus() {
      active = this;
      if (!this.plot.matches(":hover")) this.moveTo(Math.min(this.at, data.times.length - 1));
    }

    leave() {
      if (document.activeElement === this.plot && this.plot.matches(":focus-visible")) return;
      if (active === this) active = null;
      this.tip.hidden = true;
    }

    moveTo(at) {
      const place = Math.max(0, Math.min(data.times.length - 1, at));
      this.u.setCursor({ left: this.u.valToPos(data.times[place], "x"), top: 10 });
      this.tell(place);
    }

    onKey(event) {
      const last = data.times.length - 1,
        leap = Math.max(1, Math.round(last / 10)),
        at = this.at ?? last;
      const places = {
        ArrowLeft: at - 1,
        ArrowDown: at - 1,
        ArrowRight: at + 1,
        ArrowUp: at + 1,
        PageUp: at - leap,
        PageDown: at + leap,
        Home: 0,
        End: last,
      };
      active = this;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key in places) this.moveTo(places[event.key]);
      else if (event.key === "+" || event.key === "=") zoomAround(data.times[at], 0.5);
      else if (event.key === "-") zoomAround(data.times[at], 2);
      else if (event.key === "0") reset();
      else return;
      event.preventDefault();
    }

    select(u) {
      if (u.select.width < 6) return;
      const from = u.posToVal(u.select.left, "x"),
        to = u.posToVal(u.select.left + u.select.width, "x");
      u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      zoom(from, to);
    }

    fillTable() {
      if (!this.table.open || !data) return;
      const { unit, lines } = this.chart;
      const heads = ["Time", ...lines.map(({ name }) => name)];
      const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
      const body = element("tbody");
      for (let at = data.times.length - 1; at >= 0; at -= 1) {
        const cells = lines.map(({ values }) => {
          const known = values[at] !== null && values[at] !== undefined;
          return element("td", { class: "num" }, known ? UNITS[unit](values[at]) : "–");
        });
        const moment = element("th", { scope: "row" }, format("full", data.times[at]));
        body.append(element("tr", {}, moment, ...cells));
      }
      const kept = this.rows.scrollTop;
      this.rows.replaceChildren(
        element("table", { class: "data" }, element("thead", {}, head), body),
      );
      this.rows.scrollTop = kept;
    }
  }

  /* The look of a line: colour and dashes. */
  function sample(index) {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg"),
      path = document.createElementNS(space, "path");
    svg.setAttribute("viewBox", "0 0 28 8");
    svg.setAttribute("class", `sample n${(index % 8) + 1}`);
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", "M0 4h28");
    path.setAttribute("stroke-dasharray", DASHES[index % DASHES.length].join(" "));
    svg.append(path);
    return svg;
  }

  const seconds = (text) => Date.parse(text) / 1000;
  const range = () => [seconds(data.since), seconds(data.until)];

  function zoomAround(middle, factor) {
    const [from, to] = range(),
      half = Math.max(LEAST_SPAN_S, (to - from) * factor) / 2;
    const until = Math.min(middle + half, seconds(data.now));
    zoom(Math.min(middle - half, until - LEAST_SPAN_S), until);
  }

  function zoom(from, to) {
    const middle = (from + to) / 2,
      half = Math.max(to - from, LEAST_SPAN_S) / 2;
    const iso = (moment) => `${new Date(moment * 1000).toISOString().slice(0, 19)}Z`;
    go({ since: iso(middle - half), until: iso(middle + half) });
  }

  function reset() {
    const preset = /^\d+[a-z]$/.test(first.since) && !first.until;
    go(preset ? { ...first } : { since: "1h", until: "" });
  }

  function go(wanted) {
    span = wanted;
    const here = new URL(location.href);
    here.searchParams.set("since", span.since);
    if (span.until) here.searchParams.set("until", span.until);
    else here.searchParams.delete("until");
    history.pushState({ span }, "", here);
    load();
  }

  function address(extra = {}) {
    const query = new URLSearchParams({ scope: PLACE.dataset.scope, since: span.since, zone, ...extra });
    if (PLACE.dataset.name) query.set("name", PLACE.dataset.name);
    if (span.until) query.set("until", span.until);
    return `${PLACE.dataset.source}?${query}`;
  }

  async function load() {
    clearTimeout(timer);
    const turn = (asked += 1);
    PLACE.setAttribute("aria-busy", "true");
    let answer = null;
    try {
      answer = await fetch(address(), { headers: { Accept: "application/json" } });
    } catch {
      /* the site is restarting; the next refresh tries again */
    }
    if (turn !== asked) return;
    PLACE.removeAttribute("aria-busy");
    if (answer && answer.ok) {
      data = await answer.json();
      if (turn === asked) show();
    }
    const step = data ? data.step : Number(PLACE.dataset.interval);
    const wait = Math.max(Number(PLACE.dataset.interval), Math.min(step, MOST_REFRESH_S));
    if (!span.until) timer = setTimeout(refresh, wait * 1000);
  }

  function refresh() {
    if (document.hidden) document.addEventListener("visibilitychange", refresh, { once: true });
    else load();
  }

  function show() {
    describeContents();
    CSV.href = address({ format: "csv" });
    describeSpan();
    const wanted = new Set(data.charts.map(({ id }) => id));
    for (const [id, chart] of drawn) {
      if (!wanted.has(id)) {
        chart.section.remove();
        drawn.delete(id);
      }
    }
    for (const chart of data.charts) {
      if (!drawn.has(chart.id)) drawn.set(chart.id, new Chart(chart.id));
      const one = drawn.get(chart.id);
      if (!one.section.isConnected) PLACE.append(one.section);
      one.show(chart);
    }
    PLACE.dataset.drawn = `${data.step} ${data.since} ${data.until}`;
  }

  /* Says when the figures start, and what to do if there are none. */
  function describeContents() {
    const pods = data.charts.find(({ id }) => id === "pods") || { lines: [] };
    const isKnown = (value) => value !== null && value !== undefined;
    const idle = !pods.lines.some(({ values }) => values.some((value) => value > 0));
    EMPTY.hidden = data.known && !idle;
    EMPTY.querySelector("[data-unknown]").hidden = data.known;
    EMPTY.querySelector("[data-idle]").hidden = !data.known;
    PLACE.hidden = !data.known;
    const firsts = pods.lines.map(({ values }) => values.findIndex(isKnown));
    const start = Math.max(-1, ...firsts);
    SINCE.textContent =
      start > data.times.length / 10 ?
      `The first figures of this span are from ${format("full", data.times[start])}.` :
      "";
  }

  function describeSpan() {
    const [from, to] = range();
    ZOOMED.hidden = !span.until;
    ZOOMED.firstElementChild.textContent = `${format("full", from)} – ${format("full", to)}`;
    for (const link of CHOICE.querySelectorAll("[data-since]")) {
      if (link.dataset.since === span.since && !span.until) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    for (const name of ["since", "until"]) {
      const field = CHOICE.elements[name];
      if (field) field.value = span[name];
    }
  }

  ZOOMED.querySelector("button").addEventListener("click", reset);
  CHOICE.addEventListener("change", () => CHOICE.requestSubmit());
  CHOICE.querySelector(".spans").addEventListener("click", (event) => {
    const link = event.target.closest("[data-since]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go({ since: link.dataset.since, until: "" });
  });
  window.addEventListener("popstate", (event) => {
    span = event.state?.span ?? { ...first };
    load();
  });
  const redraw = () => drawn.forEach((chart) => chart.draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true });
  load();
})();
