// The Pareto front: a click on a point, or Enter on it, leads to its row in the table, where it can be picked. The
// table alone says and does the same without this.

import { colour } from "./colours.js";
import { Figure } from "./figures.js";

export class Front extends Figure {
  constructor(element) {
    super(element, { onClick: (event) => this.choose(this.indexOf(event.points[0])) });
    this.element = element;
    this.status = element.querySelector("[data-marked]");
    this.marked = null;
    this.chosen = null;
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("focus", () => {
      if (this.area.matches(":focus-visible")) this.mark(this.marked ?? this.chosen ?? this.here ?? 0);
    });
    this.area.addEventListener("blur", () => this.mark(null));
  }

  /** What the region of the table has: it comes anew while the run still looks for points. */
  read() {
    const script = document.getElementById("front-figure");
    if (!script) return;
    const { figure, here } = JSON.parse(script.textContent);
    this.here = here;
    this.points = figure.data[0];
    this.show(figure);
  }

  /** A point of the second trace stands above or below one with the same number of kinds. */
  indexOf(point) {
    return point.curveNumber === 0 ? point.pointNumber : this.points.x.indexOf(point.x);
  }

  row(index) {
    return document.querySelector(`#front-table [data-place="${index}"]`);
  }

  describe(index) {
    const digits = this.points.y[index].toFixed(2);
    return `${this.points.x[index]} kinds, volume ${this.points.customdata[index].toLocaleString("en")}, error ${digits} %`;
  }

  key(event) {
    if (!this.points?.x.length || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const from = this.marked ?? 0;
    const { x } = this.points;
    const order = x.map((_, index) => index).sort((a, b) => x[a] - x[b] || a - b);
    const place = order.indexOf(from);
    if (event.key === "Enter") this.choose(from);
    else if (event.key === "ArrowRight") this.mark(order[Math.min(place + 1, order.length - 1)]);
    else if (event.key === "ArrowLeft") this.mark(order[Math.max(place - 1, 0)]);
    else return;
    event.preventDefault();
  }

  mark(index) {
    this.marked = index;
    this.status.textContent = index === null ? "" : this.describe(index);
    this.plot.draw();
  }

  choose(index) {
    const row = this.row(index);
    if (!row) return;
    this.chosen = index;
    this.mark(null);
    for (const other of document.querySelectorAll("#front-table .chosen")) other.classList.remove("chosen");
    row.classList.add("chosen");
    row.scrollIntoView({ block: "nearest", behavior: "smooth" });
    (row.querySelector("button, a") ?? row).focus({ preventScroll: true });
  }

  /** Rings around the point that the page is about, the chosen one and the marked one. */
  restyle(figure) {
    const { data, layout } = super.restyle(figure);
    const narrow = this.area.clientWidth < 460;
    const bar = narrow
      ? { orientation: "h", thickness: 10, x: 0.5, y: -0.2, yanchor: "top" }
      : { thickness: 12, title: { text: "volume", side: "right" } };
    data[0].marker = { ...data[0].marker, colorbar: { ...data[0].marker.colorbar, outlinewidth: 0, ...bar } };
    const [{ x, y, marker }] = data;
    const rings = [[this.here, "accent", 3], [this.chosen, "bad", 2.5], [this.marked, "bad", 2.5]];
    for (const [index, name, width] of rings) {
      if (index === null || index === undefined || index >= x.length) continue;
      const size = marker.size[index] + 9;
      data.push({
        type: "scatter", mode: "markers", x: [x[index]], y: [y[index]], hoverinfo: "skip", showlegend: false,
        marker: { symbol: "circle-open", size, color: colour(`--${name}`), line: { width, color: colour(`--${name}`) } },
      });
    }
    return { data, layout };
  }
}

for (const element of document.querySelectorAll("[data-front]")) {
  if (!document.querySelector("[data-run-page]")) new Front(element).read();
}
