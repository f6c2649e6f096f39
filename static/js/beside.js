/* "v" shows the object of a row beside the list: the answer of its page, which follows "j" and "k".
   The address keeps it; Escape closes it. */

(() => {
  if (document.body.dataset.keys === "off") return;
  const MARK = "#beside-";
  let panel = null,
    shown = "";

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

  async function show(address) {
    shown = address;
    history.replaceState(history.state, "", MARK + toName(address.slice(location.origin.length)));
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
    more.innerHTML = '<a class="button">Open the page</a> <span class="hint">Esc closes</span>';
    more.firstElementChild.href = address;
    panel.ariaLabel = page.querySelector("main h1")?.textContent.replace(/\s+/g, " ").trim() || "Beside the list";
    panel.replaceChildren(...takeAnswer(page), more);
    panel.scrollTop = 0;
    htmx.process(panel);
  }

  function close() {
    shown = "";
    panel?.remove();
    panel = null;
    history.replaceState(history.state, "", location.pathname + location.search);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (event.key === "Escape" && panel) return close();
    const link = linkOf(rowOf(document.activeElement));
    if (event.key !== "v" || !link) return;
    event.preventDefault();
    if (shown === link.href) close();
    else show(link.href);
  });
  document.addEventListener("focusin", ({ target }) => {
    const link = panel && linkOf(rowOf(target));
    if (link && !panel.contains(target) && link.href !== shown) show(link.href);
  });
  if (location.hash.startsWith(MARK)) {
    const address = new URL(fromName(location.hash.slice(MARK.length)), location.href);
    if (address.origin === location.origin) show(address.href);
  }
})();
