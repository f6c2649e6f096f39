/* The profile editor: after the server has written a change of the form into the YAML, the text area
   shows it. Without this script, the button for Enter sends the form instead. */

(() => {
  const editor = document.getElementById("editor");
  const area = document.getElementById("id_configuration");
  if (!editor || !area) return;
  // what is being typed in a field is newer than the response
  if (window.Idiomorph) Idiomorph.defaults.ignoreActiveValue = true;

  let sent = area.value;
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    if (editor.contains(event.detail.elt)) sent = area.value;
  });
  document.body.addEventListener("htmx:afterSettle", (event) => {
    const { elt } = event.detail.requestConfig || {};
    if (!elt || event.detail.target.id !== "sheet") return;
    const shown = document.getElementById("shown");
    const top = area.scrollTop;
    if (elt !== area && area.value === sent) area.value = shown.value;
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
})();
