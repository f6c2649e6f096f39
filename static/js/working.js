/* Signs of work: a request that takes longer than 300 ms shows an indicator, its region is
   aria-busy, and its buttons are disabled until the response arrives. */

(() => {
  const SHOW_AFTER_MS = 300;
  const sign = document.getElementById("working");
  const running = new Map();

  const tell = () => {
    sign.hidden = ![...running.values()].some((work) => work.late);
  };

  function begin(key, region, buttons) {
    const work = { late: false, region, disabled: buttons.filter((button) => !button.disabled) };
    if (region) region.setAttribute("aria-busy", "true");
    for (const button of work.disabled) button.disabled = true;
    work.timer = setTimeout(() => {
      work.late = true;
      if (region) region.classList.add("busy");
      tell();
    }, SHOW_AFTER_MS);
    running.set(key, work);
  }

  function end(key) {
    const work = running.get(key);
    if (!work) return;
    clearTimeout(work.timer);
    running.delete(key);
    if (work.region) {
      work.region.removeAttribute("aria-busy");
      work.region.classList.remove("busy");
    }
    for (const button of work.disabled) button.disabled = false;
    tell();
  }

  /* Updates of live regions come without a request of the user: no sign, no disabled buttons. */
  const isLive = (detail) => (detail.requestConfig.triggeringEvent?.type || "").startsWith("sse:");

  document.addEventListener("htmx:beforeRequest", ({ detail }) => {
    if (isLive(detail)) return;
    const form = detail.elt.closest("form");
    const buttons = form && !form.matches(".filters, .search") ? [...form.querySelectorAll("button")] : [];
    begin(detail.xhr, detail.target, buttons);
  });
  for (const name of ["htmx:afterRequest", "htmx:sendAbort", "htmx:sendError", "htmx:timeout"])
    document.addEventListener(name, ({ detail }) => end(detail.xhr));

  /* A form that loads the next page: its buttons cannot be pressed twice. */
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.matches("[hx-get], [hx-post]")) return;
    const region = form.closest("section, .panel") || form;
    /* after this event, because a disabled button is not sent */
    setTimeout(() => !event.defaultPrevented && begin(form, region, [...form.querySelectorAll("button")]));
  });
  /* the page came back from the history, or a file was downloaded */
  addEventListener("pageshow", () => [...running.keys()].forEach(end));
  document.addEventListener("visibilitychange", () => {
    for (const key of running.keys())
      if (key instanceof HTMLFormElement && !document.hidden) end(key);
  });
})();
