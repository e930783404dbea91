// The infer form: shows the chosen source's fields, fills in presets, and keeps count and estimate up to date.
// Without it, the same buttons ask the server for the whole page.

import { throttled } from "./plots.js";
import { fetchPage, replaceRegion } from "./regions.js";

const form = document.querySelector("form[data-infer]");
const touched = new Set();
let running = null;

function showPanels() {
  const chosen = form.elements.source.value;
  for (const panel of form.querySelectorAll("[data-panel]")) panel.hidden = panel.dataset.panel !== chosen;
  const custom = form.elements.selection.value === "filter";
  form.querySelector('[data-field="filter"]').hidden = !custom;
}

/** Mark the preset whose values the form holds. */
function markPreset() {
  for (const button of form.querySelectorAll("[data-preset]")) {
    const values = Object.entries(JSON.parse(button.dataset.preset));
    const held = values.every(([name, value]) => form.elements[name].value === value);
    button.setAttribute("aria-pressed", String(held));
  }
}

/** Complaints of the fields that were touched; an empty form is not wrong yet. */
function showErrors(fresh) {
  for (const shown of form.querySelectorAll("[data-field]")) {
    if (!touched.has(shown.dataset.field)) continue;
    const answer = fresh.querySelector(`[data-field="${shown.dataset.field}"] [data-errors]`);
    if (!answer) continue;
    shown.querySelector("[data-errors]").replaceChildren(...answer.childNodes);
    const control = shown.querySelector("input, select, textarea");
    if (shown.querySelector(".errorlist")) {
      control.setAttribute("aria-invalid", "true");
      const folded = shown.closest("details");
      if (folded) folded.open = true;
    } else control.removeAttribute("aria-invalid");
  }
}

async function estimate() {
  running?.abort();
  running = new AbortController();
  const data = new FormData(form);
  data.set("press", "estimate");
  const fresh = await fetchPage(window.location.href, { method: "POST", body: data, signal: running.signal });
  if (!fresh) return;
  ["estimate", "scheme-count"].forEach((id) => replaceRegion(fresh, id));
  showErrors(fresh);
}

let typing = null;
const ask = throttled(() => estimate().catch((error) => { if (error.name !== "AbortError") throw error; }), 400);
function soon() {
  clearTimeout(typing);
  typing = setTimeout(ask, 250);
}

for (const kind of ["input", "change"]) {
  form.addEventListener(kind, (event) => {
    touched.add(event.target.closest("[data-field]")?.dataset.field);
    showPanels();
    markPreset();
    soon();
  });
}
for (const button of form.querySelectorAll("[data-preset]")) {
  button.addEventListener("click", (event) => {
    event.preventDefault();
    for (const [name, value] of Object.entries(JSON.parse(button.dataset.preset))) form.elements[name].value = value;
    markPreset();
    soon();
  });
}
showPanels();
soon();
