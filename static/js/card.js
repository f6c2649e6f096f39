/* The card of a decision as PNG, drawn from its SVG at twice its size, and the print dialog. */

(() => {
  const SCALE = 2;

  for (const button of document.querySelectorAll("[data-save], [data-print]")) button.hidden = false;

  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-save], [data-print]");
    if (!button) return;
    if ("print" in button.dataset) return print();
    const picture = document.getElementById(button.dataset.save);
    await picture.decode();
    const canvas = document.createElement("canvas");
    canvas.width = SCALE * picture.naturalWidth;
    canvas.height = SCALE * picture.naturalHeight;
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await new Promise((done) => canvas.toBlob(done, "image/png")));
    link.download = button.dataset.name;
    link.click();
    URL.revokeObjectURL(link.href);
  });
})();
