/* The board of pods on nodes: a pod that is dragged, or selected with a key, asks the filters about every
   node in sight; dropped on one, it gets the whole answer. Nothing is moved. */

(() => {
  const board = document.getElementById("placement");
  if (!board) return;
  const answer = document.getElementById("answer");
  const spots = [...board.querySelectorAll("[data-node]")];
  const TOP = 2;
  let held = null,
    asked = null;

  const say = (...lines) => {
    const parts = lines.filter(Boolean).map((line, place) => {
      const part = document.createElement("p");
      if (!place) part.className = "headline";
      part.textContent = line;
      return part;
    });
    answer.replaceChildren(...parts);
    answer.hidden = false;
  };

  /* One request for all nodes in sight; kept while the pod is held. */
  async function ask(pod) {
    const query = new URLSearchParams();
    for (const spot of spots) query.append("node", spot.dataset.node);
    const reply = await fetch(`${board.dataset.answers}/${pod}?${query}`, { headers: { Accept: "application/json" } });
    if (!reply.ok) throw new Error(`The filters could not be asked: ${reply.status}`);
    const said = await reply.json();
    return new Map(said.nodes.map((node) => [node.node, node]));
  }

  function pick(chip) {
    release();
    held = chip;
    chip.ariaPressed = "true";
    const pod = chip.dataset.pod;
    for (const spot of spots) spot.tabIndex = 0;
    asked = ask(pod);
    asked.then(
      (nodes) => {
        if (held !== chip) return;
        for (const spot of spots) mark(spot, nodes.get(spot.dataset.node));
        const fits = [...nodes.values()].filter((node) => node.fits).length;
        say(`${pod} could run on ${fits} of ${nodes.size} nodes here.`, "Drop it on one for the whole answer.");
      },
      (error) => say(error.message),
    );
  }

  function mark(spot, node) {
    spot.dataset.says = node.fits ? "yes" : "no";
    const verdict = spot.querySelector(".verdict");
    verdict.textContent = node.fits ? "could run here" : node.refusals.map((each) => each.plugin).join(", ");
    verdict.hidden = false;
  }

  function release() {
    if (held) held.ariaPressed = "false";
    held = asked = null;
    for (const spot of spots) {
      delete spot.dataset.says;
      delete spot.dataset.over;
      spot.tabIndex = -1;
      spot.querySelector(".verdict").hidden = true;
    }
  }

  async function drop(spot) {
    if (!held) return;
    const chip = held,
      pod = chip.dataset.pod,
      name = spot.dataset.node;
    const waiting = asked;
    try {
      const node = (await waiting).get(name);
      const where = chip.closest("[data-node]") === spot ? ", where it runs now" : "";
      say(`${pod} ${node.fits ? "could" : "cannot"} run on ${name}${where}.`, node.sentence);
      const query = new URLSearchParams(location.search);
      query.set("pod", pod);
      query.set("node", name);
      history.replaceState(history.state, "", `?${query}`);
    } catch (error) {
      say(error.message);
    }
    release();
    chip.focus({ preventScroll: true });
    answer.scrollIntoView({ block: "nearest" });
  }

  board.addEventListener("click", (event) => {
    const chip = event.target.closest("[data-pod]");
    const spot = event.target.closest("[data-node]");
    if (held && spot && !event.target.closest("a") && (!chip || chip !== held)) return drop(spot);
    if (!chip) return;
    if (chip === held) return release();
    pick(chip);
    /* a click without a pointer is that of a key: on to the nodes */
    if (event.detail === 0) spots[0]?.focus();
  });

  board.addEventListener("dragstart", (event) => {
    const chip = event.target.closest?.("[data-pod]");
    if (!chip) return;
    event.dataTransfer.setData("text/plain", chip.dataset.pod);
    event.dataTransfer.effectAllowed = "move";
    pick(chip);
  });
  board.addEventListener("dragover", (event) => {
    const spot = event.target.closest("[data-node]");
    if (!held || !spot) return;
    event.preventDefault();
    for (const each of spots) each.toggleAttribute("data-over", each === spot);
  });
  board.addEventListener("drop", (event) => {
    const spot = event.target.closest("[data-node]");
    if (!spot) return;
    event.preventDefault();
    drop(spot);
  });
  board.addEventListener("dragend", (event) => {
    if (event.dataTransfer.dropEffect === "none") release();
  });

  /* The nearest node in a direction: in the same line, or in the next one the nearest column. */
  function next(spot, key) {
    const place = spots.indexOf(spot);
    if (key === "ArrowRight" || key === "ArrowLeft") return spots[place + (key === "ArrowRight" ? 1 : -1)];
    const from = spot.getBoundingClientRect();
    const down = key === "ArrowDown";
    const beyond = spots.filter((each) => {
      const top = each.getBoundingClientRect().top;
      return down ? top > from.top + TOP : top < from.top - TOP;
    });
    const distance = (each) => {
      const to = each.getBoundingClientRect();
      return Math.abs(to.top - from.top) * 10 + Math.abs(to.left - from.left);
    };
    return beyond.sort((a, b) => distance(a) - distance(b))[0];
  }

  board.addEventListener("keydown", (event) => {
    if (!held) return;
    const spot = event.target.closest("[data-node]");
    if (event.key === "Escape") {
      const chip = held;
      event.stopPropagation();
      release();
      return chip.focus();
    }
    if (!spot || event.target !== spot) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      drop(spot);
    } else if (event.key.startsWith("Arrow")) {
      event.preventDefault();
      next(spot, event.key)?.focus();
    }
  });
})();
