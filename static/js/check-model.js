// The form that checks the model on a machine: keeps count and estimate up to date.

import { EstimatingForm } from "./estimating.js";

new EstimatingForm(document.querySelector("form[data-check-model]")).soon();
