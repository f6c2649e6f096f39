/* "/" focuses the search; arrow keys move through the results, Enter opens one, Escape closes. */

(() => {
  const field = document.getElementById("search"),
    list = document.getElementById("found");
  if (!field || !list) return;
  let chosen = -1;
  const hits = () => [...list.querySelectorAll("[role=option]")];

  function choose(index) {
    const all = hits();
    chosen = all.length ? (index + all.length) % all.length : -1;
    for (const [place, hit] of all.entries()) {
      hit.setAttribute("aria-selected", String(place === chosen));
    }
    if (chosen < 0) field.removeAttribute("aria-activedescendant");
    else {
      field.setAttribute("aria-activedescendant", all[chosen].id);
      all[chosen].scrollIntoView({ block: "nearest" });
    }
  }

  function show(open) {
    list.hidden = !open;
    field.setAttribute("aria-expanded", String(open));
    if (!open) choose(-1);
  }

  list.addEventListener("htmx:afterSwap", () => {
    show(field.value.trim() !== "" && document.activeElement === field);
    choose(0);
  });

  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden && hits().length) show(true);
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && !list.hidden && chosen >= 0) {
      event.preventDefault();
      location.href = hits()[chosen].href;
    } else if (event.key === "Escape") {
      if (list.hidden) field.blur();
      show(false);
    }
  });
  field.addEventListener("input", () => field.value.trim() === "" && show(false));
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".search")) show(false);
  });

  if (document.body.dataset.keys === "off") return;
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
})();
