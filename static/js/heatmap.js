// The heat map of predicted against measured: drawn by Plotly, summed up in text, and, where the page has a list for
// it, a bin that is clicked or reached with the arrow keys shows its experiments.

import { binOf, fullestBin, nextBin } from "./heatmap-bins.js";
import { isDark } from "./colours.js";
import { LiveJournal } from "./live.js";
import { Plot } from "./plots.js";
import { fetchPage, replaceRegion } from "./regions.js";

const decimals = (value) => value.toFixed(3).replace("-", "\u2212");
const DIGITS = { mape: (value) => `${value.toFixed(2)} %`, pearson: decimals, kendall: decimals, n: (value) => value.toLocaleString("en") };

const VIRIDIS_BEGINS = "#440154";

/** In the dark, Viridis begins with what can hardly be told from the page: there it begins further on. */
function visible(trace) {
  if (trace.colorscale?.[0]?.[1] !== VIRIDIS_BEGINS || !isDark()) return {};
  return { colorscale: [[0, "#7468c4"], [0.25, "#3e8fb0"], [0.5, "#25ac82"], [0.75, "#8fd744"], [1, "#fde725"]] };
}

export class HeatMap {
  constructor(element, { onBin = null } = {}) {
    this.counts = null; // of experiments, by row and column
    this.bounds = null; // of the bins, as text
    this.unit = ""; // of the bounds
    this.scores = element.querySelector("[data-scores]");
    this.area = element.querySelector(".plot-area");
    this.status = element.querySelector("[data-marked]");
    this.noun = element.dataset.noun ?? "experiment";
    this.across = element.dataset.across ?? "measured";
    this.up = element.dataset.up ?? "predicted";
    this.onBin = onBin;
    this.chosen = null; // the bin whose experiments are listed
    this.marked = null; // the bin that Enter would choose
    const onClick = onBin && ((event) => this.choose(event.points[0].pointNumber));
    if (onBin) this.listen();
    this.plot = new Plot(this.area, { restyle: (figure) => this.restyle(figure), onClick });
  }

  /** `figure` as inference.figures.heatmap makes it, `scores` {n, mape, pearson, kendall}, `on` what was predicted. */
  show({ figure, scores = null, on = "" }) {
    this.area.classList.remove("waiting");
    [{ customdata: this.counts, meta: this.bounds }] = figure.data;
    this.unit = figure.layout.meta.unit;
    if (scores) this.tell(scores, on);
    return this.plot.set(figure);
  }

  tell(scores, on) {
    this.scores.hidden = false;
    const before = this.scores.querySelector('[data-value="mape"]').textContent;
    for (const [key, text] of Object.entries(DIGITS)) {
      const value = scores[key];
      this.scores.querySelector(`[data-value="${key}"]`).textContent = value === null || value === undefined ? "–" : text(value);
    }
    this.scores.querySelector('[data-value="on"]').textContent = on ?? "";
    // The verdict is that of the scores with which the page came.
    if (this.scores.querySelector('[data-value="mape"]').textContent !== before) this.scores.querySelector("[data-verdict]")?.remove();
  }

  // ---- bins

  describe([row, column]) {
    const count = this.counts[row][column];
    const what = `${count.toLocaleString("en")} ${this.noun}${count === 1 ? "" : "s"}`;
    return [`${this.across} ${this.bounds[column]} ${this.unit}`, `${this.up} ${this.bounds[row]} ${this.unit}`, what];
  }

  listen() {
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("focus", () => {
      // A click gives the focus as well: its own bin follows at once.
      if (this.area.matches(":focus-visible")) this.mark(this.marked ?? this.chosen ?? fullestBin(this.counts));
    });
    this.area.addEventListener("blur", () => this.mark(null));
  }

  key(event) {
    if (!this.counts || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const from = this.marked ?? this.chosen ?? fullestBin(this.counts);
    if (!from) return;
    if (event.key === "Enter") this.choose(from);
    else if (event.key.startsWith("Arrow")) this.mark(nextBin(this.counts, from, event.key) ?? from);
    else return;
    event.preventDefault();
  }

  mark(bin) {
    this.marked = bin;
    this.status.textContent = bin ? this.describe(bin).join(", ") : "";
    this.plot.draw();
  }

  choose(bin) {
    this.chosen = bin;
    this.mark(null);
    this.status.textContent = `listed: ${this.describe(bin).join(", ")}`;
    this.onBin(...bin);
  }

  /** Outlines that stand out from every colour of the scale: a light band with a dark line in it. */
  outline([row, column], dash) {
    const [{ x }] = this.plot.figure.data;
    const half = (x[1] - x[0]) / 2;
    const box = { type: "rect", layer: "above", x0: x[column] - half, x1: x[column] + half, y0: x[row] - half, y1: x[row] + half };
    const bands = [{ color: "#ffffff", width: 5 }, { color: "#b3261e", width: 2.5, dash }];
    return bands.map((line) => ({ ...box, line }));
  }

  // ---- drawing

  restyle(figure) {
    const narrow = this.area.clientWidth < 460;
    const bar = narrow
      ? { orientation: "h", thickness: 10, x: 0.5, y: -0.2, yanchor: "top", title: { text: `${this.noun}s`, side: "bottom" } }
      : { thickness: 12, outlinewidth: 0, title: { text: `${this.noun}s`, side: "right" } };
    const hovertext = this.counts.map((row, r) => row.map((count, c) => (count ? this.describe([r, c]).join("<br>") : "")));
    const words = { hovertext, hovertemplate: "%{hovertext}<extra></extra>" };
    const data = figure.data.map((trace) => ({ ...trace, ...words, ...visible(trace), colorbar: { ...trace.colorbar, outlinewidth: 0, ...bar } }));
    const width = this.area.clientWidth;
    // Square: what the colour bar takes at the side or below, the height gives or adds.
    const layout = { ...figure.layout, margin: { l: 52, r: 8, t: 8, b: 44 }, height: narrow ? width + 70 : width - 84 };
    layout.shapes = [
      ...(figure.layout.shapes ?? []),
      ...(this.chosen ? this.outline(this.chosen, "solid") : []),
      ...(this.marked ? this.outline(this.marked, "dot") : []),
    ];
    for (const axis of ["xaxis", "yaxis"]) layout[axis] = { ...layout[axis], nticks: narrow ? 5 : 8 };
    return { data, layout };
  }
}

async function showBin(url) {
  const page = await fetchPage(url);
  if (!page) {
    window.location.assign(url);
    return;
  }
  window.history.replaceState(null, "", url);
  replaceRegion(page, "bin")?.scrollIntoView({ block: "nearest", behavior: "smooth" });
}

for (const element of document.querySelectorAll("[data-heat-map-of]")) {
  const { figure } = JSON.parse(document.getElementById(element.dataset.heatMapOf).textContent);
  const map = new HeatMap(element, {
    onBin: (row, column) => {
      const url = new URL(window.location.href);
      url.searchParams.set("bin", `${row},${column}`);
      url.searchParams.delete("scheme");
      showBin(url);
    },
  });
  map.chosen = binOf(new URLSearchParams(window.location.search).get("bin"), figure.data[0].customdata);
  map.show({ figure });
}

// An evaluation that is still to come: its run's journal tells when to look.
for (const element of document.querySelectorAll("[data-waits-for]")) {
  const journal = new LiveJournal(`/ws/runs/${element.dataset.waitsFor}/`, {
    onEvent: ({ kind, payload }) => {
      if (kind === "state" && ["done", "failed", "cancelled"].includes(payload.state)) window.location.reload();
    },
  });
  journal.start();
}
