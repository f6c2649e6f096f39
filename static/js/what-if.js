/* The panel "What if" of a decision: sliders for the weights of its plugins. The totals of all nodes
   are computed here, from the normalized scores that scores.js has loaded. The server answers the
   same for the same address: see apps/engine/results/weighing.py. */

(() => {
  const panel = document.getElementById("what-if");
  if (!panel) return;
  const form = panel.querySelector("form");
  const MOST_NAMES = 3;
  const number = new Intl.NumberFormat("en");
  const points = (count) => `${number.format(count)} point${count === 1 ? "" : "s"}`;
  const recordedNode = form.dataset.recordedNode;
  const byName = "byName" in form.dataset;

  const fields = Array.from(form.querySelectorAll(".weight"), (row) => ({
    plugin: row.dataset.plugin,
    recorded: Number(row.dataset.recorded),
    slider: row.querySelector("[type=range]"),
    entry: row.querySelector("[type=number]"),
    on: row.querySelector("[type=checkbox]"),
  }));

  const nameSome = (names) => {
    const [first, more] = [names.slice(0, MOST_NAMES), names.length - MOST_NAMES];
    if (more > 0) return `${first.join(", ")} and ${number.format(more)} more`;
    const last = first.pop();
    return first.length ? `${first.join(", ")} and ${last}` : last;
  };

  /* Computes totals, their order and the chosen node; the matrix of scores.js has the same fields. */
  class Weighing {
    constructor(matrix, recorded) {
      this.matrix = matrix;
      this.tied = new Set(recorded ? recorded.tied : matrix.nodes.slice(0, matrix.tied));
      const totals = recorded?.totals;
      this.recordedTotal = (node, place) => (totals ? totals[node] : matrix.total[place]);
      const places = Array.from(matrix.nodes.keys());
      places.sort((a, b) => (matrix.nodes[a] < matrix.nodes[b] ? -1 : 1));
      this.nameRank = new Uint32Array(places.length);
      places.forEach((place, rank) => (this.nameRank[place] = rank));
    }

    weigh(weights) {
      const { matrix, nameRank } = this;
      const length = matrix.nodes.length;
      const total = new Float64Array(length);
      for (const { name, normalized, weight: recorded } of matrix.plugins) {
        const weight = weights.get(name) ?? recorded;
        for (let place = 0; place < length; place++) total[place] += normalized[place] * weight;
      }
      let best = -Infinity;
      for (const each of total)
        if (each > best) best = each;
      const tied = [];
      for (let place = 0; place < length; place++)
        if (total[place] === best) tied.push(place);
      const chosen = this.choose(tied);
      const order = Uint32Array.from(total.keys());
      order.sort(
        (a, b) => total[b] - total[a] || (b === chosen) - (a === chosen) || nameRank[a] - nameRank[b],
      );
      return this.arrange(order, total, weights, { tied: tied.length, chosen: chosen >= 0 });
    }

    /* The place that is chosen; -1 if the draw is not known. */
    choose(tied) {
      const { nodes } = this.matrix;
      if (tied.length === 1) return tied[0];
      if (byName) return tied.reduce((a, b) => (this.nameRank[b] < this.nameRank[a] ? b : a));
      const same = tied.length === this.tied.size && tied.every((each) => this.tied.has(nodes[each]));
      return same ? tied.find((each) => nodes[each] === recordedNode) : -1;
    }

    arrange(order, total, weights, outcome) {
      const { matrix } = this;
      const move = (column) => Float64Array.from(order, (place) => column[place]);
      const moved = Object.create(Object.getPrototypeOf(matrix));
      const sums = move(total);
      const ranks = new Float64Array(sums.length);
      sums.forEach((each, place) => {
        ranks[place] = place && each === sums[place - 1] ? ranks[place - 1] : place + 1;
      });
      return Object.assign(moved, outcome, {
        nodes: Array.from(order, (place) => matrix.nodes[place]),
        before: Array.from(order, (place) => this.recordedTotal(matrix.nodes[place], place)),
        total: sums,
        ranks,
        plugins: matrix.plugins.map((plugin) => {
          const weight = weights.get(plugin.name) ?? plugin.weight;
          const normalized = move(plugin.normalized);
          const weighted = normalized.map((value) => value * weight);
          return { ...plugin, weight, raw: move(plugin.raw), normalized, weighted };
        }),
      });
    }
  }

  const totalOf = (matrix, node) => {
    const place = matrix.nodes.indexOf(node);
    return place < 0 ? "no score" : number.format(matrix.total[place]);
  };

  function describe(matrix) {
    const [node, best] = [matrix.nodes[0], matrix.total[0]];
    if (!matrix.chosen) return describeDraw(matrix, best);
    if (recordedNode && node !== recordedNode) {
      return `${node} instead of ${recordedNode}: ${number.format(best)} to ${
        totalOf(matrix, recordedNode)
      }.`;
    }
    return `${node} is chosen, with ${points(best)}${describeLead(matrix, best)}.`;
  }

  function describeLead(matrix, best) {
    if (matrix.nodes.length === 1) return "";
    if (matrix.tied > 1) return `, as many as ${nameSome(matrix.nodes.slice(1, matrix.tied))}`;
    return `, ${number.format(best - matrix.total[1])} more than ${matrix.nodes[1]}`;
  }

  function describeDraw(matrix, best) {
    const tied = matrix.nodes.slice(0, matrix.tied);
    const said = `${number.format(matrix.tied)} nodes have the most points, ${
      number.format(best)
    } each: ${
      nameSome(tied)
    }. One of them would be drawn; which one is not known, because the recorded draw was among other nodes.`;
    if (!recordedNode || tied.includes(recordedNode)) return said;
    return `${said} ${recordedNode} has ${totalOf(matrix, recordedNode)}.`;
  }

  function list(matrix) {
    const body = panel.querySelector("[data-nodes]");
    const rows = Math.min(Number(form.dataset.listed), matrix.nodes.length);
    body.replaceChildren(...Array.from({ length: rows }, (_, place) => listed(matrix, place)));
  }

  function listed(matrix, place) {
    const row = document.createElement("tr");
    const chosen = matrix.chosen && place === 0;
    if (chosen) row.className = "chosen";
    const head = document.createElement("th");
    head.scope = "row";
    head.className = "name";
    head.textContent = matrix.nodes[place];
    if (chosen || place < matrix.tied) {
      const tag = document.createElement("span");
      tag.className = "tag";
      tag.textContent = chosen ? "chosen" : "tied";
      head.append(" ", tag);
    }
    const [total, before] = [matrix.total[place], matrix.before[place]];
    const cells = [matrix.ranks[place], total, before, matrix.total[0] - total].map((value) => {
      const cell = document.createElement("td");
      cell.className = "num";
      cell.textContent = value === undefined ? "–" : number.format(value);
      return cell;
    });
    row.append(cells[0], head, ...cells.slice(1));
    return row;
  }

  function begin({ matrix, recorded, replace }) {
    const weighing = new Weighing(matrix, recorded);
    const hasWithout = new URLSearchParams(location.search).has("without");

    function show() {
      if (!fields.every(({ entry }) => entry.validity.valid)) return;
      const weights = new Map(fields.map(({ plugin, entry }) => [plugin, Number(entry.value)]));
      const address = new URL(location.href);
      for (const { plugin, recorded: weight } of fields) {
        address.searchParams.delete(`weight.${plugin}`);
        const other = weights.get(plugin);
        if (other !== weight) address.searchParams.set(`weight.${plugin}`, other);
      }
      history.replaceState(history.state, "", address);
      const weighed = weighing.weigh(weights);
      const changed = fields.some(({ plugin, recorded: weight }) => weights.get(plugin) !== weight);
      document.getElementById("scores-changed").hidden = !changed && !hasWithout;
      panel.querySelector("[data-outcome]").textContent = describe(weighed);
      list(weighed);
      replace(weighed);
    }

    function set(field, weight) {
      field.entry.value = field.slider.value = weight;
      field.on.checked = weight > 0;
    }

    function reset() {
      for (const field of fields) set(field, field.recorded);
    }

    for (const field of fields) {
      let last = Number(field.entry.value) || field.recorded || 1;
      const take = (weight) => {
        if (weight > 0) last = weight;
        set(field, weight);
        show();
      };
      field.slider.addEventListener("input", () => take(Number(field.slider.value)));
      field.entry.addEventListener("input", () => {
        if (field.entry.validity.valid) take(Number(field.entry.value));
      });
      field.on.addEventListener("change", () => take(field.on.checked ? last : 0));
      field.slider.hidden = false;
      field.on.parentElement.hidden = false;
    }
    form.querySelector("[data-needless]")?.setAttribute("hidden", "");
    panel.addEventListener("click", (event) => {
      const link = event.target.closest("[data-reset], [data-try]");
      if (!link || hasWithout) return;
      event.preventDefault();
      reset();
      const tried = fields.find(({ plugin }) => plugin === link.dataset.try);
      if (tried) set(tried, Number(link.dataset.weight));
      show();
    });
    if (fields.some(({ entry, recorded: weight }) => Number(entry.value) !== weight)) show();
    panel.dataset.ready = "";
  }

  document.addEventListener("scores-loaded", (event) => begin(event.detail), { once: true });
})();
