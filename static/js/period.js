/* The filter by time: presets fill in the limits, pickers write the time they select, and the
   panel closes with Escape or a click elsewhere. */
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
