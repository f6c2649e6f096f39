/* The page of charts over time: fetches figures and notes, refreshes them in place, and selects spans. */

(() => {
  const PLACE = document.getElementById("charts");
  if (!PLACE) return;
  const MOST_REFRESH_S = 60,
    LEAST_SPAN_S = 60,
    /* notes of a live span are read again after so long: they change rarely, and cost more */
    NOTES_S = 30;
  const { Board, element, format, sayNote } = globalThis.schedwebCharts;
  const EMPTY = document.getElementById("charts-empty"),
    ZOOMED = document.getElementById("zoomed"),
    SINCE = document.getElementById("charts-since"),
    NOTES = document.getElementById("charts-notes"),
    CSV = document.getElementById("charts-csv"),
    OTHERS = document.getElementById("charts-others"),
    CHOICE = document.getElementById("chart-choice"),
    PERIOD = CHOICE.querySelector(".period"),
    FAILED = document.getElementById("charts-failed"),
    WORKING = document.getElementById("working"),
    WORKING_AFTER_MS = 300;
  const first = { since: PLACE.dataset.since, until: PLACE.dataset.until };
  const zone = document.body.dataset.zone || "UTC";
  /* What the zoom began with. */
  const isWhole = ({ since, until }) => /^\d+[a-z]$/.test(since) && !until;
  let whole = isWhole(first) ? { ...first } : { since: "1h", until: "" };
  let span = { ...first },
    data = null,
    asked = 0,
    timer = 0,
    notes = { of: "", at: 0, found: [] };
  const board = new Board(PLACE, {
    prefix: "chart",
    keys: "chart-keys",
    onZoom: (from, to) => zoom(from, Math.min(to, seconds(data.now))),
    onReset: () => reset(),
  });

  const seconds = (text) => Date.parse(text) / 1000;
  const range = () => [seconds(data.since), seconds(data.until)];

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
    let answer = null,
      heard = notes;
    try {
      [answer, heard] = await Promise.all([
        fetch(address(), { headers: { Accept: "application/json" } }),
        loadNotes(isLive),
      ]);
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
      notes = heard;
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
    board.show(data, range(), notes.found);
    describeNotes();
    PLACE.dataset.drawn = `${data.step} ${data.since} ${data.until}`;
  }

  /* What happened in the span, each with a link to what is known about it. */
  function describeNotes() {
    const within = notes.found.filter(({ at, until }) => at >= range()[0] || until !== null);
    NOTES.hidden = !within.length;
    NOTES.querySelector("summary span").textContent = within.length;
    NOTES.querySelector("ol").replaceChildren(
      ...within.map((note) => {
        const moment = element("time", { datetime: new Date(note.at * 1000).toISOString() }, format("full", note.at));
        const about = note.address ? element("a", { href: note.address }, sayNote(note)) : sayNote(note);
        return element("li", { class: note.kind }, moment, " ", about);
      }),
    );
  }

  /* Notes with times in seconds, and the addresses of what they are about. */
  const readNote = (note) => ({
    ...note,
    at: seconds(note.at),
    until: note.until && seconds(note.until),
    address: aboutNote(note),
  });

  function aboutNote({ version, operation, revision }) {
    if (operation) return `${PLACE.dataset.operations}/${operation}`;
    if (revision) return `${PLACE.dataset.cluster}/profiles/${revision}`;
    return version ? `${PLACE.dataset.cluster}/changes/${version}` : "";
  }

  async function loadNotes(isLive) {
    const query = new URLSearchParams({ since: span.since, zone });
    if (span.until) query.set("until", span.until);
    const source = `${PLACE.dataset.notes}?${query}`;
    if (isLive && notes.of === source && Date.now() - notes.at < NOTES_S * 1000) return notes;
    const answer = await fetch(source, { headers: { Accept: "application/json" } });
    const found = answer.ok ? (await answer.json()).milestones.map(readNote) : [];
    return { of: source, at: Date.now(), found };
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
    for (const link of OTHERS.querySelectorAll("a")) {
      const there = new URL(link.dataset.address, location.href);
      there.searchParams.set(link.dataset.start, span.since);
      if (span.until) there.searchParams.set(link.dataset.end, span.until);
      link.href = there;
    }
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
    else if (target.dataset.move === "in") board.zoomAround((from + to) / 2, 0.5);
    else if (target.dataset.move === "out") board.zoomAround((from + to) / 2, 2);
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
  load();
})();
