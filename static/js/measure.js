// The form that measures on a machine: shows the fields of the chosen plan, and keeps count and estimate up to date.

import { EstimatingForm } from "./estimating.js";

const form = document.querySelector("form[data-measure]");
const field = (name) => form.querySelector(`[data-field="${name}"]`);

function showFields() {
  field("filter").hidden = form.elements.selection.value !== "filter";
  const { plan } = form.elements; // latencies have none
  for (const name of plan ? ["mixes", "length", "seed"] : []) field(name).hidden = plan.value !== "mixes";
}

const estimating = new EstimatingForm(form, showFields);
showFields();
estimating.soon();
