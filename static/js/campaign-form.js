// The form for a new campaign: keeps its estimate, and the complaints of touched fields, up to date.

import { EstimatingForm } from "./estimating.js";

const estimating = new EstimatingForm(document.querySelector("form[data-campaign-form]"));
estimating.soon();
