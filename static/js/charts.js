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
    CHOICE = document.getElementById("chart-choice"),
    PERIOD = CHOICE.querySelector(".period"),
    FAILED = document.getElementById("charts-failed"),
    WORKING = document.getElementById("working"),
    WORKING_AFTER_MS = 300;
  const first = { since: PLACE.dataset.since, until: PLACE.dataset.until };
  const drawn = new Map();
  /* What the zoom began with. */
  const isWhole = ({ since, until }) => /^\d+[a-z]$/.test(since) && !until;
  let whole = isWhole(first) ? { ...first } : { since: "1h", until: "" };
  let span = { ...first },
    data = null,
    asked = 0,
    timer = 0,
    active = null;

  const zone = document.body.dataset.zone || "UTC";
  /* As everywhere on the pages: "Nov 23", and "2026-11-23 14:03:22 UTC", which is the Swedish form. */
  const time = (options, language = "en-US") =>
    new Intl.DateTimeFormat(language, { timeZone: zone, ...options });
  const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const DAY = { day: "numeric", month: "short" };
  const FORMATS = {
    second: time({ ...CLOCK, second: "2-digit" }),
    minute: time(CLOCK),
    day: time(DAY),
    full: time({ dateStyle: "short", timeStyle: "long" }, "sv-SE"),
  };
  const format = (name, seconds) => FORMATS[name].format(new Date(seconds * 1000));
  const number = (value, digits) =>
    value.toLocaleString("en", { maximumFractionDigits: digits });
  const significant = (value) =>
    value.toLocaleString("en", { maximumSignificantDigits: 3 });

  function duration(value) {
    if (value >= 86400) return `${significant(value / 86400)} d`;
    if (value >= 3600) return `${significant(value / 3600)} h`;
    if (value >= 60) return `${significant(value / 60)} min`;
    if (value >= 1 || value === 0) return `${significant(value)} s`;
    return value >= 0.001 ? `${significant(value * 1e3)} ms` : `${significant(value * 1e6)} µs`;
  }

  function bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    const power = value < 1 ? 0 : Math.min(5, Math.floor(Math.log2(value) / 10));
    return `${significant(value / 1024 ** power)} ${units[power]}`;
  }

  /* Rates are shown in the unit in which the highest of a chart is at least 0.5. */
  const SECONDS = { s: 1, min: 60, h: 3600, d: 86400 };
  const RATES = { "per second": 1, "per minute": 60 };

  function inReadableRate(chart) {
    const per = RATES[chart.unit];
    if (!per) return chart;
    const most = Math.max(0, ...chart.lines.flatMap(({ values }) => values)) / per;
    const unit = Object.keys(SECONDS).find((each) => most * SECONDS[each] >= 0.5) || "min";
    const scaled = (value) => (typeof value === "number" ? (value * SECONDS[unit]) / per : null);
    return { ...chart, unit, lines: chart.lines.map((line) => ({ ...line, values: line.values.map(scaled) })) };
  }

  /* Steps of an axis that are round in its unit: there is no half pod, and an hour has 60 minutes. */
  const powers = (base, least, most, factors) =>
    Array.from({ length: most - least }, (_, at) => base ** (least + at)).flatMap((power) =>
      factors.map((factor) => factor * power),
    );
  const WHOLE = powers(10, 0, 8, [1, 2, 5]);
  const STEPS = {
    pods: WHOLE,
    nodes: WHOLE,
    "yes or no": WHOLE,
    memory: powers(1024, 0, 6, [1, 2, 5, 10, 20, 50, 100, 200, 500]),
    seconds: [
      ...powers(10, -6, 1, [1, 2, 5]),
      10,
      20,
      30,
      ...[1, 2, 5, 10, 20, 30].map((minutes) => 60 * minutes),
      ...[1, 2, 4, 6, 12].map((hours) => 3600 * hours),
      ...powers(10, 0, 4, [1, 2, 5]).map((days) => 86400 * days),
    ],
  };

  const UNITS = {
    pods: (value) => number(value, 1),
    nodes: (value) => number(value, 1),
    ...Object.fromEntries(Object.keys(SECONDS).map((unit) => [unit, (value) => `${significant(value)}/${unit}`])),
    seconds: duration,
    share: (value) => `${number(value * 100, 1)} %`,
    cpu: (value) => `${significant(value / 1000)} cores`,
    memory: bytes,
    "yes or no": (value) => (value ? "yes" : "no"),
  };
  /* Durations are known as soon as there was one. */
  const say = (unit, value) => {
    if (value !== null && value !== undefined) return UNITS[unit](value);
    return unit === "seconds" ? "none" : "unknown";
  };

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  /* The place of a line's look: a state of pods has the same one in every chart. */
  const STATES = [
    "bound",
    "activeQ",
    "backoffQ",
    "unschedulable",
    "gated",
    "other schedulers",
    "succeeded",
    "failed",
  ];
  const look = ({ lines }, index) =>
    lines.every(({ name }) => STATES.includes(name)) ? STATES.indexOf(lines[index].name) : index;

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
      this.nothing = element("p", { class: "nothing", hidden: "" }, "Nothing in this span");
      this.legend = element("div", { class: "lines", role: "group" });
      this.rows = element("div", { class: "scroll rows", tabindex: "0", role: "region" });
      this.table = element("details", {}, element("summary", {}, "Table"), this.rows);
      this.frame = element(
        "div", { class: "frame" },
        this.plot,
        this.nothing,
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
      /* a finger that is lifted leaves the values in sight */
      this.plot.addEventListener("pointerleave", ({ pointerType }) => pointerType !== "touch" && this.leave());
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
      this.nothing.hidden = chart.lines.some(({ values }) => values.some((value) => typeof value === "number"));
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
          tzDate: (at) => uPlot.tzDate(new Date(at * 1000), zone),
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
              ...(unit in STEPS ? { incrs: STEPS[unit] } : {}),
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

    line = ({ name, edge }, index) => ({
      label: name,
      stroke: colour(look(this.chart, index)),
      width: edge ? 1 : 1.75,
      dash: DASHES[look(this.chart, index) % DASHES.length],
      show: !this.hidden.has(name),
      spanGaps: false,
      /* a state lasts until the next one: there is nothing in between */
      ...(this.chart.unit === "yes or no" ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
      points: { show: true, filter: alone, size: 5, fill: colour(look(this.chart, index)) },
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
          button.append(sample(look(this.chart, index)), name);
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
          return element("div", {}, sample(look(this.chart, index)), `${name} `, value);
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

  /* By half a span, not beyond now. */
  function move(direction) {
    const [from, to] = range(),
      by = Math.min((direction * (to - from)) / 2, seconds(data.now) - to);
    if (by) zoom(from + by, to + by);
  }

  function reset() {
    go({ ...whole });
  }

  /* The address follows once the span has been answered: a misspelt time is only an error here. */
  async function go(wanted) {
    const before = span;
    span = wanted;
    const answer = await load();
    if (answer && answer.status === 400) {
      span = before;
      scheduleRefresh();
    }
    if (!answer || !answer.ok) return;
    if (isWhole(wanted)) whole = { ...wanted };
    const here = new URL(location.href);
    here.searchParams.set("since", wanted.since);
    if (wanted.until) here.searchParams.set("until", wanted.until);
    else here.searchParams.delete("until");
    history.pushState({ span: wanted }, "", here);
    PERIOD.open = false;
  }

  function address(extra = {}) {
    const query = new URLSearchParams({ scope: PLACE.dataset.scope, since: span.since, zone, ...extra });
    if (PLACE.dataset.name) query.set("name", PLACE.dataset.name);
    if (span.until) query.set("until", span.until);
    return `${PLACE.dataset.source}?${query}`;
  }

  async function load(isLive = false) {
    clearTimeout(timer);
    const turn = (asked += 1);
    PLACE.setAttribute("aria-busy", "true");
    const sign = setTimeout(() => (WORKING.hidden &&= isLive), WORKING_AFTER_MS);
    let answer = null;
    try {
      answer = await fetch(address(), { headers: { Accept: "application/json" } });
    } catch {
      /* the site is restarting; the next refresh tries again */
    }
    const body = answer ? await answer.json().catch(() => null) : null;
    clearTimeout(sign);
    if (turn !== asked) return null;
    WORKING.hidden = true;
    PLACE.removeAttribute("aria-busy");
    tellFailure(answer, body);
    if (answer && answer.ok && body) {
      data = body;
      show();
    }
    scheduleRefresh();
    return answer;
  }

  function scheduleRefresh() {
    const interval = Number(PLACE.dataset.interval),
      wait = Math.max(interval, Math.min(data ? data.step : interval, MOST_REFRESH_S));
    clearTimeout(timer);
    if (!span.until) timer = setTimeout(refresh, wait * 1000);
  }

  /* Figures that cannot be had are said to be missing: what is drawn is from before. */
  function tellFailure(answer, body) {
    FAILED.hidden = Boolean(answer && answer.ok && body);
    if (FAILED.hidden) return;
    const why = answer ? body?.message || `the site answered ${answer.status}` : "the site cannot be reached";
    FAILED.textContent = answer?.status === 400 ? why : `No newer figures: ${why}.`;
  }

  function refresh() {
    if (document.hidden) document.addEventListener("visibilitychange", refresh, { once: true });
    else if (PERIOD.open) PERIOD.addEventListener("toggle", refresh, { once: true });
    else load(true);
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
    for (const [place, chart] of data.charts.map(inReadableRate).entries()) {
      if (!drawn.has(chart.id)) drawn.set(chart.id, new Chart(chart.id));
      const one = drawn.get(chart.id);
      /* in the order of the figures, also those that appear later */
      if (PLACE.children[place] !== one.section) PLACE.insertBefore(one.section, PLACE.children[place] ?? null);
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
    const start = Math.min(...firsts.filter((at) => at >= 0), Infinity);
    SINCE.textContent =
      start > data.times.length / 10 && start < data.times.length ?
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
  CHOICE.elements.of.addEventListener("change", () => CHOICE.submit());
  CHOICE.addEventListener("submit", (event) => {
    event.preventDefault();
    go({ since: CHOICE.elements.since.value.trim() || "1h", until: CHOICE.elements.until.value.trim() });
  });
  document.getElementById("moves").addEventListener("click", ({ target }) => {
    if (!data) return;
    const [from, to] = range();
    if (target.dataset.move === "earlier") move(-1);
    else if (target.dataset.move === "later") move(1);
    else if (target.dataset.move === "in") zoomAround((from + to) / 2, 0.5);
    else if (target.dataset.move === "out") zoomAround((from + to) / 2, 2);
  });
  CHOICE.querySelector(".spans").addEventListener("click", (event) => {
    const link = event.target.closest("[data-since]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go({ since: link.dataset.since, until: "" });
  });
  window.addEventListener("popstate", (event) => {
    span = event.state?.span ?? { ...first };
    if (isWhole(span)) whole = { ...span };
    load();
  });
  const redraw = () => drawn.forEach((chart) => chart.draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true });
  load();
})();
