/* YAML editors: line numbers, marks on invalid lines, and "Line 12" in a message jumps to line 12.
   Without this script they are ordinary text areas. An event "yaml:refresh" on the text area reads
   its text and the messages of its field again. */

(() => {
  const improve = (area) => {
    if (area.closest(".editor")) return;
    const gutter = document.createElement("div");
    gutter.className = "gutter";
    gutter.setAttribute("aria-hidden", "true");
    const frame = document.createElement("div");
    frame.className = "editor";
    area.replaceWith(frame);
    frame.append(gutter, area);
    area.wrap = "off";
    const field = frame.closest(".field");

    let wrong = new Set();
    let lines = 0;
    const readWrong = () => {
      const verdict = field && field.querySelector("[id='verdict']");
      const marked = verdict ? verdict.dataset.wrong : area.dataset.wrong;
      wrong = new Set((marked || "").split(",").filter(Boolean).map(Number));
      lines = 0;
    };
    const number = () => {
      const wanted = area.value.split("\n").length;
      if (wanted !== lines) {
        lines = wanted;
        const numbers = document.createDocumentFragment();
        for (let at = 1; at <= lines; at += 1) {
          const line = document.createElement("span");
          line.textContent = wrong.has(at) ? `▸ ${at}` : at;
          if (wrong.has(at)) line.className = "wrong";
          numbers.append(line);
        }
        gutter.replaceChildren(numbers);
      }
      gutter.scrollTop = area.scrollTop;
    };
    const goTo = (line) => {
      const before = area.value
        .split("\n")
        .slice(0, line - 1)
        .join("\n");
      const start = before.length + (line > 1 ? 1 : 0);
      const end = area.value.indexOf("\n", start);
      area.focus();
      area.setSelectionRange(start, end < 0 ? area.value.length : end);
      const height = parseFloat(getComputedStyle(area).lineHeight);
      area.scrollTop = Math.max(0, (line - 4) * height);
    };
    const linkLines = () => {
      for (const problem of field ? field.querySelectorAll(".problem p") : []) {
        const text = [...problem.childNodes].find(
          (node) => node.nodeType === Node.TEXT_NODE && node.data.trim(),
        );
        const found = text && /^\s*(Line (\d+))/.exec(text.data);
        if (!found) continue;
        const button = document.createElement("button");
        button.type = "button";
        button.className = "link";
        button.textContent = found[1];
        button.addEventListener("click", () => goTo(Number(found[2])));
        text.data = text.data.slice(found[0].length);
        text.before(button);
      }
    };
    area.addEventListener("input", number);
    area.addEventListener("scroll", () => {
      gutter.scrollTop = area.scrollTop;
    });
    area.addEventListener("yaml:refresh", () => {
      readWrong();
      number();
      linkLines();
    });
    readWrong();
    number();
    linkLines();
    if (wrong.size) goTo(Math.min(...wrong));
  };

  /* A chosen or dropped file is shown in its text area, and sent as text. A large one is sent as it
     is: an area with so many lines would stop the page. */
  const SHOWN_BYTES = 1_000_000;
  const acceptFiles = (chosen) => {
    if (chosen.dataset.ready) return;
    chosen.dataset.ready = "true";
    const area = document.getElementById(chosen.dataset.fills);
    const hint = chosen.nextElementSibling || chosen.previousElementSibling;
    const keep = (files, message) => {
      const kept = new DataTransfer();
      files.forEach((file) => kept.items.add(file));
      chosen.files = kept.files;
      hint.textContent = message;
    };
    const fill = async (files) => {
      const [file] = files;
      hint.classList.remove("problem");
      if (chosen.multiple && files.length > 1) {
        keep(files, "");
        return;
      }
      if (file.size > SHOWN_BYTES) {
        const what = chosen.multiple ? "sent as it is" : "replaces the text above";
        keep([file], `${file.name} is too large to be shown, and ${what}`);
        return;
      }
      const text = await file.text();
      if (chosen.multiple && text.includes("\0")) {
        keep([file], "");
        return;
      }
      if (text.includes("\0")) {
        chosen.value = "";
        hint.classList.add("problem");
        hint.textContent = `${file.name} is not text; choose another file`;
        return;
      }
      area.value = text;
      area.dispatchEvent(new Event("input", { bubbles: true }));
      area.focus();
      area.setSelectionRange(0, 0);
      area.scrollTop = 0;
      hint.textContent = `${file.name} is shown above; or another file`;
      chosen.value = "";
    };
    chosen.addEventListener("change", () => chosen.files.length && fill([...chosen.files]));
    area.addEventListener("dragover", (event) => event.preventDefault());
    area.addEventListener("drop", (event) => {
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      fill([...event.dataTransfer.files]);
    });
  };

  const improveAll = () => {
    document.querySelectorAll("textarea.code").forEach(improve);
    document.querySelectorAll("input[data-fills]").forEach(acceptFiles);
  };
  improveAll();
  // forms that htmx adds to the page
  document.addEventListener("htmx:load", improveAll);
})();
