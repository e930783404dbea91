// The time that a run has taken goes on between two answers of the server: every element with `data-busy`, the
// seconds when it was drawn, counts from there.

export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "";
  const total = Math.round(seconds);
  if (total < 60) return `${total} s`;
  if (total < 3600) return `${Math.floor(total / 60)} min ${String(total % 60).padStart(2, "0")} s`;
  return `${Math.floor(total / 3600)} h ${String(Math.floor((total % 3600) / 60)).padStart(2, "0")} min`;
}

const drawn = new WeakMap();

function tick() {
  const now = Date.now();
  for (const element of document.querySelectorAll("[data-busy]")) {
    if (!drawn.has(element)) drawn.set(element, now);
    element.textContent = duration(Number(element.dataset.busy) + (now - drawn.get(element)) / 1000);
  }
}

tick();
setInterval(tick, 1000);
