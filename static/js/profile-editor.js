/* The profile editor: after the server has written a change of the form into the YAML, the text area
   shows it. Without this script, the button for Enter sends the form instead. */

(() => {
  const editor = document.getElementById("editor");
  const area = document.getElementById("id_configuration");
  if (!editor || !area) return;
  // what is being typed in a field is newer than the response
  if (window.Idiomorph) Idiomorph.defaults.ignoreActiveValue = true;

  /* The texts so far, of the form and of the area: browsers forget theirs when a script sets one. */
  const MOST_TEXTS = 200;
  const texts = [area.value];
  let at = 0;
  const buttons = [document.getElementById("undo"), document.getElementById("redo")];
  const showButtons = () => {
    buttons[0].disabled = at === 0 && area.value === texts[at];
    buttons[1].disabled = at === texts.length - 1;
  };
  const remember = () => {
    if (area.value !== texts[at]) {
      texts.splice(at + 1, texts.length, area.value);
      if (texts.length > MOST_TEXTS) texts.shift();
      at = texts.length - 1;
    }
    showButtons();
  };
  const step = (by) => {
    remember();
    if (!(at + by in texts)) return;
    const before = texts[at];
    at += by;
    const now = texts[at];
    let same = 0;
    while (same < now.length && now[same] === before[same]) same += 1;
    const top = area.scrollTop;
    area.value = now;
    area.setSelectionRange(same, same);
    area.scrollTop = top;
    area.dispatchEvent(new Event("input", { bubbles: true }));
    showButtons();
  };
  buttons.forEach((button, index) => {
    button.hidden = false;
    button.addEventListener("click", () => step(index ? 1 : -1));
  });
  area.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    step(key === "y" || event.shiftKey ? 1 : -1);
  });
  showButtons();

  /* What is said below the YAML is about an older text until the response arrives. */
  const markStale = () => document.getElementById("verdict").classList.add("stale");
  area.addEventListener("input", () => {
    markStale();
    showButtons();
  });

  /* Responses replace the form: a field that was changed after its request was sent keeps what it
     shows, for the next request, and all others show what the response says. */
  const FIELDS = "#sheet :is(input, select, textarea[name^='set:'])[name]";
  const read = (field) => (field.type === "checkbox" ? field.checked : field.value);
  const readFields = (page = document) =>
    new Map([...page.querySelectorAll(FIELDS)].map((field) => [field.name, read(field)]));
  const show = (field, value) => {
    if (value === undefined || read(field) === value) return;
    if (field.type === "checkbox") field.checked = value;
    else field.value = value;
  };

  const requests = new WeakMap();
  let count = 0;
  let newest = 0;
  let typed = 0;
  area.addEventListener("input", () => {
    typed += 1;
  });
  const requestOf = ({ xhr, target }) => (target.id === "sheet" ? requests.get(xhr) : undefined);
  document.body.addEventListener("htmx:beforeRequest", ({ detail }) => {
    if (!editor.contains(detail.elt) || detail.target.id !== "sheet") return;
    count += 1;
    requests.set(detail.xhr, { number: count, typed, fields: readFields() });
    remember();
    markStale();
  });
  document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const request = requestOf(detail);
    if (!request) return;
    request.shown = readFields(new DOMParser().parseFromString(detail.serverResponse, "text/html"));
    for (const [name, value] of readFields())
      if (request.fields.get(name) !== value) request.shown.set(name, value);
  });
  // before the next request, which may be waiting already, reads the text and the fields
  document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
    const request = requestOf(detail);
    if (!request) return;
    for (const field of document.querySelectorAll(FIELDS)) show(field, request.shown.get(field.name));
    const top = area.scrollTop;
    const isLate = typed !== request.typed || request.number < newest;
    if (isLate) area.dispatchEvent(new Event("input", { bubbles: true }));
    else if (detail.requestConfig.elt !== area) area.value = document.getElementById("shown").value;
    newest = Math.max(newest, request.number);
    area.scrollTop = top;
    remember();
  });
  document.body.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (!detail.requestConfig?.elt || detail.target.id !== "sheet") return;
    area.dispatchEvent(new Event("yaml:refresh"));
    area.closest(".field").classList.toggle(
      "wrong",
      Boolean(document.querySelector("#verdict .problem")),
    );
  });
  editor.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("#sheet input")) return;
    event.preventDefault();
    event.target.dispatchEvent(new Event("change", { bubbles: true }));
  });

  /* Leaving the page with something that is not saved asks first. */
  const kept = [area, ...editor.querySelectorAll("#id_name, #id_note")];
  const readKept = () => kept.map((field) => field.value).join("\n");
  const saved = readKept();
  let isSent = false;
  editor.addEventListener("submit", () => {
    isSent = true;
  });
  addEventListener("pageshow", () => {
    isSent = false;
    // a browser that returns to this page restores the text, but not what was said about it
    if (area.value !== area.defaultValue) area.dispatchEvent(new Event("input", { bubbles: true }));
  });
  addEventListener("beforeunload", (event) => {
    if (!isSent && (editor.dataset.unsaved || readKept() !== saved)) event.preventDefault();
  });
})();
