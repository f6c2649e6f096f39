/* The object of a row beside its list: the answer of its page. A click or Enter on a row of a list of
   pods, nodes or decisions opens it, and "v" in every table; it follows "j" and "k". The address keeps
   it; "back" and Escape close it. With Ctrl, Shift or the middle button a link opens its page. */

(() => {
  const MARK = "#beside-";
  const LISTS = /^\/clusters\/[^/]+\/(pods|nodes|decisions|queue)$/;
  const OBJECTS = /^\/clusters\/[^/]+\/(pods\/[^/]+\/[^/]+|stories\/[^/]+|nodes\/[^/]+|decisions\/\d+)$/;
  /* a narrow window has room for one of both */
  const wide = matchMedia("(min-width: 60rem)");
  const keys = document.body.dataset.keys !== "off";
  let panel = null,
    shown = "",
    pushed = false,
    opener = null;

  const rowOf = (element) => element.closest("main table.data tbody tr");
  const linkOf = (row) => row && row.querySelector("th a[href], td.name a[href], a[href]");
  const typing = (target) => target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");

  /* An address as part of a name: htmx looks for an element with the name after "#". */
  const toName = (address) =>
    address.replace(/[^a-zA-Z0-9-]/g, (letter) => `_${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const fromName = (name) => name.replace(/_([0-9a-f]{4})/g, (_, code) => String.fromCharCode(parseInt(code, 16)));

  /* What a page says first, without what refreshes it: its regions follow the stream of their own page. */
  function takeAnswer(page) {
    const parts = page.querySelectorAll("main > .head :is(h1, .lead), main > .answer-and-facts");
    const all = parts.length > 1 ? [...parts] : [...page.querySelectorAll("main h1, main > .region > *")];
    for (const part of all)
      for (const live of [part, ...part.querySelectorAll("[hx-trigger^='sse:']")])
        for (const name of ["hx-get", "hx-trigger"]) live.removeAttribute(name);
    return all;
  }

  /* Styles of the other page that this page lacks, before its contents are shown. */
  function addStyles(page) {
    const missing = [...page.querySelectorAll("head link[rel=stylesheet]")]
      .map((link) => link.getAttribute("href"))
      .filter((href) => !document.head.querySelector(`link[href="${href}"]`));
    return Promise.all(
      missing.map((href) => {
        const link = document.createElement("link");
        link.rel = "stylesheet";
        link.href = href;
        document.head.append(link);
        return new Promise((done) => {
          for (const name of ["load", "error"]) link.addEventListener(name, done);
        });
      }),
    );
  }

  function keepInAddress(address) {
    const name = MARK + toName(address.slice(location.origin.length));
    if (shown || location.hash === name) return history.replaceState(history.state, "", name);
    history.pushState({ beside: true }, "", name);
    pushed = true;
  }

  async function show(address, { focus = false } = {}) {
    keepInAddress(address);
    shown = address;
    const answer = await fetch(address);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    await addStyles(page);
    if (shown !== address) return;
    if (!panel) {
      panel = document.createElement("aside");
      panel.id = "beside";
      panel.className = "panel";
      panel.tabIndex = 0;
      document.getElementById("main").append(panel);
    }
    const more = document.createElement("p");
    more.className = "actions";
    more.innerHTML = '<a class="button">Open the page</a> <button type="button" data-beside="close">Close</button>';
    more.firstElementChild.href = address;
    panel.ariaLabel = page.querySelector("main h1")?.textContent.replace(/\s+/g, " ").trim() || "Beside the list";
    panel.replaceChildren(more, ...takeAnswer(page));
    panel.scrollTop = 0;
    htmx.process(panel);
    if (focus) panel.focus();
  }

  function hide() {
    const inside = panel?.contains(document.activeElement);
    shown = "";
    panel?.remove();
    panel = null;
    pushed = false;
    if (inside && opener?.isConnected) opener.focus();
  }

  function close() {
    if (pushed) return history.back();
    hide();
    history.replaceState(history.state, "", location.pathname + location.search);
  }

  /* before htmx, which would load the list again */
  addEventListener("popstate", (event) => {
    const marked = location.hash.startsWith(MARK);
    if (!marked && !shown) return;
    event.stopImmediatePropagation();
    if (!marked) return hide();
    const address = readAddress();
    if (address && address !== shown) {
      shown = address;
      show(address);
    }
  });

  /* The row whose object the panel shows instead of its page. */
  function rowToShow(event) {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
      return null;
    if (!wide.matches || !LISTS.test(location.pathname) || !getSelection().isCollapsed) return null;
    const row = rowOf(event.target);
    const link = linkOf(row);
    if (!link || !OBJECTS.test(link.pathname) || link.origin !== location.origin) return null;
    const pressed = event.target.closest("a, button, input, select, label, summary, textarea");
    return !pressed || pressed === link ? link : null;
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-beside=close]")) return close();
    const link = rowToShow(event);
    if (!link) return;
    event.preventDefault();
    opener = link;
    /* a click without a pointer is that of Enter */
    show(link.href, { focus: event.detail === 0 });
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (event.key === "Escape" && panel) return close();
    const link = keys && linkOf(rowOf(document.activeElement));
    if (event.key !== "v" || !link) return;
    event.preventDefault();
    if (shown === link.href) return close();
    opener = link;
    show(link.href);
  });
  document.addEventListener("focusin", ({ target }) => {
    const link = panel && linkOf(rowOf(target));
    if (link && !panel.contains(target) && link.href !== shown) show(link.href);
  });

  function readAddress() {
    const address = new URL(fromName(location.hash.slice(MARK.length)), location.href);
    return address.origin === location.origin ? address.href : "";
  }
  if (location.hash.startsWith(MARK)) {
    const address = readAddress();
    if (address) show(address);
  }
})();
