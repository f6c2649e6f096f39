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
    /* a button that is disabled loses the focus */
    work.focused = work.disabled.find((button) => button === document.activeElement);
    if (region) region.setAttribute("aria-busy", "true");
    for (const button of work.disabled) button.disabled = true;
    work.timer = setTimeout(() => {
      work.late = true;
      if (region) region.classList.add("busy");
      tell();
    }, SHOW_AFTER_MS);
    running.set(key, work);
  }

  /* To the button that was pressed, or to its namesake in what replaced it, unless the user went on. */
  function returnFocus({ focused, region }) {
    if (!focused) return;
    setTimeout(() => {
      if (document.activeElement !== document.body) return;
      const replaced = region && region.id && document.getElementById(region.id);
      const buttons = replaced ? [...replaced.querySelectorAll("button")] : [];
      const namesake = buttons.find((button) => button.textContent.trim() === focused.textContent.trim());
      const place = focused.isConnected ? focused : namesake;
      if (place) place.focus({ preventScroll: true });
    });
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
    returnFocus(work);
    tell();
  }

  /* Updates of live regions come without a request of the user: no sign, no disabled buttons. */
  const isLive = (detail) => (detail.requestConfig.triggeringEvent?.type || "").startsWith("sse:");

  /* A request of a changed field may begin while a button is being pressed: it disables none. */
  const isPressed = (detail) => ["click", "submit"].includes(detail.requestConfig.triggeringEvent?.type);

  document.addEventListener("htmx:beforeRequest", ({ detail }) => {
    if (isLive(detail)) return;
    const form = isPressed(detail) && detail.elt.closest("form:not(.filters, .search)");
    const buttons = form ? [...form.querySelectorAll("button")] : [];
    begin(detail.xhr, detail.target, buttons);
  });
  for (const name of ["htmx:afterRequest", "htmx:sendAbort", "htmx:sendError", "htmx:timeout"])
    document.addEventListener(name, ({ detail }) => end(detail.xhr));

  /* A request that ends because another one replaces it, or because the page is left, is no error. */
  htmx.logger = (_, name, detail) => {
    if (name === "htmx:sendAbort") delete detail.error;
  };

  /* Without a connection the page stays as it is, and says so until a request succeeds again. */
  const away = document.createElement("p");
  away.className = "notice warning";
  away.textContent = "The site cannot be reached. This page shows what it last received.";
  document.addEventListener("htmx:sendError", () => document.getElementById("notices").append(away));
  document.addEventListener("htmx:afterRequest", ({ detail }) => detail.successful && away.remove());

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
