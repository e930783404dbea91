// A form that says beforehand what it will take: its answer to the button "estimate" replaces the regions `estimate` and
// `scheme-count`, and the complaints of the fields that were touched.

import { throttled } from "./plots.js";
import { fetchPage, replaceRegion } from "./regions.js";

export class EstimatingForm {
  /** `changed(event)`, if there is one, is called before every new estimate. */
  constructor(form, changed = null) {
    this.form = form;
    this.touched = new Set();
    this.running = null;
    this.typing = null;
    this.ask = throttled(() => this.estimate().catch((error) => { if (error.name !== "AbortError") throw error; }), 400);
    for (const kind of ["input", "change"]) {
      form.addEventListener(kind, (event) => {
        this.touched.add(event.target.closest("[data-field]")?.dataset.field);
        changed?.(event);
        this.soon();
      });
    }
  }

  soon() {
    clearTimeout(this.typing);
    this.typing = setTimeout(this.ask, 250);
  }

  async estimate() {
    this.running?.abort();
    this.running = new AbortController();
    const data = new FormData(this.form);
    data.set("press", "estimate");
    const fresh = await fetchPage(window.location.href, { method: "POST", body: data, signal: this.running.signal });
    if (!fresh) return;
    ["estimate", "scheme-count"].forEach((id) => replaceRegion(fresh, id));
    this.showErrors(fresh);
  }

  /** Complaints of the fields that were touched; an empty form is not wrong yet. */
  showErrors(fresh) {
    for (const shown of this.form.querySelectorAll("[data-field]")) {
      if (!this.touched.has(shown.dataset.field)) continue;
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
}
