// The matrix of conflicts: drawn by Plotly; a cell that is clicked or reached with the arrow keys shows its experiments.

import { isDark } from "./colours.js";
import { cellOf, cellText, classTicks, nextCell, numberedNames } from "./conflict-cells.js";
import { Plot } from "./plots.js";
import { fetchPage, replaceRegion } from "./regions.js";

const DARK = [[0, "#232b35"], [0.5, "#3e8fb0"], [1, "#fde725"]];
const NAMED = 48; // rows whose names have room beside the matrix
const NUMBERED = 40; // numbers of classes that have room one below the other; half as many side by side

class ConflictMap {
  constructor(element, { figure, ids, sizes }) {
    this.ids = ids;
    this.sizes = sizes;
    this.trace = figure.data[0];
    this.area = element.querySelector(".plot-area");
    this.status = element.querySelector("[data-marked]");
    const address = new URLSearchParams(window.location.search);
    /** @type {[any, any] | null} */
    this.chosen = cellOf(ids, address.get("first"), address.get("second"));
    this.marked = null;
    this.listen();
    const onClick = (event) => this.choose(event.points[0].pointNumber);
    this.plot = new Plot(this.area, { restyle: (drawn) => this.restyle(drawn), onClick });
    this.plot.set(figure);
  }

  listen() {
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("focus", () => {
      if (this.area.matches(":focus-visible")) this.mark(this.marked ?? this.chosen ?? [0, 0]);
    });
    this.area.addEventListener("blur", () => this.mark(null));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const from = this.marked ?? this.chosen ?? [0, 0];
    if (event.key === "Enter") this.choose(from);
    else if (event.key.startsWith("Arrow")) this.mark(nextCell(this.ids.length, from, event.key) ?? from);
    else return;
    event.preventDefault();
  }

  mark(cell) {
    this.marked = cell;
    this.status.textContent = cell ? this.describe(cell) : "";
    this.plot.draw();
  }

  describe([row, column]) {
    return cellText([this.trace.y[row], this.trace.x[column]], this.trace.z[row][column]);
  }

  async choose(cell) {
    this.chosen = cell;
    this.mark(null);
    this.status.textContent = this.describe(cell);
    const url = new URL(window.location.href);
    url.searchParams.set("first", this.ids[cell[0]]);
    url.searchParams.set("second", this.ids[cell[1]]);
    const page = await fetchPage(url);
    if (!page) {
      window.location.assign(url);
      return;
    }
    window.history.replaceState(null, "", url);
    replaceRegion(page, "cell")?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }

  outline([row, column], dash) {
    const box = { type: "rect", layer: "above", x0: column - 0.5, x1: column + 0.5, y0: row - 0.5, y1: row + 0.5 };
    return [{ color: "#ffffff", width: 5 }, { color: "#b3261e", width: 2.5, dash }].map((line) => ({ ...box, line }));
  }

  restyle(figure) {
    const width = this.area.clientWidth;
    const narrow = width < 560;
    const bar = narrow
      ? { orientation: "h", thickness: 10, x: 0.5, y: -0.06, yanchor: "top", len: 0.8, title: { text: "added", side: "top" } }
      : { thickness: 12, outlinewidth: 0 };
    const data = figure.data.map((trace) => ({
      ...trace, ...(isDark() ? { colorscale: DARK } : {}), colorbar: { ...trace.colorbar, outlinewidth: 0, ...bar },
    }));
    const named = this.ids.length <= NAMED && !narrow;
    const room = narrow ? NUMBERED / 2 : NUMBERED;
    const names = this.trace.x.map((label) => label.split(" ")[0]);
    const ticks = (most) => {
      const numbered = classTicks(this.sizes, this.ids.length / most);
      const [places, texts] = named
        ? [names.map((_, place) => place), numberedNames(names, this.sizes)]
        : [numbered.map(({ place }) => place), numbered.map(({ number }) => number)];
      return { tickmode: "array", tickvals: places, ticktext: texts, tickangle: 0, tickfont: { size: 10 } };
    };
    const layout = { ...figure.layout, margin: { l: 12, r: 8, t: 8, b: 12 }, height: Math.min(narrow ? width + 60 : width - 60, 820) };
    layout.xaxis = { ...layout.xaxis, ...ticks(room / 2), ...(named ? { tickangle: -90 } : {}) };
    layout.yaxis = { ...layout.yaxis, ...ticks(room) };
    layout.shapes = [
      ...(this.chosen ? this.outline(this.chosen, "solid") : []),
      ...(this.marked ? this.outline(this.marked, "dot") : []),
    ];
    return { data, layout };
  }
}

for (const element of document.querySelectorAll("[data-conflicts-of]")) {
  new ConflictMap(element, JSON.parse(document.getElementById(element.dataset.conflictsOf).textContent));
}
