// A check of the port mapping model on its run's page: tables come with the page, heat maps are drawn from its data and
// stay as they are otherwise while the run goes on.

import { HeatMap } from "./heatmap.js";
import { replaceRegion } from "./regions.js";

const REGIONS = ["model-summary", "model-figures", "model-mixes", "model-orders"];

export class ModelCheck {
  constructor() {
    this.maps = new Map();
    this.draw();
  }

  /** Take what a fetched page tells. */
  take(fresh) {
    for (const id of REGIONS) replaceRegion(fresh, id);
    this.draw();
  }

  draw() {
    const figures = JSON.parse(document.getElementById("model-figures").textContent);
    for (const [name, told] of Object.entries(figures)) {
      const element = document.querySelector(`[data-model-map="${name}"]`);
      if (!element) continue;
      if (!this.maps.has(name)) this.maps.set(name, new HeatMap(element));
      this.maps.get(name).show(told);
      if (told.title) element.querySelector("h2").textContent = told.title; // another length while the run goes on
    }
  }
}
