// The form for a new campaign: keeps its estimate, and the complaints of touched fields, up to date. Another pair of
// predictors gets the settings that fit it, unless somebody has chosen a preset.

import { EstimatingForm } from "./estimating.js";
import { fetchPage, replaceRegion } from "./regions.js";

const form = document.querySelector("form[data-campaign-form]");
const estimating = new EstimatingForm(form, async (event) => {
  if (!["first", "second"].includes(event.target.name) || event.type !== "change" || form.querySelector("[data-preset-chosen]")) return;
  const data = new FormData(form);
  data.set("press", "preset:automatic");
  const fresh = await fetchPage(window.location.href, { method: "POST", body: data });
  if (!fresh) return;
  form.elements.preset.value = fresh.querySelector("[name=preset]").value;
  ["campaign-presets", "campaign-settings"].forEach((id) => replaceRegion(fresh, id));
  estimating.soon();
});
estimating.soon();
