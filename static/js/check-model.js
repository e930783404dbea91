// The form that checks the model on a machine: keeps count and estimate up to date.

import { EstimatingForm } from "./estimating.js";

const form = document.querySelector("form[data-check-model]");

function showFields() {
  form.querySelector('[data-field="filter"]').hidden = form.elements.selection.value !== "filter";
}

const estimating = new EstimatingForm(form, showFields);
showFields();
estimating.soon();
