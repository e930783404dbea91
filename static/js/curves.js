// The fitness curve: a figure made by the server to which new generations are appended.

import { colour } from "./colours.js";
import { Plot } from "./plots.js";

/** @type {[string, number][]} */
const SERIES = [["best_error", 100], ["mean_error", 100], ["best_volume", 1], ["mean_volume", 1]]; // as the figure has them
const whole = new Intl.NumberFormat("en");

export class FitnessCurve {
  constructor(element, figure) {
    this.figure = figure;
    this.values = element.querySelector("[data-fitness]");
    this.area = element.querySelector(".plot-area");
    this.plot = new Plot(this.area, { restyle: (shown) => this.restyle(shown) });
  }

  get last() {
    return this.figure.data[0].x.at(-1);
  }

  /** Append a generation; one that is already there came twice and replaces what follows it. */
  add(generation) {
    const keep = this.figure.data[0].x.findIndex((number) => number >= generation.generation);
    this.figure.data.forEach((trace, index) => {
      const [key, scale] = SERIES[index];
      if (keep >= 0) {
        trace.x.length = keep;
        trace.y.length = keep;
      }
      trace.x.push(generation.generation);
      trace.y.push(generation[key] * scale);
      trace.mode = trace.x.length > 1 ? "lines" : "markers";
    });
    this.newest = generation;
  }

  restyle(figure) {
    const colours = [colour("--port-0"), colour("--port-1"), colour("--port-0"), colour("--port-1")];
    const data = figure.data.map((trace, index) => ({ ...trace, x: [...trace.x], y: [...trace.y], line: { ...trace.line, color: colours[index] } }));
    const axes = Object.fromEntries(["yaxis", "yaxis2"].map((axis) => [axis, { ...figure.layout[axis], nticks: 5 }]));
    return { data, layout: { ...figure.layout, ...axes, margin: { l: 64, r: 12, t: 40, b: 48 } } };
  }

  draw() {
    this.area.classList.remove("waiting");
    if (this.newest) this.tell(this.newest);
    return this.plot.set(this.figure);
  }

  tell(generation) {
    this.values.hidden = false;
    const texts = {
      generation: whole.format(generation.generation),
      best_error: `${(generation.best_error * 100).toFixed(2)} %`,
      best_volume: whole.format(generation.best_volume),
    };
    for (const [key, text] of Object.entries(texts)) this.values.querySelector(`[data-value="${key}"]`).textContent = text;
  }
}
