// Measuring from the page "Explain a loop": buttons start runs without leaving the page, and their regions follow them.

import { plan } from "./polling.js";
import { replaceRegion } from "./regions.js";

async function submit(form) {
  const body = new FormData(form);
  body.set("fragment", "1");
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!answer.ok || !replaceRegion(page, form.dataset.loopRegion)) form.submit(); // the server says why
  plan();
}

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (!form.dataset.loopRegion) return;
  event.preventDefault();
  submit(form).catch(() => form.submit());
});

/** Regions that wait for a run come with any answer. */
document.addEventListener("loop-answered", plan);
/** What a run has added to the core model changes the whole answer. */
document.addEventListener("polled", (event) => {
  const region = /** @type {HTMLElement} */ (event.target);
  if (region.dataset.loopChanged) document.dispatchEvent(new CustomEvent("loop-change", { detail: {} }));
});
plan();
