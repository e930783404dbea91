// Figures that the server made: drawn as they are, in the page's colours. A trace names its colour in `meta`.

import { colour } from "./colours.js";
import { Plot } from "./plots.js";

/** The same trace in the colours of the page's theme; one whose points have colours of their own keeps these. */
export function tinted(trace) {
  const name = trace.meta?.colour;
  if (!name) return trace;
  const shade = colour(`--${name}`);
  const marker = Array.isArray(trace.marker?.color) ? {} : { color: shade };
  const outline = trace.marker?.line ? { line: { color: shade, ...trace.marker.line } } : {};
  return { ...trace, line: { ...trace.line, color: shade }, marker: { ...trace.marker, ...marker, ...outline } };
}

export class Figure {
  /**
   * `element` has a `.plot-area`; `height` in pixels, none for the usual one.
   * @param {Element} element
   * @param {{height?: number, onClick?: ((event: any) => void) | null}} options
   */
  constructor(element, { height, onClick = null } = {}) {
    this.area = element.querySelector(".plot-area");
    this.height = height;
    this.plot = new Plot(this.area, { restyle: (figure) => this.restyle(figure), onClick });
  }

  restyle(figure) {
    // Plotly keeps what it is given: the next drawing needs arrays of its own.
    const data = figure.data.map((trace) => ({ ...tinted(trace), x: [...trace.x], y: [...trace.y] }));
    const layout = { ...figure.layout, margin: { l: 64, r: 12, t: figure.layout.showlegend === false ? 12 : 40, b: 48 } };
    if (this.height) layout.height = this.height;
    return { data, layout };
  }

  show(figure) {
    this.area.classList.remove("waiting");
    return this.plot.set(figure);
  }
}

for (const element of document.querySelectorAll("[data-figure-of]")) {
  const figure = JSON.parse(document.getElementById(element.dataset.figureOf).textContent);
  new Figure(element, { height: Number(element.dataset.height) || undefined }).show(figure);
}
