/* Live pages: one stream per page, closed while the tab is hidden, and relative times.
   Loaded between htmx and its sse extension, which asks htmx.createEventSource for its streams. */

(() => {
  const FIRST_RETRY_MS = 1000;
  const LONGEST_RETRY_MS = 30000;

  /* An EventSource that lives as long as its page, but is connected only while the page is visible.
     When it reconnects, it requests the events after the last one it received. */
  class PageStream extends EventTarget {
    constructor(address) {
      super();
      this.address = new URL(address, location.href);
      this.readyState = EventSource.CONNECTING;
      this.types = new Set(["deleted"]);
      this.source = null;
      this.wait = FIRST_RETRY_MS;
      this.onVisibility = () => (document.hidden ? this.pause() : this.connect());
      document.addEventListener("visibilitychange", this.onVisibility);
      if (!document.hidden) this.connect();
    }

    addEventListener(type, listener) {
      super.addEventListener(type, listener);
      if (!this.types.has(type)) {
        this.types.add(type);
        if (this.source) this.forward(type);
      }
    }

    connect() {
      if (this.source || this.readyState === EventSource.CLOSED) return;
      this.source = new EventSource(this.address);
      this.source.addEventListener("open", () => {
        this.readyState = EventSource.OPEN;
        this.wait = FIRST_RETRY_MS;
        show("live");
      });
      this.source.addEventListener("error", () => {
        this.pause();
        show("reconnecting");
        this.timer = setTimeout(() => document.hidden || this.connect(), this.wait);
        this.wait = Math.min(2 * this.wait, LONGEST_RETRY_MS);
      });
      for (const type of this.types) this.forward(type);
    }

    forward(type) {
      this.source.addEventListener(type, (event) => {
        if (event.lastEventId) this.address.searchParams.set("after", event.lastEventId);
        if (type === "deleted") {
          this.close();
          show("deleted");
        }
        this.dispatchEvent(new MessageEvent(type, { data: event.data }));
      });
    }

    pause() {
      clearTimeout(this.timer);
      if (this.source) this.source.close();
      this.source = null;
    }

    close() {
      this.pause();
      this.readyState = EventSource.CLOSED;
      document.removeEventListener("visibilitychange", this.onVisibility);
    }
  }

  htmx.createEventSource = (address) => new PageStream(address);

  function show(state) {
    const place = document.getElementById("live");
    if (!place) return;
    place.hidden = false;
    place.dataset.state = state;
    place.textContent = state;
  }

  /* Relative times, by the server's clock: the page has the time at which it was rendered. */
  const SPANS = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const offset = Date.now() - Date.parse(document.body.dataset.now);

  function words(seconds) {
    for (const [length, unit] of SPANS) {
      if (seconds >= length) return `${Math.floor(seconds / length)} ${unit}`;
    }
    return "0 s";
  }

  function tick() {
    const now = Date.now() - offset;
    for (const time of document.querySelectorAll("time[data-ago], time[data-until]")) {
      const distance = (now - Date.parse(time.dateTime)) / 1000;
      const text = words(Math.max(0, "until" in time.dataset ? -distance : distance));
      if (time.textContent !== text) time.textContent = text;
    }
  }

  setInterval(() => document.hidden || tick(), 1000);
  document.addEventListener("htmx:afterSettle", tick);

  /* A rejected form focuses its first invalid field. */
  const mistake = document.querySelector("[aria-invalid=true]");
  if (mistake) mistake.focus();

  /* What an action did is read aloud on the page that follows it: a live region announces only changes. */
  const notices = document.getElementById("notices");
  if (!mistake && notices.childElementCount && document.activeElement === document.body && !location.hash)
    notices.focus({ preventScroll: true });

  /* A refreshed region keeps opened details and selected rows. */
  if (window.Idiomorph) keepOpen();
  else document.addEventListener("DOMContentLoaded", keepOpen);

  function keepOpen() {
    if (!window.Idiomorph) return;
    /* elements that scripts draw are not replaced */
    Idiomorph.defaults.callbacks.beforeNodeMorphed = (element) =>
      !(element instanceof Element && element.hasAttribute("data-keep"));
    Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, element) =>
      !(name === "open" && element instanceof HTMLDetailsElement) &&
      !(name === "checked" && element.closest("[data-choose], [data-filters]")) &&
      !(name === "aria-invalid") &&
      !(name === "value" && isTyped(element));
  }

  /* Text that the user has entered, or that came back with an error. */
  function isTyped(element) {
    if (!element.matches("textarea, input:not([type=hidden])")) return false;
    return element.value !== element.defaultValue || element.hasAttribute("aria-invalid");
  }

  /* An error disappears when its field is changed. */
  document.addEventListener("input", ({ target }) => {
    if (!target.matches("form [name=text][aria-invalid]")) return;
    target.removeAttribute("aria-invalid");
    const problem = document.getElementById(target.getAttribute("aria-describedby"));
    if (problem) problem.hidden = true;
  });

  /* Empty filters are left out of the address. */
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    if (!detail.elt.matches("form.filters")) return;
    const empty = [...detail.formData].filter(([, value]) => value === "");
    for (const [name] of empty) detail.formData.delete(name);
  });

  /* The form of the heat map is submitted when a select changes. */
  document.addEventListener("change", ({ target }) => {
    if (target.matches("form#drawn select")) target.form.requestSubmit();
  });
})();
