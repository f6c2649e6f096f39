/* The scores of a decision, for all nodes: fetched once, sorted and filtered here.
   Without this script the server renders the same table page by page. */

(() => {
  const SHADES = 6;
  const ABOVE_AND_BELOW = 12;
  const DEFAULTS = { value: "weighted", sort: "rank" };
  const section = document.getElementById("scores");
  if (!section) return;

  const number = new Intl.NumberFormat("en");
  /* Scores are 64-bit integers: a raw score may count bytes. A double holds them up to 2^53. */
  const column = (packed, length) =>
    Array.isArray(packed) ? Float64Array.from(packed) : new Float64Array(length).fill(packed);
  const range = (values) => {
    let least = Infinity;
    let most = -Infinity;
    for (const value of values) {
      if (value < least) least = value;
      if (value > most) most = value;
    }
    return [least, most];
  };

  /* The nodes x plugins matrix, best node first. */
  class Matrix {
    constructor(data) {
      this.nodes = data.nodes;
      this.ranks = data.ranks;
      this.tied = data.tied;
      this.chosen = data.chosen;
      const length = data.nodes.length;
      this.total = column(data.total, length);
      this.plugins = data.plugins.map(({ plugin, weight, raw, normalized }) => {
        const normal = column(normalized, length);
        return {
          name: plugin,
          weight,
          raw: column(raw, length),
          normalized: normal,
          weighted: normal.map((value) => value * weight),
        };
      });
    }

    /* The columns to draw: the total and each plugin's numbers, with their scales: from zero to the
       highest possible score. Raw scores have no such limit; theirs ends at the highest value. */
    columns(value) {
      const highest = (weight) => ({ weighted: 100 * weight, normalized: 100 })[value] || 0;
      const weights = this.plugins.reduce((sum, { weight }) => sum + weight, 0);
      const all = [{ name: "total", numbers: this.total, top: 100 * weights }];
      for (const plugin of this.plugins) {
        all.push({ name: plugin.name, numbers: plugin[value], top: highest(plugin.weight) });
      }
      return all.map(({ top, ...each }) => {
        const [least, most] = range(each.numbers);
        return { ...each, range: [Math.min(0, least), Math.max(top, most)] };
      });
    }

    rows({ q, only, sort, value }) {
      let rows = Array.from(this.nodes.keys());
      if (only === "tied") rows = rows.slice(0, this.tied);
      if (q) rows = rows.filter((row) => this.nodes[row].includes(q));
      const down = sort.startsWith("-");
      const name = down ? sort.slice(1) : sort;
      const sign = down ? -1 : 1;
      if (name === "rank") return down ? rows.reverse() : rows;
      if (name === "node") {
        const text = (a, b) => (this.nodes[a] < this.nodes[b] ? -1 : 1);
        return rows.sort((a, b) => sign * text(a, b));
      }
      const plugin = this.plugins.find((each) => each.name === name);
      const numbers = plugin ? plugin[value] : this.total;
      return rows.sort((a, b) => sign * (numbers[a] - numbers[b]) || a - b);
    }
  }

  /* A value in proportion to its scale: from 0 to 1. */
  const proportion = (value, [least, most]) => (most > least ? (value - least) / (most - least) : 0);
  const shade = (value, scale) => Math.floor(proportion(value, scale) * (SHADES - 1));

  /* A table that contains only the visible rows. */
  class VirtualTable {
    constructor(scroller, matrix, onFocus) {
      this.scroller = scroller;
      this.table = scroller.querySelector("table");
      this.body = this.table.tBodies[0];
      this.matrix = matrix;
      this.at = -1;
      scroller.classList.add("virtual");
      scroller.addEventListener("scroll", () => this.draw(), { passive: true });
      new ResizeObserver(() => this.draw()).observe(scroller);
      this.body.addEventListener("focusin", (event) => {
        const row = event.target.closest("tr");
        if (row) onFocus(Number(row.getAttribute("aria-rowindex")) - 2);
      });
    }

    show(rows, columns) {
      this.rows = rows;
      this.columns = columns;
      this.at = -1;
      this.first = undefined;
      this.table.setAttribute("aria-rowcount", rows.length + 1);
      this.draw();
    }

    draw() {
      const height = this.rowHeight || 30;
      const seen = Math.ceil(this.scroller.clientHeight / height);
      const top = Math.floor(this.scroller.scrollTop / height);
      const first = Math.max(0, Math.min(top, this.rows.length - seen) - ABOVE_AND_BELOW);
      const last = Math.min(this.rows.length, first + seen + 2 * ABOVE_AND_BELOW);
      if (this.first === first && this.last === last && this.marked === this.at) return;
      if (document.activeElement && this.body.contains(document.activeElement)) {
        const kept = document.activeElement.closest("tr").getAttribute("aria-rowindex") - 2;
        if (kept >= first && kept < last && this.first === first) return;
      }
      [this.first, this.last, this.marked] = [first, last, this.at];
      const made = [this.gap(first * height)];
      for (let place = first; place < last; place++) made.push(this.row(place));
      made.push(this.gap((this.rows.length - last) * height));
      this.body.replaceChildren(...made);
      if (!this.rows.length) this.body.replaceChildren(this.nothing());
      const measured = made[1]?.offsetHeight;
      if (measured && measured !== this.rowHeight && last > first) {
        this.rowHeight = measured;
        this.first = undefined;
        this.draw();
      }
    }

    gap(pixels) {
      const row = document.createElement("tr");
      row.className = "gap";
      row.setAttribute("aria-hidden", "true");
      const cell = row.insertCell();
      cell.colSpan = this.columns.length + 2;
      cell.style.height = `${pixels}px`;
      return row;
    }

    nothing() {
      const row = document.createElement("tr");
      const cell = row.insertCell();
      cell.colSpan = this.columns.length + 2;
      cell.className = "quiet";
      cell.textContent = "No feasible node matches.";
      return row;
    }

    row(place) {
      const node = this.rows[place];
      const matrix = this.matrix;
      const chosen = matrix.chosen && node === 0;
      const row = document.createElement("tr");
      row.setAttribute("aria-rowindex", place + 2);
      if (chosen) row.classList.add("chosen");
      if (place === this.at) row.classList.add("at");
      const rank = row.insertCell();
      rank.className = "num";
      rank.textContent = number.format(matrix.ranks[node]);
      const head = document.createElement("th");
      head.scope = "row";
      head.className = "name";
      const link = document.createElement("a");
      link.href = section.dataset.node.replace("NODE", encodeURIComponent(matrix.nodes[node]));
      link.textContent = matrix.nodes[node];
      head.append(link);
      if (chosen || node < matrix.tied) {
        const tag = document.createElement("span");
        tag.className = "tag";
        tag.textContent = chosen ? "chosen" : "tied";
        head.append(" ", tag);
      }
      row.append(head);
      for (const each of this.columns) {
        const value = each.numbers[node];
        const cell = row.insertCell();
        cell.className = `num shade-${shade(value, each.range)}`;
        cell.textContent = number.format(value);
      }
      matrix.plugins.forEach((plugin, index) => {
        const [raw, normal, weighted] = [plugin.raw, plugin.normalized, plugin.weighted].map(
          (numbers) => number.format(numbers[node]),
        );
        row.cells[index + 3].title = `raw ${raw}, normalized ${normal}, weighted ${weighted}`;
      });
      return row;
    }

    goTo(place) {
      this.at = place;
      const height = this.rowHeight || 30;
      const head = this.table.tHead.offsetHeight;
      const top = place * height;
      const { scrollTop, clientHeight } = this.scroller;
      if (top < scrollTop || top + height + head > scrollTop + clientHeight) {
        this.scroller.scrollTop = Math.max(0, top - (clientHeight - head) / 2);
      }
      this.draw();
    }
  }

  /* All nodes in table order, one strip per column, with the values at the current position. */
  class Overview {
    constructor(before, matrix, onPick) {
      this.matrix = matrix;
      this.box = document.createElement("div");
      this.box.className = "overview";
      this.names = document.createElement("ul");
      this.names.className = "names";
      this.names.setAttribute("aria-hidden", "true");
      this.canvas = document.createElement("canvas");
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "slider");
      this.canvas.setAttribute(
        "aria-label",
        "All nodes in table order: the position shown",
      );
      this.canvas.setAttribute("aria-valuemin", "1");
      this.says = document.createElement("output");
      this.says.className = "quiet";
      const strip = document.createElement("div");
      strip.className = "strip";
      strip.append(this.names, this.canvas);
      this.box.append(strip, this.says);
      before.before(this.box);
      this.place = 0;
      this.onPick = onPick;
      this.canvas.addEventListener("pointermove", (event) => this.tell(this.placeAt(event)));
      this.canvas.addEventListener("pointerleave", () => this.tell(this.place));
      this.canvas.addEventListener("click", (event) => this.pick(this.placeAt(event)));
      this.canvas.addEventListener("keydown", (event) => this.onKey(event));
      new ResizeObserver(() => this.draw()).observe(this.canvas);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    }

    show(rows, columns) {
      this.rows = rows;
      this.columns = columns;
      this.names.replaceChildren(
        ...columns.map(({ name }) => {
          const item = document.createElement("li");
          item.textContent = name;
          return item;
        }),
      );
      this.box.hidden = rows.length < 2;
      this.canvas.setAttribute("aria-valuemax", rows.length);
      this.mark(0);
      this.draw();
    }

    placeAt(event) {
      const share = event.offsetX / Math.max(1, this.canvas.clientWidth);
      return Math.min(this.rows.length - 1, Math.max(0, Math.floor(share * this.rows.length)));
    }

    onKey(event) {
      const leap = Math.max(1, Math.round(this.rows.length / 20));
      const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: -leap };
      const wanted = { Home: 0, End: this.rows.length - 1, PageDown: this.place + leap };
      const place = event.key in steps ? this.place + steps[event.key] : wanted[event.key];
      if (place === undefined) return;
      event.preventDefault();
      this.pick(Math.min(this.rows.length - 1, Math.max(0, place)));
    }

    pick(place) {
      this.mark(place);
      this.draw();
      this.onPick(place);
    }

    mark(place) {
      this.place = place;
      this.canvas.setAttribute("aria-valuenow", place + 1);
      this.tell(place);
      this.canvas.setAttribute("aria-valuetext", this.says.textContent);
    }

    tell(place) {
      const node = this.rows[place];
      if (node === undefined) {
        this.says.textContent = "";
        return;
      }
      const parts = this.columns.map(
        ({ name, numbers }) => `${name} ${number.format(numbers[node])}`,
      );
      const where = `${number.format(place + 1)} of ${number.format(this.rows.length)}`;
      this.says.textContent = `${this.matrix.nodes[node]} (${where}): ${parts.join(", ")}`;
    }

    draw() {
      const width = this.canvas.clientWidth;
      const ratio = window.devicePixelRatio || 1;
      const line = parseFloat(getComputedStyle(document.documentElement).fontSize) * 1.125;
      this.canvas.width = Math.max(1, Math.round(width * ratio));
      this.canvas.height = Math.round(line * this.columns.length * ratio);
      this.canvas.style.height = `${line * this.columns.length}px`;
      const context = this.canvas.getContext("2d");
      const style = getComputedStyle(document.documentElement);
      const pixels = Math.min(this.rows.length, this.canvas.width);
      const step = this.canvas.width / pixels;
      context.fillStyle = style.getPropertyValue("--fill");
      const tall = (line - 3) * ratio;
      this.columns.forEach(({ numbers, range: scale }, index) => {
        const bottom = Math.round(index * line * ratio + tall);
        for (let pixel = 0; pixel < pixels; pixel++) {
          const from = Math.floor((pixel * this.rows.length) / pixels);
          const to = Math.max(from + 1, Math.floor(((pixel + 1) * this.rows.length) / pixels));
          let sum = 0;
          for (let place = from; place < to; place++) sum += numbers[this.rows[place]];
          const height = tall * proportion(sum / (to - from), scale);
          context.fillRect(pixel * step, bottom - height, Math.ceil(step), height);
        }
      });
      context.fillStyle = style.getPropertyValue("--line");
      this.columns.forEach((_, index) => {
        const bottom = Math.round(index * line * ratio + tall);
        context.fillRect(0, bottom, this.canvas.width, Math.max(1, Math.round(ratio)));
      });
      context.fillStyle = style.getPropertyValue("--ink");
      const left = ((this.place + 0.5) / this.rows.length) * this.canvas.width;
      context.fillRect(Math.round(left - ratio), 0, 2 * ratio, this.canvas.height);
    }
  }

  /* The form and the headings sort and filter without the server, and update the address.
     Other weights give another matrix: see what-if.js. */
  function begin(loaded, recorded) {
    let matrix = loaded;
    const form = document.getElementById("score-filters");
    const scroller = section.querySelector(".rows");
    const pager = section.querySelector(".pager");
    const asked = new URLSearchParams(location.search);
    let sort = asked.get("sort") || "rank";
    if (pager) pager.hidden = true;
    const said = document.createElement("p");
    said.className = "visually-hidden";
    said.setAttribute("role", "status");
    section.append(said);
    const overview = new Overview(scroller, matrix, (place) => table.goTo(place));
    const table = new VirtualTable(scroller, matrix, (place) => overview.mark(place));

    function show() {
      const fields = form.elements;
      const now = { q: fields.q.value.trim(), only: fields.only.value, value: fields.value.value };
      const rows = matrix.rows({ ...now, sort });
      const columns = matrix.columns(now.value);
      scroller.scrollTop = 0;
      table.show(rows, columns);
      overview.show(rows, columns);
      said.textContent = `${number.format(rows.length)} nodes`;
      const address = new URL(location.href);
      for (const name of ["page", "size", "sort", "q", "only", "value"]) {
        address.searchParams.delete(name);
      }
      for (const [name, value] of Object.entries({ ...now, sort })) {
        if (value !== (DEFAULTS[name] || "")) address.searchParams.set(name, value);
      }
      history.replaceState(history.state, "", address);
    }

    /* captured before they reach the form, where htmx would send a request */
    const taken = (event) => {
      if (event.target !== form && event.target.form !== form) return;
      event.stopPropagation();
      if (event.type === "submit") event.preventDefault();
      show();
    };
    for (const type of ["input", "submit"]) section.addEventListener(type, taken, true);
    section.querySelector("thead").addEventListener("click", (event) => {
      const link = event.target.closest("a");
      if (!link) return;
      event.preventDefault();
      const wanted = new URL(link.href).searchParams.get("sort").replace(/^-/, "");
      const downFirst = !["rank", "node"].includes(wanted);
      const [first, second] = downFirst ? [`-${wanted}`, wanted] : [wanted, `-${wanted}`];
      sort = sort === first ? second : first;
      for (const head of section.querySelectorAll("thead th")) {
        const here = head.contains(link);
        const arrow = head.querySelector(".sort");
        if (arrow) arrow.textContent = here ? (sort.startsWith("-") ? " ↓" : " ↑") : "";
        if (here) head.setAttribute("aria-sort", sort.startsWith("-") ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      }
      show();
    });

    function replace(other) {
      matrix = table.matrix = overview.matrix = other;
      section.querySelectorAll("thead a").forEach((link, index) => {
        const plugin = matrix.plugins[index - 3];
        const label = link.firstChild;
        if (plugin) label.textContent = label.textContent.replace(/\S+\s*$/, plugin.weight);
      });
      show();
    }

    show();
    document.dispatchEvent(
      new CustomEvent("scores-loaded", { detail: { matrix: loaded, recorded, replace } }),
    );
  }

  fetch(section.dataset.matrix, { headers: { Accept: "application/json" } })
    .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(answer.statusText))))
    .then((data) => begin(new Matrix(data), data.recorded))
    .catch(() => section.classList.add("paged"));
})();
