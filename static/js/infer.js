// The infer form: fills in presets, and keeps count and estimate up to date. Stylesheets show the chosen source's fields.
// Without it, the same buttons ask the server for the whole page.

import { EstimatingForm } from "./estimating.js";
import { fetchPage, replaceRegion } from "./regions.js";

const form = document.querySelector("form[data-infer]");
let choosing = null; // the request for another algorithm's settings

/** The algorithm whose settings are shown. */
const how = () => document.getElementById("how").dataset;

/** Another algorithm has other settings: the server draws them; of several choices the last counts. */
async function showSettings() {
  choosing?.abort();
  choosing = new AbortController();
  const data = new FormData(form);
  for (const name of [...data.keys()]) if (name.startsWith("set_")) data.delete(name);
  data.set("press", "estimate");
  const fresh = await fetchPage(window.location.href, { method: "POST", body: data, signal: choosing.signal });
  if (!fresh || !replaceRegion(fresh, "how")) return;
  for (const field of [...estimating.touched]) if (field?.startsWith("set_")) estimating.touched.delete(field);
  form.elements.algorithm.focus();
  suitMachine({ target: form.elements.machine?.[0] ?? form.elements.source[0] });
  markPreset();
}

/** What suits the chosen machine, in the fields that nobody has touched; `event` is the choice of it. */
function suitMachine(event) {
  const chosen = form.elements.source.value === "machine" ? form.querySelector('[name="machine"]:checked') : null;
  const measures = how().explores !== "true" && (how().exact === "true" ? form.elements.source.value !== "datasets" : chosen?.dataset.measures === "true");
  form.querySelector('[data-field="bottleneck"]').toggleAttribute("hidden", !measures);
  if (!chosen || !event || !["source", "machine"].includes(event.target.name)) return;
  const own = how().exact === "true" ? "probes" : how().explores === "true" ? "default" : null;
  if (!estimating.touched.has("selection")) form.elements.selection.value = (chosen.dataset.measures === "true" && own) || chosen.dataset.selection;
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
  if (event.target.name === "algorithm" && event.type === "change") showSettings().catch(() => {});
  suitMachine(event);
  markPreset();
});
form.addEventListener("click", (event) => {
  const button = event.target.closest("[data-preset]");
  if (!button) return;
  event.preventDefault();
  for (const [name, value] of Object.entries(JSON.parse(button.dataset.preset))) form.elements[name].value = value;
  markPreset();
  estimating.soon();
});
suitMachine();
estimating.soon();
