/* The filter by time: presets fill in the limits, pickers write the time they select and begin at
   the time that is written, and the panel closes with Escape or a click elsewhere. */
if (!window.schedwebPeriods) {
  window.schedwebPeriods = true;

  const changed = (field) => field.dispatchEvent(new Event("input", { bubbles: true }));

  document.addEventListener("click", (event) => {
    const preset = event.target.closest("details.period a[data-since]");
    if (preset && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      const panel = preset.closest("details");
      const fields = preset.closest("form").elements;
      fields.since.value = preset.dataset.since;
      fields.until.value = preset.dataset.until;
      changed(fields.since);
      panel.open = false;
      panel.querySelector("summary").focus();
    }
    for (const panel of document.querySelectorAll("details.period[open]")) {
      if (!panel.contains(event.target)) panel.open = false;
    }
  });

  /* A date and time without an offset; of any other text, a picker shows nothing. */
  const LOCAL = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(:\d{2})?)$/;

  function beginPickers(place) {
    for (const picker of place.querySelectorAll("[type=datetime-local][data-fills]")) {
      const found = LOCAL.exec(picker.form.elements[picker.dataset.fills].value.trim());
      picker.value = found ? `${found[1]}T${found[2]}` : "";
    }
  }

  /* The end of the slider of past versions is now, and not the version that was the last one. */
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    if (detail.elt.matches("#travel [type=range]") && detail.elt.value === detail.elt.max)
      delete detail.parameters.version;
  });

  document.addEventListener("toggle", ({ target }) => {
    if (target.open && target.matches("details.period")) beginPickers(target);
  }, true);
  beginPickers(document);

  document.addEventListener("input", ({ target }) => {
    if (target.dataset.fills) target.form.elements[target.dataset.fills].value = target.value;
  }, true);

  document.addEventListener("keydown", (event) => {
    const panel = event.key === "Escape" && event.target.closest("details.period[open]");
    if (!panel) return;
    panel.open = false;
    panel.querySelector("summary").focus();
  });
}
