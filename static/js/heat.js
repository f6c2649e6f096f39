/* The heat map of a cluster's nodes: one cell per node, in groups; the height of the fill shows
   how much is requested. Drawn on a canvas from one compact document. Arrow keys move between
   nodes, Enter opens one. */

(() => {
  const PLACE = document.getElementById("heat");
  if (!PLACE) return;
  const canvas = PLACE.querySelector("canvas");
  const tip = PLACE.querySelector(".tip");
  const status = PLACE.querySelector("[role=status]");
  const STATES = ["", "cordoned", "not ready", "not ready, cordoned"];
  const LABEL = 18,
    GAP = 12,
    LEAST_COLUMN = 190,
    REFRESH_MS = 2000;
  let data = null,
    cells = [],
    current = -1,
    loading = false,
    again = false,
    loadedAt = 0;

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
        draw();
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

  function sizeOfCell(nodes) {
    return nodes <= 300 ? 20 : nodes <= 1200 ? 15 : nodes <= 3000 ? 11 : 9;
  }

  /* Computes the position of each node's cell, group by group, in as many columns as fit; returns
     the labels and the total height. */
  function lay(width) {
    const size = sizeOfCell(data.names.length),
      step = size + (size > 12 ? 2 : 1);
    const columns = Math.max(1, Math.min(data.groups.length, Math.floor(width / LEAST_COLUMN)));
    const columnWidth = (width - (columns - 1) * GAP) / columns;
    const perLine = Math.max(1, Math.floor(columnWidth / step));
    const labels = [];
    let top = 0,
      tallest = 0,
      index = 0;
    cells = [];
    data.groups.forEach(([name, count], place) => {
      const column = place % columns;
      if (column === 0 && place > 0) {
        top += tallest + GAP;
        tallest = 0;
      }
      const left = column * (columnWidth + GAP);
      labels.push([`${name} · ${count.toLocaleString("en")}`, left, top + 12, columnWidth]);
      for (let each = 0; each < count; each += 1, index += 1) {
        const x = left + (each % perLine) * step,
          y = top + LABEL + Math.floor(each / perLine) * step;
        cells.push([x, y, size]);
      }
      tallest = Math.max(tallest, LABEL + Math.ceil(count / perLine) * step);
    });
    return { labels, height: top + tallest + 2 };
  }

  function draw() {
    const width = PLACE.clientWidth;
    if (!data || !width) return;
    const { labels, height } = lay(width),
      scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d"),
      tokens = getComputedStyle(document.documentElement);
    const colour = (name) => tokens.getPropertyValue(name).trim();
    const ramp = [0, 1, 2, 3, 4].map((step) => colour(`--heat-${step}`));
    pen.scale(scale, scale);
    pen.fillStyle = colour("--ink-2");
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    for (const [text, x, y, most] of labels) pen.fillText(text, x, y, most);
    const track = colour("--track"),
      ink = colour("--ink");
    cells.forEach(([x, y, size], index) => {
      const share = Math.min(1000, data.shares[index]);
      pen.fillStyle = track;
      pen.fillRect(x, y, size, size);
      const tall = share > 0 ? Math.max(1, Math.round((size * share) / 1000)) : 0;
      pen.fillStyle = ramp[Math.min(4, Math.floor(share / 200))];
      pen.fillRect(x, y + size - tall, size, tall);
      const state = Number(data.states[index]);
      if (state) mark(pen, x, y, size, state, ink);
    });
    if (current >= 0 && current < cells.length) {
      const [x, y, size] = cells[current];
      pen.strokeStyle = colour("--accent");
      pen.lineWidth = 2;
      pen.strokeRect(x - 1, y - 1, size + 2, size + 2);
    }
  }

  /* One stroke for cordoned, two for not ready. */
  function mark(pen, x, y, size, state, ink) {
    pen.strokeStyle = ink;
    pen.lineWidth = 1.2;
    pen.beginPath();
    pen.moveTo(x + 1, y + size - 1);
    pen.lineTo(x + size - 1, y + 1);
    if (state > 1) {
      pen.moveTo(x + 1, y + 1);
      pen.lineTo(x + size - 1, y + size - 1);
    }
    pen.stroke();
  }

  function words(index) {
    const state = STATES[Number(data.states[index])];
    const share = `${data.resource} ${Math.floor(data.shares[index] / 10)} %`;
    return `${data.names[index]}: ${share}${state ? `, ${state}` : ""}`;
  }

  function at(event) {
    const box = canvas.getBoundingClientRect();
    const px = event.clientX - box.left,
      py = event.clientY - box.top;
    return cells.findIndex(([x, y, s]) => px >= x - 1 && px <= x + s && py >= y - 1 && py <= y + s);
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

  canvas.addEventListener("pointermove", (event) => data && point(at(event)));
  canvas.addEventListener("pointerleave", () => point(-1));
  canvas.addEventListener("click", (event) => {
    const index = data ? at(event) : -1;
    if (index >= 0) open(index);
  });
  canvas.addEventListener("focus", () => {
    if (data && current < 0) go(0);
  });
  canvas.addEventListener("blur", () => point(-1));
  canvas.addEventListener("keydown", (event) => {
    if (!data || !cells.length) return;
    if (event.key === "Enter" && current >= 0) open(current);
    const target = neighbour(event.key);
    if (target === null) return;
    event.preventDefault();
    go(target);
  });

  /* Returns the node that a key moves to: the next in order, or the nearest one above or below. */
  function neighbour(key) {
    if (key === "ArrowRight") return Math.min(cells.length - 1, current + 1);
    if (key === "ArrowLeft") return Math.max(0, current - 1);
    if (key === "Home") return 0;
    if (key === "End") return cells.length - 1;
    if (key !== "ArrowUp" && key !== "ArrowDown") return null;
    const [x, y] = cells[current],
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
  load();
})();
