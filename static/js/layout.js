/* The current section in sight, filters behind their button, and the columns that the user shows.
   Hidden columns are remembered by the browser, for each table. */

(() => {
  const sections = document.querySelector(".sections");
  const current = sections && sections.querySelector("[aria-current]");
  const showCurrent = () => {
    sections.scrollLeft = current.offsetLeft - (sections.clientWidth - current.offsetWidth) / 2;
  };
  if (current) {
    showCurrent();
    addEventListener("resize", showCurrent);
  }

  /* Filters: the button shows how many are in use. */
  const isUsed = (field) =>
    field.matches("select") ?
    field.selectedIndex > 0 :
    field.matches("input:not([type=hidden], [type=datetime-local])") && field.value !== "";

  function countFilters(form) {
    const used = new Set([...form.elements].filter(isUsed).map(({ name }) => (name === "until" ? "since" : name)));
    form.querySelector(".fold .count").textContent = used.size || "";
  }

  document.addEventListener("click", ({ target }) => {
    const button = target.closest(".filters > .fold");
    if (!button) return;
    const open = button.form.toggleAttribute("data-open");
    button.setAttribute("aria-expanded", String(open));
  });
  document.addEventListener("input", ({ target }) => {
    if (target.form && target.form.matches(".filters:has(> .fold)")) countFilters(target.form);
  });

  /* Columns: a menu in the head of the page, and one rule for each hidden column. */
  const table = document.querySelector("table[data-columns]");
  if (!table) return;
  const name = table.dataset.columns;
  const key = `schedweb-columns-${name}`;
  const hidden = new Set(JSON.parse(localStorage.getItem(key) || "[]"));
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const menu = document.createElement("details");
  menu.className = "menu column-menu";
  menu.innerHTML =
    '<summary class="button">Columns</summary>' +
    '<div class="panel" role="group" aria-label="Columns to show"></div>';

  /* (position, label) of each column but the first with a heading, which names the row. */
  function readColumns() {
    const cells = [...document.querySelectorAll(`table[data-columns="${name}"] thead tr:first-child > *`)];
    const labelled = cells.map((cell, index) => [index + 1, cell.textContent.replace(/[↑↓]/g, "").trim()]);
    return labelled.filter(([, label]) => label).slice(1);
  }

  function apply() {
    const found = readColumns();
    const rules = found.filter(([, label]) => hidden.has(label)).map(([position]) => `tr > :nth-child(${position})`);
    const hide = (rule) => `table[data-columns="${name}"] ${rule} { display: none !important; }`;
    sheet.replaceSync(rules.map(hide).join("\n"));
    return found;
  }

  function fill() {
    const panel = menu.querySelector(".panel");
    panel.replaceChildren(
      ...apply().map(([, label]) => {
        const line = document.createElement("label");
        const box = document.createElement("input");
        box.type = "checkbox";
        box.value = label;
        box.checked = !hidden.has(label);
        line.append(box, ` ${label}`);
        return line;
      }),
    );
  }

  menu.addEventListener("change", ({ target }) => {
    if (target.checked) hidden.delete(target.value);
    else hidden.add(target.value);
    localStorage.setItem(key, JSON.stringify([...hidden]));
    apply();
  });
  menu.addEventListener("toggle", () => menu.open && fill());

  const head = document.querySelector("main > .head");
  let actions = head.querySelector(".actions");
  if (!actions) {
    actions = document.createElement("div");
    actions.className = "actions";
    head.append(actions);
  }
  actions.append(menu);
  document.addEventListener("htmx:afterSettle", apply);
  apply();
})();
