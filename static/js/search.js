/* "/" focuses the search, Ctrl-K opens it as a palette of commands: what the page offers, and where one can go.
   Arrow keys move through the results, Enter opens one, Escape closes. */

(() => {
  const field = document.getElementById("search"),
    list = document.getElementById("found");
  if (!field || !list) return;
  const MOST_COMMANDS = 8;
  let chosen = -1,
    asPalette = false;
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

  /* Commands: actions and links that the page has, by the words on them. */
  const GROUPS = [
    ["Do here", "main > .head .actions :is(a, button)"],
    ["Go to", ".sections a, .tools > a, .menu.account a"],
  ];

  function findCommands(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const labelled = (element) => [(element.ariaLabel || element.textContent).replace(/\s+/g, " ").trim(), element];
    const matches = ([label]) => label && words.every((word) => ` ${label.toLowerCase()}`.includes(` ${word}`));
    return GROUPS.map(([name, selector]) => {
      const here = [...document.querySelectorAll(selector)].filter(
        (element) => !element.disabled && (element.closest(".menu") || element.checkVisibility()),
      );
      return [name, here.map(labelled).filter(matches).slice(0, MOST_COMMANDS)];
    }).filter(([, found]) => found.length);
  }

  function buildGroup([name, found], place) {
    const group = document.createElement("div");
    group.className = "hits commands-here";
    group.role = "group";
    group.ariaLabel = name;
    const title = document.createElement("p");
    title.className = "hint";
    title.ariaHidden = "true";
    title.textContent = name;
    group.append(title);
    for (const [at, [label, element]] of found.entries()) {
      const link = document.createElement("a");
      link.role = "option";
      link.tabIndex = -1;
      link.id = `command-${place}-${at}`;
      link.href = element.href || "#";
      link.textContent = label;
      if (!element.href || element.hasAttribute("download"))
        link.addEventListener("click", (event) => {
          event.preventDefault();
          show(false);
          element.click();
        });
      group.append(link);
    }
    return group;
  }

  /* As a palette commands come first; otherwise names do, and commands follow. */
  function addCommands() {
    for (const old of list.querySelectorAll(".commands-here")) old.remove();
    const groups = findCommands(field.value).map(buildGroup);
    if (groups.length) list.querySelector(".empty")?.remove();
    if (asPalette) list.prepend(...groups);
    else list.append(...groups);
  }

  function begin(palette) {
    asPalette = palette;
    field.focus();
    field.select();
    if (!palette) return;
    if (!field.value.trim()) list.replaceChildren();
    addCommands();
    show(true);
    choose(0);
  }

  list.addEventListener("htmx:afterSwap", () => {
    if (field.value.trim()) addCommands();
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
      hits()[chosen].click();
    } else if (event.key === "Escape") {
      if (list.hidden) field.blur();
      show(false);
      asPalette = false;
    }
  });
  field.addEventListener("input", () => field.value.trim() === "" && show(false));
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".search")) show(false);
  });

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    begin(true);
  });
  if (document.body.dataset.keys === "off") return;
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    begin(false);
  });
})();
