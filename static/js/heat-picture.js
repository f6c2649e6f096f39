/* The picture of a heat map: one cell per node, in groups; the color shows how much is requested. Cells are
   as large as the number of nodes allows. */

globalThis.schedwebHeat = (() => {
  const LABEL = 18,
    GAP = 12,
    LEAST_COLUMN = 190,
    MOST_HEIGHT = 460,
    /* cells of a small cluster, as long as they fill a few lines only; they contain the value */
    LARGEST = 64,
    FEW_HEIGHT = 180,
    LARGE = 28,
    WITH_TEXT = 40,
    SMALLEST = 4;
  /* The share of a node that does not exist, or not yet; the space of its cell remains. */
  const ABSENT = -2;
  const percent = (share) => `${Math.floor(share / 10)} %`;

  /* The layout with the largest cells that is not too high. */
  function fit(width, groups) {
    let size = LARGEST,
      found = lay(width, groups, size);
    const isTooHigh = () => found.height > (size > LARGE ? FEW_HEIGHT : MOST_HEIGHT);
    while (isTooHigh() && size > SMALLEST) {
      size -= 1;
      found = lay(width, groups, size);
    }
    return found;
  }

  /* Computes the position of each node's cell, group by group, in as many columns as fit; returns
     the cells, the labels and the total height. */
  function lay(width, groups, size) {
    const step = size + (size > 12 ? 2 : 1);
    const columns = Math.max(1, Math.min(groups.length, Math.floor(width / LEAST_COLUMN)));
    const columnWidth = (width - (columns - 1) * GAP) / columns;
    const perLine = Math.max(1, Math.floor(columnWidth / step));
    const labels = [],
      found = [];
    let top = 0,
      tallest = 0;
    groups.forEach(([name, count], place) => {
      const column = place % columns;
      if (column === 0 && place > 0) {
        top += tallest + GAP;
        tallest = 0;
      }
      const left = Math.round(column * (columnWidth + GAP));
      labels.push([`${name} · ${count.toLocaleString("en")}`, left, top + 12, columnWidth]);
      for (let each = 0; each < count; each += 1) {
        const x = left + (each % perLine) * step,
          y = top + LABEL + Math.floor(each / perLine) * step;
        found.push([x, y, size]);
      }
      tallest = Math.max(tallest, LABEL + Math.ceil(count / perLine) * step);
    });
    return { cells: found, labels, height: top + tallest + 2 };
  }

  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const parts = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

  /* Relative luminance, as WCAG defines it. */
  function luminance(color) {
    const [red, green, blue] = color.map((part) =>
      part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  /* 101 colors from an empty to a full node, between the five colors of the legend, each with the
     color of what is drawn on it. */
  function ramp(inks) {
    const steps = [0, 1, 2, 3, 4].map((step) => parts(token(`--heat-${step}`)));
    const contrast = (one, other) => {
      const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
      return (light + 0.05) / (dark + 0.05);
    };
    return Array.from({ length: 101 }, (_, step) => {
      const place = step / 25,
        from = Math.min(3, Math.floor(place)),
        part = place - from;
      const mixed = steps[from].map((low, at) => low + (steps[from + 1][at] - low) * part);
      const ink = inks.reduce((one, other) =>
        contrast(parts(one), mixed) >= contrast(parts(other), mixed) ? one : other,
      );
      return { fill: `rgb(${mixed.map(Math.round).join(" ")})`, ink };
    });
  }

  /** The text, or its start and an ellipsis, in this width; its end has the number of nodes. */
  function shorten(pen, text, width) {
    const end = text.lastIndexOf(" · ");
    let shown = text.slice(0, end),
      rest = "";
    while (shown && pen.measureText(shown + rest + text.slice(end)).width > width) {
      shown = shown.slice(0, -1);
      rest = "…";
    }
    return shown + rest + text.slice(end);
  }

  /* Paints nodes (`groups`, `names`, `shares` in thousandths, `states`), those of `chosen` and the one at
     `current` with a frame; returns the cells. */
  function paint(canvas, width, data, { chosen = new Set(), current = -1 } = {}) {
    const { cells, labels, height } = fit(width, data.groups),
      scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d"),
      ink = token("--ink"),
      colors = ramp([ink, token("--panel")]),
      quiet = token("--ink-2"),
      accent = token("--heat-chosen");
    pen.scale(scale, scale);
    pen.fillStyle = quiet;
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    for (const [text, x, y, most] of labels) pen.fillText(shorten(pen, text, most), x, y);
    cells.forEach(([x, y, size], index) => {
      const share = Math.min(1000, data.shares[index]),
        state = Number(data.states[index]);
      if (share === ABSENT) return;
      if (share < 0) {
        /* a node that has none of the resource is no empty one */
        if (!state) dash(pen, x, y, size, quiet);
        if (state) mark(pen, x, y, size, state, ink);
        return;
      }
      const color = colors[Math.round(share / 10)];
      pen.fillStyle = color.fill;
      pen.fillRect(x, y, size, size);
      if (state) mark(pen, x, y, size, state, color.ink);
      else if (size >= WITH_TEXT) {
        pen.fillStyle = color.ink;
        pen.textAlign = "center";
        pen.fillText(percent(data.shares[index]), x + size / 2, y + size / 2 + 4);
        pen.textAlign = "start";
      }
    });
    pen.strokeStyle = accent;
    cells.forEach(([x, y, size], index) => {
      if (!chosen.has(data.names[index])) return;
      pen.lineWidth = size > 8 ? 3 : 2;
      pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
    });
    if (current >= 0 && current < cells.length) {
      const [x, y, size] = cells[current];
      pen.strokeStyle = ink;
      pen.lineWidth = 2;
      pen.strokeRect(x - 1, y - 1, size + 2, size + 2);
    }
    return cells;
  }

  function dash(pen, x, y, size, color) {
    pen.strokeStyle = color;
    pen.lineWidth = size > 8 ? 1.5 : 1;
    pen.beginPath();
    pen.moveTo(x + size * 0.3, y + size / 2);
    pen.lineTo(x + size * 0.7, y + size / 2);
    pen.stroke();
  }

  /* One stroke for cordoned, two for not ready. */
  function mark(pen, x, y, size, state, color) {
    const inset = size > 8 ? 2 : 0.5;
    pen.strokeStyle = color;
    pen.lineWidth = size > 8 ? 1.5 : 1;
    pen.beginPath();
    pen.moveTo(x + inset, y + size - inset);
    pen.lineTo(x + size - inset, y + inset);
    if (state > 1) {
      pen.moveTo(x + inset, y + inset);
      pen.lineTo(x + size - inset, y + size - inset);
    }
    pen.stroke();
  }

  return { paint, percent };
})();
