/* Selection of table rows: all rows of a page at once, and the number selected. The selection is
   kept when the table is refreshed. */

(() => {
  const boxes = (form) => [...form.querySelectorAll("tbody input[type=checkbox]")];

  function tell(form) {
    const all = boxes(form);
    const matching = form.querySelector("[data-choose-matching]");
    const everything = Boolean(matching && matching.checked);
    for (const box of all) box.disabled = everything;
    const chosen = all.filter((box) => box.checked).length;
    const every = form.querySelector("[data-choose-all]");
    every.hidden = false;
    every.disabled = everything;
    every.checked = everything || (chosen > 0 && chosen === all.length);
    every.indeterminate = !everything && chosen > 0 && chosen < all.length;
    const count = everything ? Number(matching.dataset.chooseMatching) : chosen;
    const words = count ? count.toLocaleString("en") : "none";
    form.querySelector("[data-choose-count]").textContent = `${words} selected`;
    form.classList.toggle("everything", everything);
    for (const button of form.querySelectorAll("button:not([type=button])"))
      button.disabled = count === 0;
  }

  const tellAll = () => document.querySelectorAll("form[data-choose]").forEach(tell);

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-choose]");
    if (!form) return;
    if (event.target.matches("[data-choose-all]")) {
      for (const box of boxes(form)) box.checked = event.target.checked;
    }
    tell(form);
  });

  /* Shift and click selects the rows in between */
  let last = null;
  document.addEventListener("click", (event) => {
    const form = event.target.closest("form[data-choose]");
    if (!form || !event.target.matches("tbody input[type=checkbox]")) return;
    const all = boxes(form);
    if (event.shiftKey && last && all.includes(last)) {
      const [from, to] = [all.indexOf(last), all.indexOf(event.target)].sort((a, b) => a - b);
      for (const box of all.slice(from, to + 1)) box.checked = event.target.checked;
    }
    last = event.target;
  });

  /* Enter in the text field needs an action: it does not press the first button of the form. */
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("form[data-choose] [name=text]")) return;
    event.preventDefault();
    event.target.closest("form").querySelector("[data-with-text]").focus();
  });

  document.addEventListener("htmx:afterSettle", tellAll);
  tellAll();
})();
