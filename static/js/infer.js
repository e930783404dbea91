// The infer form: shows the chosen source's fields, fills in presets, and keeps count and estimate up to date.
// Without it, the same buttons ask the server for the whole page.

import { EstimatingForm } from "./estimating.js";

const form = document.querySelector("form[data-infer]");

function showPanels() {
  const chosen = form.elements.source.value;
  for (const panel of form.querySelectorAll("[data-panel]")) panel.hidden = panel.dataset.panel !== chosen;
  const custom = form.elements.selection.value === "filter";
  form.querySelector('[data-field="filter"]').hidden = !custom;
}

/** What suits the chosen machine, in the fields that nobody has touched; `event` is the choice of it. */
function suitMachine(event) {
  const chosen = form.elements.source.value === "machine" ? form.querySelector('[name="machine"]:checked') : null;
  form.querySelector('[data-field="bottleneck"]')?.toggleAttribute("hidden", chosen?.dataset.measures !== "true");
  if (!chosen || !event || !["source", "machine"].includes(event.target.name)) return;
  if (chosen.dataset.ports && !estimating.touched.has("set_ports")) form.elements.set_ports.value = chosen.dataset.ports;
  if (!estimating.touched.has("selection")) form.elements.selection.value = chosen.dataset.selection;
}

/** Mark the preset whose values the form holds. */
function markPreset() {
  for (const button of form.querySelectorAll("[data-preset]")) {
    const values = Object.entries(JSON.parse(button.dataset.preset));
    const held = values.every(([name, value]) => form.elements[name].value === value);
    button.setAttribute("aria-pressed", String(held));
  }
}

const estimating = new EstimatingForm(form, (event) => {
  suitMachine(event);
  showPanels();
  markPreset();
});
for (const button of form.querySelectorAll("[data-preset]")) {
  button.addEventListener("click", (event) => {
    event.preventDefault();
    for (const [name, value] of Object.entries(JSON.parse(button.dataset.preset))) form.elements[name].value = value;
    markPreset();
    estimating.soon();
  });
}
suitMachine();
showPanels();
estimating.soon();
