// Measuring from the page "Explain a loop": buttons start runs without leaving the page, and their regions follow them.

import { plan } from "./polling.js";
import { replaceRegion } from "./regions.js";

async function submit(form) {
  const body = new FormData(form);
  body.set("fragment", "1");
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!answer.ok || !replaceRegion(page, form.dataset.loopRegion)) throw new Error(`the server answered ${answer.status}`);
  plan();
}

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (!form.dataset.loopRegion) return;
  event.preventDefault();
  submit(form).catch(() => form.submit()); // the server says why
});

/** Tools answer within a second: they are asked as soon as their table is there. */
function askTools() {
  const form = document.querySelector("form[data-loop-auto]");
  if (form instanceof HTMLFormElement) submit(form).catch(() => {});
}

/** Regions that wait for a run come with any answer. */
document.addEventListener("loop-answered", plan);
/** What a run has added to the core model changes the whole answer. */
document.addEventListener("polled", (event) => {
  const region = /** @type {HTMLElement} */ (event.target);
  askTools();
  if (region.dataset.loopChanged) document.dispatchEvent(new CustomEvent("loop-change", { detail: {} }));
});
plan();
