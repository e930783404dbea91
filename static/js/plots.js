// Plotly under a Content-Security-Policy without 'unsafe-inline': loaded only where a plot is looked at, its
// few CSS rules shipped in pictures.css, its colours taken from the page's theme.

import { colour, onThemeChange } from "./colours.js";

let loading = null;

/**
 * Resolve to the Plotly object. The bundle sets `style` attributes (of a colour bar, of a test image), which the
 * policy forbids, where the same text through the CSSOM is allowed: setAttribute takes that way for `style`.
 * The element with Plotly's style id and the class `no-inline-styles` keeps it from adding a <style> of its own.
 */
function loadPlotly(source) {
  loading ??= new Promise((resolve, reject) => {
    const setAttribute = Element.prototype.setAttribute;
    /** @this {HTMLElement} */
    Element.prototype.setAttribute = function setAttributeWithinPolicy(name, value) {
      if (name === "style" && this.style) this.style.cssText = value;
      else setAttribute.call(this, name, value);
    };
    const marker = document.createElement("template");
    marker.id = "plotly.js-style-global";
    marker.className = "no-inline-styles";
    document.head.append(marker);
    const script = document.createElement("script");
    script.src = source;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error(`could not load ${source}`));
    document.head.append(script);
  });
  return loading;
}

function themedAxis(axis) {
  const rule = colour("--rule");
  return {
    automargin: true, ...axis,
    gridcolor: rule, linecolor: rule, zerolinecolor: rule, tickcolor: rule, ticks: "outside", ticklen: 4,
  };
}

function themed(layout, size) {
  const font = getComputedStyle(document.body).fontFamily;
  const result = {
    margin: { l: 56, r: 16, t: 12, b: 48 }, ...size, ...layout,
    template: undefined,
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: font, size: 13, color: colour("--ink") },
    hoverlabel: {
      bgcolor: colour("--surface"), bordercolor: colour("--rule"),
      font: { family: font, size: 13, color: colour("--ink") },
    },
  };
  for (const key of Object.keys(layout)) {
    if (/^[xy]axis\d*$/.test(key)) result[key] = themedAxis(layout[key]);
  }
  result.shapes = (layout.shapes ?? []).map((shape) => ({
    ...shape, line: { color: colour("--muted"), ...shape.line },
  }));
  return result;
}

/** A figure that lives in `element`: set() draws or redraws it, the theme and the width are followed. */
export class Plot {
  constructor(element, { restyle = (figure) => figure, onClick = null } = {}) {
    this.element = element;
    this.restyle = restyle;
    this.onClick = onClick;
    this.figure = null;
    this.plotly = null;
    onThemeChange(() => this.draw());
    new ResizeObserver(() => this.resized()).observe(element);
  }

  async set(figure) {
    this.figure = figure;
    this.plotly ??= await loadPlotly(this.element.dataset.plotly);
    return this.draw();
  }

  size() {
    const width = Math.max(240, this.element.clientWidth);
    return { width, height: Math.min(480, Math.max(400, width * 0.75)) };
  }

  resized() {
    if (this.drawnWidth && Math.abs(this.drawnWidth - this.element.clientWidth) > 4) this.draw();
  }

  async draw() {
    if (!this.plotly || !this.figure || !this.element.clientWidth) return;
    const figure = this.restyle(this.figure);
    const first = !this.drawnWidth;
    this.drawnWidth = this.element.clientWidth;
    await this.plotly.react(this.element, figure.data, themed(figure.layout, this.size()), {
      displayModeBar: false, responsive: false, doubleClick: "reset", scrollZoom: false,
    });
    if (first && this.onClick) this.element.on("plotly_click", this.onClick);
  }
}

/** A version of `draw` that runs at most once in `interval` ms, and always once more for the last call. */
export function throttled(draw, interval = 500) {
  let last = -Infinity;
  let timer = null;
  return () => {
    if (timer !== null) return;
    timer = setTimeout(() => {
      timer = null;
      last = performance.now();
      draw();
    }, Math.max(0, last + interval - performance.now()));
  };
}
