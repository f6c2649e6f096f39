/* Notifications of finished operations: a toast with a link on every page, and a notification of the
   browser where the user has allowed it. Operations that a user started are watched until they end. */

(() => {
  const place = document.getElementById("toasts");
  if (!place) return;
  const WATCHED = "schedweb-operations";
  const FIRST_MS = 1500;
  const LONGEST_MS = 15000;
  const ENDED = new Set(["succeeded", "failed", "cancelled"]);
  const WORDS = { succeeded: "finished", failed: "failed", cancelled: "was cancelled" };

  const read = () => JSON.parse(localStorage.getItem(WATCHED) || "{}");
  const write = (watched) => localStorage.setItem(WATCHED, JSON.stringify(watched));
  let wait = FIRST_MS,
    looking = false;

  /* A page that shows an operation that has not ended: watch it from now on. One that ends while it
     is shown is still announced by the browser, if the page is not in sight. */
  function watchHere() {
    const watched = read();
    for (const { dataset } of document.querySelectorAll("[data-operation]")) {
      if (ENDED.has(dataset.state) || dataset.operation in watched) continue;
      watched[dataset.operation] = dataset.address || location.pathname;
      write(watched);
      if (!looking) look();
    }
  }

  /* What a new page shows to have ended needs no notice. */
  function forgetEnded() {
    const watched = read();
    for (const { dataset } of document.querySelectorAll("[data-operation]"))
      if (ENDED.has(dataset.state)) delete watched[dataset.operation];
    write(watched);
  }

  const mayNotify = () => window.Notification && Notification.permission === "granted";

  async function look() {
    const watched = read();
    const numbers = Object.keys(watched);
    looking = numbers.length > 0;
    if (!looking) return;
    if (document.hidden && !mayNotify()) {
      /* nobody would see it here: it is left to the tab in sight */
      document.addEventListener("visibilitychange", look, { once: true });
      return;
    }
    const found = await Promise.all(numbers.map(fetchOperation));
    for (const [index, operation] of found.entries()) {
      if (operation && !ENDED.has(operation.state)) continue;
      const still = read();
      if (!(numbers[index] in still)) continue;
      delete still[numbers[index]];
      write(still);
      if (operation) announce(operation, watched[numbers[index]]);
    }
    wait = Math.min(1.5 * wait, LONGEST_MS);
    setTimeout(look, wait);
  }

  async function fetchOperation(number) {
    try {
      const answer = await fetch(`${place.dataset.operations}/${number}`);
      if (answer.ok) return await answer.json();
      return answer.status === 404 ? null : { state: "running" };
    } catch {
      return { state: "running" };
    }
  }

  function announce(operation, address) {
    const text = operation.state === "failed" ? operation.cause : operation.message;
    if (!document.querySelector(`[data-operation="${operation.id}"]`)) showToast(operation, address, text);
    if (mayNotify() && document.hidden) {
      const shown = new Notification(`${operation.title} ${WORDS[operation.state]}`, { body: text, tag: address });
      shown.addEventListener("click", () => {
        focus();
        location.href = address;
      });
    }
  }

  function showToast(operation, address, text) {
    const toast = document.createElement("div");
    toast.className = `notice toast ${operation.state === "failed" ? "error" : "success"}`;
    const link = document.createElement("a");
    link.href = address;
    link.textContent = operation.title;
    const close = document.createElement("button");
    close.type = "button";
    close.className = "link";
    close.textContent = "Close";
    close.setAttribute("aria-label", `Close: ${operation.title}`);
    close.addEventListener("click", () => {
      toast.remove();
      (place.querySelector("button") || document.getElementById("main")).focus({ preventScroll: true });
    });
    toast.append(link, ` ${WORDS[operation.state]}. `, text || "", " ", close);
    place.append(toast);
  }

  forgetEnded();
  watchHere();
  document.addEventListener("htmx:afterSettle", watchHere);
  if (!looking) look();

  const allow = document.querySelector("[data-notify]");
  if (allow && window.Notification && Notification.permission !== "granted") {
    allow.hidden = false;
    allow.addEventListener("click", async () => {
      const answer = await Notification.requestPermission();
      allow.textContent =
        answer === "granted" ? "Notifications are allowed" : "The browser does not allow notifications";
      allow.disabled = true;
    });
  }
})();
