// Suggestions below a search field while one types, as links that the arrow keys reach.

const PAUSE = 60; // milliseconds without a key before a request
const MIN_LENGTH = 2; // characters

/** @param {HTMLTextAreaElement | HTMLInputElement} field */
function suggest(field) {
  const list = document.createElement("div");
  list.className = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", "Suggestions");
  const status = document.createElement("span");
  status.className = "visually-hidden";
  status.setAttribute("role", "status");
  let timer = 0;
  /** @type {AbortController | null} */
  let pending = null;

  const close = () => {
    window.clearTimeout(timer);
    pending?.abort();
    list.hidden = true;
    status.textContent = "";
  };

  const show = async () => {
    pending?.abort();
    pending = new AbortController();
    const query = new URLSearchParams({ q: field.value.trim() });
    try {
      const answer = await fetch(`${field.dataset.suggestions}?${query}`, { signal: pending.signal });
      if (!answer.ok || answer.redirected) return close();
      list.innerHTML = await answer.text();
    } catch {
      return; // a newer request took its place, or the site is away: the field works without
    }
    if (!list.isConnected) field.after(list, status);
    list.hidden = !field.parentElement.contains(document.activeElement);
    status.textContent = `${list.querySelectorAll("a").length} suggestions, reached by the arrow keys`;
  };

  field.addEventListener("input", () => {
    window.clearTimeout(timer);
    if (field.value.trim().length < MIN_LENGTH) return close();
    timer = window.setTimeout(show, PAUSE);
  });
  field.parentElement.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const stops = [field, ...list.querySelectorAll("a")];
    const place = stops.indexOf(/** @type {any} */ (document.activeElement));
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const isEditing = place === 0 && (field.value.includes("\n") || step === -1);
    if (event.key === "Escape") {
      close();
      field.focus();
    } else if (step && place >= 0 && !isEditing) {
      event.preventDefault();
      stops[Math.min(place + step, stops.length - 1)].focus();
    }
  });
  field.parentElement.addEventListener("focusout", (event) => {
    if (!field.parentElement.contains(/** @type {Node | null} */ (event.relatedTarget))) close();
  });
}

for (const field of document.querySelectorAll("[data-suggestions]")) {
  suggest(/** @type {HTMLTextAreaElement | HTMLInputElement} */ (field));
}
