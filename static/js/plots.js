/* Charts whose figures are in the page: those of replays and scenarios. */

(() => {
  const { Board } = globalThis.schedwebCharts,
    boards = new Map();

  function draw() {
    for (const [place, board] of boards)
      if (!place.isConnected) {
        board.leave();
        boards.delete(place);
      }
    for (const place of document.querySelectorAll("[data-plots]")) {
      if (boards.has(place)) continue;
      const data = JSON.parse(place.dataset.plots);
      const board = new Board(place, { elapsed: data.elapsed, isWhole: true, keys: "chart-keys" });
      boards.set(place, board);
      board.show(data);
    }
  }

  document.addEventListener("htmx:load", draw);
  draw();
})();
