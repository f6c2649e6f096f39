/* Plays a span of a cluster's life: the heat map, the charts and what happens, at the same moment. The
   address has the span, the speed and the position, so that a link shows the same. */

(() => {
  const PLACE = document.getElementById("film");
  if (!PLACE) return;
  const { paint } = globalThis.schedwebHeat, { Board, element, format } = globalThis.schedwebCharts;
  const find = (id) => document.getElementById(`film-${id}`);
  const PLAY = find("play"),
    SPEED = find("speed"),
    POSITION = find("position"),
    TIME = find("time"),
    COUNTS = find("counts"),
    SAID = find("said"),
    LINK = find("link"),
    PAST = find("past"),
    LINES = find("lines"),
    FAILED = find("failed");
  const canvas = PLACE.querySelector("canvas");
  const LEAP = 10,
    /* frames are shown no longer than this, and no shorter for who wants less motion */
    CALM_MS = 1000;
  const iso = (seconds) => new Date(seconds * 1000).toISOString();
  const noun = (count, one) => `${count.toLocaleString("en")} ${one}`;
  let film = null,
    current = -1,
    playing = false,
    lines = [],
    board = null,
    shown = null;

  async function load() {
    const answer = await fetch(PLACE.dataset.source, { headers: { Accept: "application/json" } }).catch(() => null);
    const body = answer?.ok ? await answer.json().catch(() => null) : null;
    if (!body) {
      FAILED.textContent = await explain(answer);
      FAILED.hidden = false;
      return;
    }
    film = body;
    PLACE.hidden = false;
    POSITION.max = film.frames.length - 1;
    tellLines();
    drawCharts();
    await new Promise(requestAnimationFrame);
    const at = Number(PLACE.dataset.at);
    show(at ? placeOf(at) : 0);
    PLACE.dataset.drawn = String(film.frames.length);
  }

  /* The refusal is a page for people; its message is in it. */
  async function explain(answer) {
    if (!answer) return "The site cannot be reached.";
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return page.querySelector("main p")?.textContent.trim() || `The site answered ${answer.status}.`;
  }

  const placeOf = (at) => {
    const later = film.frames.findIndex((frame) => frame.at >= at);
    return later === -1 ? film.frames.length - 1 : later;
  };

  function tellLines() {
    lines = film.frames.flatMap((frame, place) =>
      frame.lines.map((line) => {
        const moment = element("time", { datetime: iso(line.at) }, format("second", line.at));
        const about = line.address ? element("a", { href: line.address }, line.text) : line.text;
        const item = element("li", { class: line.kind }, moment, " ", about);
        return { place, item, text: line.text };
      }),
    );
    LINES.replaceChildren(...lines.map(({ item }) => item));
  }

  /* Pods and queue as charts, with the position as their cursor. */
  function drawCharts() {
    const frames = film.frames;
    const line = (name, values) => ({ name, edge: false, values });
    const charts = [{
      id: "pods",
      title: "Pods",
      unit: "pods",
      help: "",
      lines: [
        line("on nodes", frames.map(({ bound }) => bound)),
        line("pending", frames.map(({ pending }) => pending)),
      ],
    }, {
      id: "queue",
      title: "Queue",
      unit: "pods",
      help: "",
      lines: film.parts.map((name, part) => line(name, frames.map(({ queue }) => queue[part]))),
    }, ];
    board = new Board(find("charts"), {
      isWhole: true,
      keys: "chart-keys",
      onZoom: (from, to) => {
        const query = new URLSearchParams({ since: iso(from), until: iso(to), speed: SPEED.value });
        location.href = `${location.pathname}?${query}`;
      },
    });
    const notes = frames.flatMap((frame) => frame.lines.filter(({ kind }) => kind));
    board.show({ times: frames.map(({ at }) => at), charts }, undefined, notes);
  }

  /* The cells at a frame: frames have what differs from the one before. */
  function fill(place) {
    if (!shown || place < current) {
      shown = { at: -1, shares: Array(film.names.length).fill(-2), states: Array(film.names.length).fill(0) };
    }
    for (let at = shown.at + 1; at <= place; at += 1)
      for (const [index, share, state] of film.frames[at].cells) {
        shown.shares[index] = share;
        shown.states[index] = state;
      }
    shown.at = place;
  }

  function draw() {
    const width = canvas.parentElement.clientWidth;
    if (!film || !shown || !width) return;
    const { shares, states } = shown;
    paint(canvas, width, { groups: film.groups, names: film.names, shares, states: states.join("") });
    const there = shares.filter((share) => share !== -2).length,
      failed = states.filter((state) => state > 1).length,
      cordoned = states.filter((state) => state % 2).length;
    const text = `${noun(there, there === 1 ? "node" : "nodes")}, ${failed} not ready, ${cordoned} cordoned`;
    canvas.setAttribute("aria-label", `Heat map: ${text}`);
    return text;
  }

  function show(place) {
    const before = current,
      frame = film.frames[place];
    fill(place);
    current = place;
    POSITION.value = place;
    TIME.textContent = format("full", frame.at);
    const nodes = draw();
    COUNTS.textContent = `${nodes} · ${noun(frame.bound, "pods on nodes")}, ${noun(frame.pending, "pending")}`;
    POSITION.setAttribute("aria-valuetext", TIME.textContent);
    PAST.href = `${PLACE.dataset.past}?version=${frame.version}`;
    for (const each of lines) {
      each.item.toggleAttribute("data-later", each.place > place);
      if (each.place === place) each.item.setAttribute("aria-current", "true");
      else each.item.removeAttribute("aria-current");
    }
    /* the later ones are not there yet */
    LINES.scrollTop = LINES.scrollHeight;
    for (const chart of board.drawn.values()) chart.follow(place);
    if (!playing && before !== -1) {
      const news = lines.filter((each) => each.place === place).map(({ text }) => text);
      SAID.textContent = [TIME.textContent, ...news].join(". ");
    }
    if (!playing) keep();
  }

  /* The address of this moment, in the address bar and as a link. */
  function keep() {
    const here = new URL(location.href);
    const { since, until } = PLACE.dataset;
    const values = { since, until, speed: SPEED.value, at: iso(film.frames[current].at) };
    for (const [name, value] of Object.entries(values)) here.searchParams.set(name, value);
    history.replaceState(history.state, "", here);
    LINK.href = here;
  }

  const seek = (place) => show(Math.max(0, Math.min(film.frames.length - 1, place)));

  function play() {
    const last = film.frames.length - 1;
    if (current === last) show(0);
    playing = true;
    PLAY.textContent = "Pause";
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let at = film.frames[current].at,
      then = performance.now(),
      drawn = then;
    const tick = (now) => {
      if (!playing) return;
      at += ((now - then) / 1000) * Number(SPEED.value);
      then = now;
      let place = current;
      while (place < last && film.frames[place + 1].at <= at) place += 1;
      if (place !== current && (!calm || now - drawn >= CALM_MS)) {
        drawn = now;
        show(place);
      }
      if (current === last) pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  function pause() {
    playing = false;
    PLAY.textContent = "Play";
    keep();
  }

  const toggle = () => (playing ? pause() : play());

  PLAY.addEventListener("click", toggle);
  SPEED.addEventListener("change", () => film && keep());
  POSITION.addEventListener("input", () => seek(Number(POSITION.value)));
  for (const button of PLACE.querySelectorAll("[data-step]"))
    button.addEventListener("click", () => seek(current + Number(button.dataset.step)));
  document.addEventListener("keydown", (event) => {
    if (!film || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const { target } = event;
    if (target.closest("a, button, select, textarea, summary, .plot, input:not([type=range])")) return;
    const places = {
      ArrowLeft: current - 1,
      ArrowRight: current + 1,
      PageUp: current - LEAP,
      PageDown: current + LEAP,
      Home: 0,
      End: film.frames.length - 1,
    };
    if (event.key === " ") toggle();
    else if (event.key in places && !(target === LINES && event.key !== "ArrowLeft" && event.key !== "ArrowRight"))
      seek(places[event.key]);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => draw()).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  load();
})();
