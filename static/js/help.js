/* Help and keys: "?" opens the help, "g n" the nodes, "j" and "k" move through rows; the tour of a
   first visit; "Copy" buttons. Keys do nothing while the user is typing, or has switched them off. */

(() => {
  const help = document.getElementById("help");
  const WAIT_FOR_KEY_MS = 1500;
  let going = 0;

  const typing = (target) => target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");

  function openHelp() {
    if (help && !help.open) help.showModal();
  }

  const shortcuts = document.body.dataset.keys !== "off";

  document.addEventListener("keydown", (event) => {
    if (!shortcuts || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (help && help.open) return;
    const { key } = event;
    if (Date.now() - going < WAIT_FOR_KEY_MS && /^[a-z]$/.test(key)) {
      going = 0;
      const link = document.querySelector(`a[data-go="${key}"]`);
      if (link) {
        event.preventDefault();
        link.click();
      }
    } else if (key === "?") {
      event.preventDefault();
      openHelp();
    } else if (key === "g") going = Date.now();
    else if (key === "j" || key === "k") moveRow(key === "j" ? 1 : -1, event);
    else if (key === "x") selectRow();
    else if (key === "f") focusFilter(event);
  });

  /* Escape closes menus, from their fields as well; focus returns to what opened them. */
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || (help && help.open)) return;
    const menu = event.target.closest("details.menu[open]");
    closeMenus();
    if (menu) menu.querySelector("summary").focus();
    else if (card && !event.target.closest("input, select, textarea")) leaveTour();
  });

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-help]");
    if (opener && help && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      closeMenus();
      openHelp();
    }
    if (event.target.closest("[data-close]")) help.close();
    for (const menu of document.querySelectorAll("details.menu[open]"))
      if (!menu.contains(event.target)) menu.open = false;
  });

  function closeMenus() {
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
  }

  /* Rows of the main table: focus moves to the first link of a row. */
  const rows = () => [...document.querySelectorAll("main table.data tbody tr")].filter((row) => row.querySelector("a"));

  function currentRow() {
    return document.activeElement.closest("main table.data tbody tr");
  }

  function moveRow(step, event) {
    const all = rows();
    if (!all.length) return;
    const place = all.indexOf(currentRow());
    const next = all[place < 0 ? (step > 0 ? 0 : all.length - 1) : place + step];
    if (!next) return;
    event.preventDefault();
    next.querySelector("th a, a").focus();
    next.scrollIntoView({ block: "nearest" });
  }

  function selectRow() {
    const row = currentRow();
    const box = row && row.querySelector("input[type=checkbox]");
    if (box) box.click();
  }

  function focusFilter(event) {
    const field = document.querySelector("form.filters input:not([type=hidden]), form.filters select");
    if (!field) return;
    event.preventDefault();
    field.focus();
  }

  /* The tour: once for each browser; "Start the tour" shows it again. It goes along with whoever uses
     it; where nobody does, it is over after two more pages, with the second step in a cluster. */
  const KNOWN = "schedweb-tour";
  const template = document.getElementById("tour");
  let card = null;
  let step = 0;
  let unused = 0;

  function showStep() {
    const steps = [...card.querySelectorAll("li")];
    for (const [place, each] of steps.entries()) each.hidden = place !== step;
    for (const pointed of document.querySelectorAll(".pointed")) pointed.classList.remove("pointed");
    const target = document.querySelector(steps[step].dataset.points);
    if (target) target.classList.add("pointed");
    card.querySelector("[data-tour=back]").disabled = step === 0;
    card.querySelector("[data-tour=next]").textContent = step === steps.length - 1 ? "Done" : "Next";
    card.querySelector("[data-tour-place]").textContent = `${step + 1} of ${steps.length}`;
    sessionStorage.setItem(KNOWN, `${step} ${unused}`);
  }

  function startTour(from) {
    endTour();
    card = template.content.firstElementChild.cloneNode(true);
    document.body.append(card);
    step = from;
    showStep();
  }

  function continueTour(from, pages) {
    unused = pages + 1;
    const inCluster = document.querySelector(".sections [data-go=q]") !== null;
    if (unused <= 2) return startTour(from === 0 && inCluster ? 1 : from);
    localStorage.setItem(KNOWN, "seen");
    endTour();
  }

  function endTour() {
    if (card) card.remove();
    card = null;
    for (const pointed of document.querySelectorAll(".pointed")) pointed.classList.remove("pointed");
    sessionStorage.removeItem(KNOWN);
  }

  function leaveTour() {
    localStorage.setItem(KNOWN, "seen");
    endTour();
    document.getElementById("main").focus({ preventScroll: true });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-tour]");
    if (!button || !template) return;
    const action = button.dataset.tour;
    if (action === "start") {
      if (help) help.close();
      startTour(0);
      card.focus();
    } else if (action === "end" || (action === "next" && button.textContent === "Done")) {
      leaveTour();
    } else {
      step += action === "next" ? 1 : -1;
      unused = 0;
      showStep();
    }
  });

  if (template) {
    const running = sessionStorage.getItem(KNOWN);
    if (location.hash === "#tour") startTour(0);
    else if (running !== null) continueTour(...running.split(" ").map(Number));
    else if (localStorage.getItem(KNOWN) === null && location.pathname === "/") startTour(0);
  }

  /* Copy buttons: the text of the element with this id. */
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copies]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copies);
    button.setAttribute("aria-live", "polite");
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Selected: press Ctrl-C";
    }
  });

  const own = document.querySelector("[data-own-zone]");
  if (own) {
    own.hidden = false;
    own.addEventListener("click", () => {
      document.getElementById("id_zone").value = Intl.DateTimeFormat().resolvedOptions().timeZone;
    });
  }
})();
