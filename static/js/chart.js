/* Charts over time, wherever a page has some: lines drawn by uPlot, with a legend, a table, and notes on
   what happened. The charts of a board share their times, their cursor and their zoom. Each chart is a
   slider whose value is the time of its cursor, so that screen readers announce the values. */

globalThis.schedwebCharts = (() => {
  const HEIGHT = 190,
    /* pixels between a cursor and a note that it shows */
    NEAR = 6,
    /* lines go on over gaps of this share of the width */
    BRIDGED = 0.1,
    /* a scale on which the highest value of a line is lower than this share is logarithmic */
    SMALL = 0.02,
    LEAST_DRAG = 6;
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

  /* The look of a line, its color and dashes, by its place. A state of pods has the same one in every
     chart; the edges of the range over all nodes are thin and grey, so that the area between them is
     the background of the other lines. */
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
  const EDGE = -1;
  const look = ({ lines }, index) => {
    if (lines[index].edge) return EDGE;
    return lines.every(({ name }) => STATES.includes(name)) ? STATES.indexOf(lines[index].name) : index;
  };

  const token = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (place) => token(place === EDGE ? "--slate-8" : `--series-${(place % 8) + 1}`);
  const dashes = (place) => (place === EDGE ? [] : DASHES[place % DASHES.length]);
  const faint = (text, percent) => `color-mix(in srgb, ${text} ${percent}%, transparent)`;

  /* The color of a note; the note says what happened in words. */
  const NOTES = {
    failure: "--red",
    "nodes-removed": "--red",
    cordon: "--amber",
    taint: "--amber",
    drain: "--amber",
    pause: "--ink-2",
    activation: "--violet",
    settings: "--violet",
  };
  const noteColour = ({ kind }) => token(NOTES[kind] ?? "--blue");
  const sayNote = ({ text, user, at, until }) =>
    `${user ? `${user}: ` : ""}${text}${until === null ? "" : ` (${duration(until - at)})`}`;

  const isKnown = (value) => value !== null && value !== undefined;

  /* The indexes of values without a neighbour, which are marked. */
  const alone = (u, line, shown) => {
    const values = u.data[line];
    if (!shown || !values) return [];
    return [...values.keys()].filter(
      (at) => isKnown(values[at]) && !isKnown(values[at - 1]) && !isKnown(values[at + 1]),
    );
  };

  const ticks = (u, splits, axis, space, step) =>
    splits.map((at) => {
      if (step >= 86400) return format("day", at);
      const text = format(step < 60 ? "second" : "minute", at);
      return text.startsWith("00:00") ? format("day", at) : text;
    });

  /* Counts of very different sizes share a chart: a scale that is linear up to the step below the
     smallest line, and logarithmic from there on. Returns that step, null for a linear scale. */
  const COUNTS = ["pods", "nodes", ...Object.keys(SECONDS)];

  function chooseLinearPart({ unit, lines }) {
    if (!COUNTS.includes(unit)) return null;
    const highest = lines
      .map(({ values }) => Math.max(0, ...values.filter(isKnown)))
      .filter((value) => value > 0);
    const most = Math.max(...highest),
      least = Math.min(...highest);
    return least < most * SMALL ? 10 ** Math.floor(Math.log10(least)) : null;
  }

  /* 0, then powers of ten up to the end of the scale. */
  const decades = (linear, most) => {
    const found = [0];
    for (let at = linear; at <= most; at *= 10) found.push(at);
    return found;
  };

  /* One chart with its legend and its table. */
  class Chart {
    constructor(board, id) {
      this.board = board;
      this.id = id;
      this.hidden = new Set();
      this.title = element("h2");
      this.scale = element("button", { type: "button", class: "scale small", hidden: "" }, "Logarithmic");
      this.help = element("p", { class: "hint" });
      this.plot = element("div", {
        class: "plot",
        tabindex: "0",
        role: "slider",
        ...(board.keys ? { "aria-describedby": board.keys } : {}),
      });
      this.tip = element("div", { class: "tip", hidden: "" });
      this.nothing = element("p", { class: "nothing", hidden: "" }, "Nothing in this span");
      this.legend = element("div", { class: "lines", role: "group" });
      this.rows = element("div", { class: "scroll rows", tabindex: "0", role: "region" });
      this.table = element("details", {}, element("summary", {}, "Table"), this.rows);
      this.frame = element("div", { class: "frame" }, this.plot, this.nothing, this.tip);
      this.section = element(
        "section", { class: "panel", id: `${board.prefix}-${id}` },
        element("div", { class: "head" }, this.title, this.scale),
        this.help,
        this.frame,
        this.legend,
        this.table,
      );
      this.listen();
    }

    listen() {
      this.table.addEventListener("toggle", () => this.fillTable());
      this.scale.addEventListener("click", () => {
        this.isLinear = !this.isLinear;
        this.draw();
      });
      this.plot.addEventListener("keydown", (event) => this.onKey(event));
      this.plot.addEventListener("focus", () => this.onFocus());
      this.plot.addEventListener("blur", () => this.leave());
      this.plot.addEventListener("pointerenter", () => (this.board.active = this));
      /* a finger that is lifted leaves the values in sight */
      this.plot.addEventListener("pointerleave", ({ pointerType }) => pointerType !== "touch" && this.leave());
      new ResizeObserver(() => this.resize()).observe(this.frame);
    }

    get times() {
      return this.board.data.times;
    }

    show(chart) {
      const linear = chooseLinearPart(chart);
      const same = this.chart && this.linear === linear && this.signature(this.chart) === this.signature(chart);
      this.chart = chart;
      this.linear = linear;
      this.title.textContent = chart.title;
      this.help.textContent = chart.help;
      this.help.hidden = !chart.help;
      this.plot.setAttribute("aria-label", `${chart.title}: time`);
      this.legend.setAttribute("aria-label", `Lines of ${chart.title}`);
      this.rows.setAttribute("aria-label", `Table of ${chart.title}`);
      this.nothing.hidden = chart.lines.some(({ values }) => values.some((value) => typeof value === "number"));
      if (same && this.u) this.u.setData(this.values());
      else this.draw();
      this.plot.setAttribute("aria-valuemin", 0);
      this.plot.setAttribute("aria-valuemax", Math.max(0, this.times.length - 1));
      this.keepCursor();
      this.fillTable();
    }

    /* A focused chart stays at the time of its cursor, the others at the end. */
    keepCursor() {
      const last = this.times.length - 1,
        focused = document.activeElement === this.plot && this.moment !== undefined;
      const at = focused ? this.nearest(this.moment) : last;
      if (focused && this.board.active === this) this.moveTo(at);
      else this.tell(Math.max(0, Math.min(last, at)));
    }

    nearest(moment) {
      const later = this.times.findIndex((at) => at >= moment);
      return later === -1 ? this.times.length - 1 : later;
    }

    signature = (chart) => chart.unit + chart.lines.map(({ name }) => name).join("\n");
    values = () => [this.times, ...this.chart.lines.map(({ values }) => values)];

    draw() {
      if (this.u) this.u.destroy();
      const { unit, lines } = this.chart;
      const logarithmic = this.linear !== null && !this.isLinear;
      this.scale.hidden = this.linear === null;
      this.scale.setAttribute("aria-pressed", String(logarithmic));
      this.drawLegend();
      this.u = new uPlot({
          width: Math.max(200, this.frame.clientWidth),
          height: HEIGHT,
          legend: { show: false },
          tzDate: (at) => uPlot.tzDate(new Date(at * 1000), zone),
          scales: {
            x: { time: !this.board.elapsed, range: () => this.board.range },
            y: {
              range: (u, least, most) => this.yRange(most),
              ...(logarithmic ? { distr: 4, asinh: this.linear } : {}),
            },
          },
          axes: [
            this.timeAxis(), {
              ...this.axis(),
              size: 68,
              space: 34,
              values: (u, splits) => splits.map((value) => UNITS[unit](value)),
              ...(unit in STEPS ? { incrs: STEPS[unit] } : {}),
              ...(logarithmic ? { splits: (u, axis, least, most) => decades(this.linear, most) } : {}),
            },
          ],
          cursor: {
            y: false,
            drag: { x: true, y: false, setScale: false },
            sync: { key: this.board.prefix },
            points: { size: 7 },
          },
          hooks: {
            drawAxes: [(u) => this.drawNotes(u)],
            setCursor: [(u) => this.point(u)],
            setSelect: [(u) => this.select(u)],
          },
          series: [{}, ...lines.map((line, index) => this.line(line, index))],
          bands: this.bands(),
        },
        this.values(),
        this.plot,
      );
    }

    timeAxis() {
      if (!this.board.elapsed)
        return { ...this.axis(), values: ticks, space: (u, axis, from, to) => (to - from > 300 ? 45 : 62), size: 30 };
      const values = (u, splits) => splits.map(duration);
      return { ...this.axis(), values, incrs: STEPS.seconds, space: 70, size: 30 };
    }

    axis = () => ({
      stroke: token("--ink-2"),
      font: `11px ${getComputedStyle(document.body).fontFamily}`,
      grid: { stroke: token("--line"), width: 1 },
      ticks: { stroke: token("--line"), width: 1, size: 4 },
    });

    line = ({ name, edge }, index) => {
      const place = look(this.chart, index),
        fixed = this.board.isWhole;
      return {
        label: name,
        stroke: colour(place),
        width: edge ? 1 : 1.75,
        dash: dashes(place),
        show: !this.hidden.has(name),
        spanGaps: fixed,
        ...(fixed ? {} : { gaps: (u, line, first, last, gaps) => this.keepGaps(u, gaps) }),
        /* a state lasts until the next one: there is nothing in between */
        ...(this.chart.unit === "yes or no" ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
        points: { show: true, filter: alone, size: 5, fill: colour(place) },
      };
    };

    /* Durations are known where something happened, and a line leads from one to the next. Other
       figures are unknown while the site was down: short gaps are bridged. */
    keepGaps(u, gaps) {
      if (this.chart.unit === "seconds") return [];
      return gaps.filter(([from, to]) => to - from > u.bbox.width * BRIDGED);
    }

    bands() {
      const edges = [...this.chart.lines.keys()].filter((at) => this.chart.lines[at].edge);
      if (edges.length < 2) return [];
      return [{ series: [edges.at(-1) + 1, edges[0] + 1], fill: faint(token("--slate-8"), 25) }];
    }

    yRange(most) {
      if (this.chart.unit === "yes or no") return [0, 1];
      if (!most || most <= 0) return [0, 1];
      return [0, this.chart.unit === "share" && most > 0.6 ? Math.max(1, most) : most * 1.08];
    }

    /* A line where something happened, an area while it lasted. */
    drawNotes(u) {
      const { ctx, bbox } = u,
      [since, until] = this.board.range,
        scale = devicePixelRatio || 1;
      const across = (moment) => Math.round(u.valToPos(moment, "x", true));
      ctx.save();
      for (const note of this.board.notes) {
        const left = across(Math.max(note.at, since));
        ctx.strokeStyle = ctx.fillStyle = noteColour(note);
        if (note.until !== null) {
          ctx.globalAlpha = 0.1;
          ctx.fillRect(left, bbox.top, across(Math.min(note.until, until)) - left, bbox.height);
          ctx.globalAlpha = 1;
        }
        if (note.at < since) continue;
        ctx.lineWidth = scale;
        ctx.setLineDash([3 * scale, 3 * scale]);
        ctx.beginPath();
        ctx.moveTo(left, bbox.top);
        ctx.lineTo(left, bbox.top + bbox.height);
        ctx.stroke();
        ctx.beginPath();
        ctx.moveTo(left - 4 * scale, bbox.top);
        ctx.lineTo(left + 4 * scale, bbox.top);
        ctx.lineTo(left, bbox.top + 6 * scale);
        ctx.fill();
      }
      ctx.restore();
    }

    /* The notes that a cursor is near. */
    notesNear(moment) {
      const width = this.u.over.clientWidth || 1,
        [since, until] = this.board.range,
        near = ((until - since) / width) * NEAR;
      return this.board.notes.filter(({ at }) => Math.abs(at - moment) <= near).map(sayNote);
    }

    drawLegend() {
      this.figures = this.chart.lines.map(() => element("span", { class: "figure" }));
      this.legend.replaceChildren(
        ...this.chart.lines.map(({ name }, index) => {
          const button = element("button", {
            type: "button",
            class: "line",
            "aria-pressed": String(!this.hidden.has(name)),
          });
          button.append(sample(look(this.chart, index)), name, " ", this.figures[index]);
          button.addEventListener("click", () => {
            if (!this.hidden.delete(name)) this.hidden.add(name);
            button.setAttribute("aria-pressed", String(!this.hidden.has(name)));
            this.u.setSeries(index + 1, { show: !this.hidden.has(name) });
          });
          return button;
        }),
      );
      this.fillLegend(null);
    }

    /* The values at the cursor of any chart of the board; without one, the last that are known. */
    fillLegend(at) {
      this.chart.lines.forEach(({ values }, index) => {
        const value = at === null ? values.findLast(isKnown) : values[at];
        this.figures[index].textContent = isKnown(value) ? UNITS[this.chart.unit](value) : "–";
      });
    }

    resize() {
      const width = this.frame.clientWidth;
      if (!this.u || !width || width === this.u.width) return;
      this.u.setSize({ width, height: HEIGHT });
      if (this.followed !== undefined) queueMicrotask(() => this.follow(this.followed));
    }

    /* The cursor moved, by the pointer here or on another chart, or by a key. */
    point(u) {
      const at = u.cursor.idx;
      const gone = !isKnown(at) || u.cursor.left < 0;
      this.fillLegend(gone ? null : at);
      if (this.board.active !== this || gone) {
        this.tip.hidden = true;
        return;
      }
      this.tell(at);
      const lines = this.chart.lines.filter(({ name }) => !this.hidden.has(name));
      this.tip.replaceChildren(
        element("b", {}, this.board.say(this.times[at])),
        ...this.notesNear(u.posToVal(u.cursor.left, "x")).map((text) => element("div", { class: "note" }, text)),
        ...lines.map(({ name, values }) => {
          const index = this.chart.lines.findIndex((line) => line.name === name);
          const value = element("span", {}, say(this.chart.unit, values[at]));
          return element("div", {}, sample(look(this.chart, index)), `${name} `, value);
        }),
      );
      this.tip.hidden = false;
      const left = u.valToPos(this.times[at], "x") + u.over.offsetLeft;
      const room = this.frame.clientWidth - this.tip.offsetWidth;
      const right = left + 14;
      this.tip.style.left = `${right <= room ? right : Math.max(0, left - 14 - this.tip.offsetWidth)}px`;
      this.tip.style.top = "6px";
    }

    tell(at, more = "") {
      const { unit, lines } = this.chart;
      const shown = lines.filter(({ name }) => !this.hidden.has(name));
      const texts = shown.map(({ name, values }) => `${name} ${say(unit, values[at])}`);
      this.at = at;
      this.plot.setAttribute("aria-valuenow", at);
      const moment = (this.moment = this.times[at]);
      if (moment === undefined) {
        this.plot.setAttribute("aria-valuetext", "no data");
        return;
      }
      const notes = this.u ? this.notesNear(moment) : [];
      const text = [`${this.board.say(moment)}: ${texts.join(", ")}`, ...notes, more].filter(Boolean).join(". ");
      this.plot.setAttribute("aria-valuetext", text);
    }

    onFocus() {
      this.board.active = this;
      if (!this.plot.matches(":hover")) this.moveTo(Math.min(this.at, this.times.length - 1));
    }

    leave() {
      if (document.activeElement === this.plot && this.plot.matches(":focus-visible")) return;
      if (this.board.active === this) this.board.active = null;
      this.tip.hidden = true;
    }

    moveTo(at) {
      const place = Math.max(0, Math.min(this.times.length - 1, at));
      this.u.setCursor({ left: this.u.valToPos(this.times[place], "x"), top: 10 });
      this.tell(place);
    }

    /* Puts the cursor to a place without a focus, as a film does. */
    follow(at) {
      this.followed = at;
      this.u.setCursor({ left: this.u.valToPos(this.times[at], "x"), top: 10 }, false);
      this.fillLegend(at);
      this.tell(at);
    }

    onKey(event) {
      const last = this.times.length - 1,
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
      this.board.active = this;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key in places) {
        const from = event.shiftKey ? (this.anchor ?? at) : undefined;
        this.moveTo(places[event.key]);
        this.mark(from);
      } else if (event.key === "Enter" && this.anchor !== undefined) this.zoomToMarked();
      else if (event.key === "Escape" && this.anchor !== undefined) this.mark(undefined);
      else if (event.key === "+" || event.key === "=") this.board.zoomAround(this.times[at], 0.5);
      else if (event.key === "-") this.board.zoomAround(this.times[at], 2);
      else if (event.key === "0") this.board.reset();
      else return;
      event.preventDefault();
    }

    /* Marks the span between a place and the cursor, as dragging does; undefined: none. */
    mark(from) {
      this.anchor = from;
      const ends = from === undefined ? [0, 0] : [from, this.at].map((at) => this.u.valToPos(this.times[at], "x"));
      const left = Math.min(...ends);
      const size = { left, top: 0, width: Math.max(...ends) - left, height: this.u.over.clientHeight };
      this.u.setSelect(size, false);
      if (from === undefined) return;
      const words = [from, this.at].sort((a, b) => a - b).map((at) => this.board.say(this.times[at]));
      this.tell(this.at, `Selected ${words.join(" to ")}, Enter zooms in`);
    }

    zoomToMarked() {
      const ends = [this.anchor, this.at].sort((a, b) => a - b).map((at) => this.times[at]);
      this.mark(undefined);
      this.board.zoom(...ends);
    }

    select(u) {
      if (u.select.width < LEAST_DRAG || this.anchor !== undefined) return;
      const from = u.posToVal(u.select.left, "x"),
        to = u.posToVal(u.select.left + u.select.width, "x");
      u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      this.board.zoom(from, to);
    }

    fillTable() {
      if (!this.table.open || !this.chart) return;
      const { unit, lines } = this.chart;
      const heads = ["Time", ...lines.map(({ name }) => name)];
      const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
      const body = element("tbody");
      for (let at = this.times.length - 1; at >= 0; at -= 1) {
        const cells = lines.map(({ values }) =>
          element("td", { class: "num" }, isKnown(values[at]) ? UNITS[unit](values[at]) : "–"),
        );
        const moment = element("th", { scope: "row" }, this.board.say(this.times[at]));
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
  function sample(place) {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg"),
      path = document.createElementNS(space, "path");
    svg.setAttribute("viewBox", "0 0 28 8");
    svg.setAttribute("class", place === EDGE ? "sample edge" : `sample n${(place % 8) + 1}`);
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", "M0 4h28");
    path.setAttribute("stroke-dasharray", dashes(place).join(" "));
    svg.append(path);
    return svg;
  }

  /* The charts in one place of a page. `data` has `times` and `charts`; `elapsed`: times are seconds
     since a start; `isWhole`: values are missing only where another line has a time of its own;
     `keys`: the id of what describes the keys. A zoom is `onZoom`'s; without it, within the data. */
  class Board {
    constructor(place, { prefix = place.id, elapsed = false, isWhole = false, keys = "", onZoom, onReset } = {}) {
      Object.assign(this, { place, prefix, elapsed, isWhole, keys, onZoom, onReset });
      this.drawn = new Map();
      this.notes = [];
      this.active = null;
      const redraw = () => this.redraw(),
        left = (this.left = new AbortController());
      for (const media of ["(prefers-color-scheme: dark)", "print"])
        matchMedia(media).addEventListener("change", redraw, { signal: left.signal });
      this.looks = new MutationObserver(redraw);
      this.looks.observe(document.documentElement, { attributes: true });
    }

    /* The place is gone. */
    leave() {
      this.left.abort();
      this.looks.disconnect();
      for (const chart of this.drawn.values()) chart.u.destroy();
    }

    say = (moment) => (this.elapsed ? duration(moment) : format("full", moment));

    redraw() {
      for (const chart of this.drawn.values()) chart.draw();
    }

    /* Shows the charts of new data, in their order, between two times or as a whole. */
    show(data, range, notes = []) {
      const changed = JSON.stringify(notes) !== JSON.stringify(this.notes);
      Object.assign(this, { data, notes });
      this.range = range ?? this.ends;
      const wanted = new Set(data.charts.map(({ id }) => id));
      for (const [id, chart] of this.drawn) {
        if (!wanted.has(id)) {
          chart.section.remove();
          this.drawn.delete(id);
        }
      }
      for (const [at, chart] of data.charts.map(inReadableRate).entries()) {
        if (!this.drawn.has(chart.id)) this.drawn.set(chart.id, new Chart(this, chart.id));
        const one = this.drawn.get(chart.id);
        /* in the order of the figures, also those that appear later */
        if (this.place.children[at] !== one.section)
          this.place.insertBefore(one.section, this.place.children[at] ?? null);
        one.show(chart);
      }
      if (changed) this.redraw();
    }

    zoom(from, to) {
      if (this.onZoom) this.onZoom(from, to);
      else this.showRange([from, to]);
    }

    zoomAround(middle, factor) {
      const [from, to] = this.range,
        half = ((to - from) * factor) / 2;
      this.zoom(middle - half, middle + half);
    }

    reset() {
      if (this.onReset) this.onReset();
      else this.showRange(this.ends);
    }

    /* A run may have been over at its first sample. */
    get ends() {
      const { times } = this.data;
      return [times[0], Math.max(times.at(-1), times[0] + 1)];
    }

    showRange([from, to]) {
      const [first, last] = this.ends;
      this.range = [Math.max(first, from), Math.min(last, to)];
      for (const chart of this.drawn.values()) chart.u.setData(chart.values());
    }
  }

  return { Board, element, format, sayNote };
})();
