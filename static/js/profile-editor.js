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

  /* Fields of the form by their names. Morphing leaves what a field shows if its attributes are the
     same as before; what has not been changed since it was sent shows what the response says. */
  const fields = () => [...document.querySelectorAll("#sheet :is(input, select, textarea[name^='set:'])[name]")];
  const read = (field) => (field.type === "checkbox" ? field.checked : field.value);
  const readDefault = (field) => {
    if (field.type === "checkbox") return field.defaultChecked;
    if (field.options) return ([...field.options].find((each) => each.defaultSelected) || field.options[0]).value;
    return field.defaultValue;
  };
  let sentFields = new Map();
  const showResponse = () => {
    for (const field of fields()) {
      const value = readDefault(field);
      if (read(field) === value || read(field) !== sentFields.get(field.name)) continue;
      if (field.type === "checkbox") field.checked = value;
      else field.value = value;
    }
  };

  let sent = area.value;
  document.body.addEventListener("htmx:beforeRequest", ({ detail }) => {
    if (!editor.contains(detail.elt)) return;
    sent = area.value;
    if (detail.target.id !== "sheet") return;
    sentFields = new Map(fields().map((field) => [field.name, read(field)]));
    remember();
    markStale();
  });
  document.body.addEventListener("htmx:afterSettle", (event) => {
    const { elt } = event.detail.requestConfig || {};
    if (!elt || event.detail.target.id !== "sheet") return;
    const shown = document.getElementById("shown");
    const top = area.scrollTop;
    showResponse();
    if (area.value === sent && elt !== area) area.value = shown.value;
    else if (area.value !== sent) area.dispatchEvent(new Event("input", { bubbles: true }));
    remember();
    area.dispatchEvent(new Event("yaml:refresh"));
    area.scrollTop = top;
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
