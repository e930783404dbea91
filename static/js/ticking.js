// The time that a run has taken goes on between two answers of the server: every element with `data-busy`, the
// seconds when it was drawn, counts from there.

import { duration } from "./texts.js";

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
