// Heat maps beside each other, too small for bins to be chosen: drawn by Plotly with one scale of colours, which the page
// explains once. Each is drawn when it comes into sight.

import { Plot } from "./plots.js";

class SmallMap {
  constructor(area, figure, noun) {
    this.area = area;
    this.noun = noun;
    this.plot = new Plot(area, { restyle: (own) => this.restyle(own) });
    new IntersectionObserver((entries, watcher) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      this.plot.set(figure);
    }, { rootMargin: "200px" }).observe(area);
  }

  restyle({ data: [trace], layout }) {
    const { customdata: counts, meta: bounds } = trace;
    const words = (count, row, column) =>
      count ? `measured ${bounds[column]} ${layout.meta.unit}<br>predicted ${bounds[row]} ${layout.meta.unit}<br>${count.toLocaleString("en")} ${this.noun}` : "";
    const hovertext = counts.map((line, row) => line.map((count, column) => words(count, row, column)));
    const data = [{ ...trace, hovertext, hovertemplate: "%{hovertext}<extra></extra>", showscale: false }];
    const height = Math.max(240, this.area.clientWidth - 8);
    const axes = Object.fromEntries(["xaxis", "yaxis"].map((axis) => [axis, { ...layout[axis], title: undefined, nticks: 5 }]));
    return { data, layout: { ...layout, ...axes, height, margin: { l: 32, r: 8, t: 6, b: 28 } } };
  }
}

for (const grid of document.querySelectorAll("[data-small-maps]")) {
  const { figures } = JSON.parse(document.getElementById(grid.dataset.smallMaps).textContent);
  for (const area of grid.querySelectorAll("[data-map]")) new SmallMap(area, figures[Number(area.dataset.map)], grid.dataset.items);
}
