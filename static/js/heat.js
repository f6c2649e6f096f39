/* The heat map of a cluster's nodes: one cell per node, in groups; the color shows how much is
   requested. Drawn on a canvas from one compact document. Cells are as large as the number of nodes
   allows. Arrow keys move between nodes, Enter opens one; nodes can be selected for an action. */

(() => {
  const PLACE = document.getElementById("heat");
  if (!PLACE) return;
  const { paint, percent } = globalThis.schedwebHeat;
  const canvas = PLACE.querySelector("canvas");
  const tip = PLACE.querySelector(".tip");
  const status = PLACE.querySelector("[role=status]");
  const form = PLACE.querySelector("form");
  const chooser = form.querySelector("[data-choosing]");
  const STATES = ["", "cordoned", "not ready", "not ready, cordoned"];
  const DRAGGED = 4,
    REFRESH_MS = 2000;
  let data = null,
    cells = [],
    current = -1,
    loading = false,
    again = false,
    loadedAt = 0,
    start = null,
    box = null,
    dragged = false;
  const chosen = new Set(form.querySelector("[data-nodes]").value.split(" ").filter(Boolean));
  const texts = form.querySelector("[data-texts]");

  async function load() {
    if (loading) {
      again = true;
      return;
    }
    loading = true;
    try {
      const wait = loadedAt + REFRESH_MS - Date.now();
      if (wait > 0) await new Promise((done) => setTimeout(done, wait));
      const answer = await fetch(PLACE.dataset.source, { headers: { Accept: "application/json" } });
      if (answer.ok) {
        data = await answer.json();
        const names = new Set(data.names);
        for (const name of chosen)
          if (!names.has(name)) chosen.delete(name);
        draw();
        describe();
        PLACE.dataset.drawn = String(data.names.length);
      }
    } finally {
      loading = false;
      loadedAt = Date.now();
      if (again) {
        again = false;
        load();
      }
    }
  }

  function draw() {
    const width = PLACE.clientWidth;
    if (!data || !width) return;
    cells = paint(canvas, width, data, { chosen, current });
    if (!box) return;
    const pen = canvas.getContext("2d");
    pen.lineWidth = 1;
    pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
    pen.setLineDash([4, 3]);
    pen.strokeRect(...box);
    pen.setLineDash([]);
  }

  function words(index) {
    const state = STATES[Number(data.states[index])];
    const share = data.shares[index] < 0 ? `no ${data.resource}` : `${data.resource} ${percent(data.shares[index])}`;
    const selected = chosen.has(data.names[index]) ? ", selected" : "";
    return `${data.names[index]}: ${share}${state ? `, ${state}` : ""}${selected}`;
  }

  function cellAt(event) {
    const [px, py] = position(event);
    return cells.findIndex(([x, y, s]) => px >= x - 1 && px <= x + s && py >= y - 1 && py <= y + s);
  }

  function position(event) {
    const bounds = canvas.getBoundingClientRect();
    return [event.clientX - bounds.left, event.clientY - bounds.top];
  }

  function point(index) {
    tip.hidden = index < 0;
    canvas.style.cursor = index < 0 ? "" : "pointer";
    if (index < 0) return;
    const [x, y, size] = cells[index];
    tip.textContent = words(index);
    tip.style.left = `${Math.max(0, Math.min(x, PLACE.clientWidth - tip.offsetWidth))}px`;
    tip.style.top = `${canvas.offsetTop + y + size + 4}px`;
  }

  const open = (index) => {
    location.href = PLACE.dataset.node + encodeURIComponent(data.names[index]);
  };

  function toggle(index) {
    const name = data.names[index];
    if (!chosen.delete(name)) chosen.add(name);
    describe();
    draw();
  }

  /* The number of selected nodes and the form's hidden field. */
  function describe() {
    form.dataset.chosen = String(chosen.size);
    const count = chosen.size.toLocaleString("en"),
      noun = chosen.size === 1 ? "node" : "nodes";
    form.querySelector("[data-count]").textContent = chosen.size ?
      `${count} ${noun} selected` :
      matchMedia("(pointer: coarse)").matches ?
      "Select nodes: turn on Click to select, and tap them." :
      "Select nodes: drag over them, or Ctrl and click; Space with the keyboard.";
    for (const button of form.querySelectorAll("[data-act]")) button.disabled = !chosen.size;
    texts.hidden = !chosen.size;
    form.querySelector("[data-clear]").hidden = !chosen.size;
    form.querySelector("[data-nodes]").value = [...chosen].join(" ");
  }

  function clear() {
    chosen.clear();
    describe();
    draw();
    status.textContent = "no nodes selected";
  }

  /* Selects the nodes whose cells the rectangle touches. */
  function chooseIn([left, top, width, height]) {
    cells.forEach(([x, y, size], index) => {
      const apart = x > left + width || x + size < left || y > top + height || y + size < top;
      if (!apart) chosen.add(data.names[index]);
    });
  }

  canvas.addEventListener("pointerdown", (event) => {
    dragged = false;
    if (event.button === 0 && event.pointerType !== "touch") start = position(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!data) return;
    if (start) {
      const [x, y] = position(event),
        moved = Math.hypot(x - start[0], y - start[1]);
      if (box || moved > DRAGGED) {
        canvas.setPointerCapture(event.pointerId);
        box = [
          Math.min(x, start[0]),
          Math.min(y, start[1]),
          Math.abs(x - start[0]),
          Math.abs(y - start[1]),
        ];
        draw();
        point(-1);
        return;
      }
    }
    point(cellAt(event));
  });
  canvas.addEventListener("pointerleave", () => point(-1));
  const stop = (event) => {
    start = null;
    if (!box) return;
    if (event.type === "pointerup") chooseIn(box);
    box = null;
    dragged = true;
    describe();
    draw();
  };
  canvas.addEventListener("pointerup", stop);
  canvas.addEventListener("pointercancel", stop);
  canvas.addEventListener("click", (event) => {
    const index = data ? cellAt(event) : -1;
    /* the click that ends a drag opens nothing */
    if (index < 0 || dragged) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || chooser.checked) toggle(index);
    else open(index);
  });
  canvas.addEventListener("focus", () => {
    if (data && current < 0 && !canvas.matches(":hover")) go(0);
  });
  canvas.addEventListener("blur", () => point(-1));
  canvas.addEventListener("keydown", (event) => {
    if (!data || !cells.length) return;
    /* the pointer is over the map: no node has been visited by a key yet */
    if (current < 0 && [" ", "Enter", "ArrowDown", "ArrowUp", "ArrowLeft"].includes(event.key)) {
      go(0);
      if (event.key !== " ") {
        event.preventDefault();
        return;
      }
    }
    if (event.key === "Enter" && current >= 0) open(current);
    else if (event.key === " " && current >= 0) {
      toggle(current);
      go(current);
    } else if (event.key === "Escape" && chosen.size) clear();
    else if (event.key === "a" && (event.ctrlKey || event.metaKey)) {
      for (const name of data.names) chosen.add(name);
      describe();
      go(Math.max(0, current));
    } else {
      const target = neighbour(event.key);
      if (target === null) return;
      if (event.shiftKey) {
        for (const index of [Math.max(0, current), target]) chosen.add(data.names[index]);
        describe();
      }
      go(target);
    }
    event.preventDefault();
  });
  form.querySelector("[data-clear]").addEventListener("click", clear);
  /* Enter in the text field needs an action: it does not press the first button of the form. */
  form.elements.text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    texts.querySelector("button").focus();
  });

  /* Returns the node that a key moves to: the next in order, or the nearest one above or below. */
  function neighbour(key) {
    if (key === "ArrowRight") return Math.min(cells.length - 1, current + 1);
    if (key === "ArrowLeft") return Math.max(0, current - 1);
    if (key === "Home") return 0;
    if (key === "End") return cells.length - 1;
    if (key !== "ArrowUp" && key !== "ArrowDown") return null;
    const [x, y] = cells[Math.max(0, current)],
      way = key === "ArrowDown" ? 1 : -1;
    let best = null,
      least = Infinity;
    cells.forEach(([cx, cy], index) => {
      const far = (cy - y) * way;
      if (far <= 0) return;
      const distance = far * 1000 + Math.abs(cx - x);
      if (distance < least) {
        least = distance;
        best = index;
      }
    });
    return best;
  }

  function go(index) {
    current = index;
    draw();
    point(index);
    status.textContent = words(index);
  }

  new ResizeObserver(() => draw()).observe(PLACE);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "overview" || event.detail.elt?.id === "overview") load();
  });
  describe();
  load();
})();
