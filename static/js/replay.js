/* The plots of a replay: for each level a line of each life, drawn by uPlot. */

(() => {
  const HEIGHT = 190;
  const LINES = {
    recorded: { color: "--series-1", words: "solid" },
    baseline: { color: "--ink-2", words: "dotted", dash: [2, 4] },
    replayed: { color: "--series-2", words: "dashed", dash: [8, 4] },
  };
  const zone = document.body.dataset.zone || "UTC";
  const token = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const say = (share, value) => {
    if (value === null || value === undefined) return "unknown";
    const shown = share ? value * 100 : value;
    return shown.toLocaleString("en", { maximumFractionDigits: 1 }) + (share ? " %" : "");
  };

  const time = (parts) => new Intl.DateTimeFormat("en-US", { timeZone: zone, ...parts });
  const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const FORMATS = {
    second: time({ ...CLOCK, second: "2-digit" }),
    minute: time(CLOCK),
    day: time({ day: "numeric", month: "short" }),
  };
  const ticks = (u, splits, index, space, step) => {
    const name = step < 60 ? "second" : step < 86400 ? "minute" : "day";
    return splits.map((at) => FORMATS[name].format(new Date(at * 1000)));
  };

  function axis(extra) {
    const line = { stroke: token("--line"), width: 1 };
    return { stroke: token("--ink-2"), grid: line, ticks: line, ...extra };
  }

  function options(series, width) {
    return {
      width,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: true, y: false } },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), zone),
      axes: [
        axis({ space: 80, values: ticks }),
        axis({ size: 60, values: (u, splits) => splits.map((at) => say(series.share, at)) }),
      ],
      series: [
        {},
        ...series.lives.map((life) => ({
          label: life.name,
          stroke: token(LINES[life.name].color),
          width: 2,
          dash: LINES[life.name].dash,
        })),
      ],
    };
  }

  function describe(series, at) {
    const when = at === null || at === undefined ? "At the end" : "Here";
    const said = series.lives.map(
      ({ name, values }) =>
      `${name} (${LINES[name].words}) ${say(series.share, values[at ?? values.length - 1])}`,
    );
    return `${when}: ${said.join(", ")}`;
  }

  function draw(section, times, series) {
    const place = section.querySelector(".plot");
    const words = section.querySelector("p");
    const settings = options(series, place.clientWidth);
    const write = (at) => (words.textContent = describe(series, at));
    settings.hooks = { setCursor: [(u) => write(u.cursor.idx)] };
    place.replaceChildren();
    const plot = new uPlot(settings, [times, ...series.lives.map((life) => life.values)], place);
    write(null);
    place.setAttribute("aria-label", `${series.label}. ${words.textContent}`);
    return plot;
  }

  let plots = [];

  function drawAll() {
    const list = document.querySelector("[data-replay]");
    if (!list) return;
    const { times, series } = JSON.parse(list.dataset.replay);
    for (const each of plots) each.destroy();
    plots = [...list.children].map((section, at) => draw(section, times, series[at]));
  }

  function resizeAll() {
    for (const each of plots) {
      each.setSize({ width: each.root.parentElement.clientWidth, height: HEIGHT });
    }
  }

  document.addEventListener("htmx:load", drawAll);
  window.addEventListener("resize", resizeAll);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  drawAll();
})();
