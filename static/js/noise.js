// The noise of a machine over time: a figure that the server makes, asked for again as long as the page is in sight.

import { colour } from "./colours.js";
import { Plot } from "./plots.js";

const AGAIN = 15000; // ms
const SHADES = { contended: ["--warn", 0.28], unfit: ["--bad", 0.28], measuring: ["--accent", 0.1] };

class NoisePlot extends Plot {
  size() {
    return { width: Math.max(240, this.element.clientWidth), height: 300 };
  }
}

function restyle(figure) {
  const data = figure.data.map((trace, index) => ({
    ...trace, line: { ...trace.line, color: colour(`--port-${index}`) }, marker: { ...trace.marker, color: colour(`--port-${index}`) },
  }));
  const shapes = (figure.layout.shapes ?? []).map((shape) => {
    const [name, opacity] = SHADES[shape.name];
    return { ...shape, fillcolor: colour(name), opacity };
  });
  const axes = Object.fromEntries(["yaxis", "yaxis2"].map((axis) => [axis, { ...figure.layout[axis], nticks: 4 }]));
  return { data, layout: { ...figure.layout, ...axes, shapes, margin: { l: 56, r: 12, t: 8, b: 36 } } };
}

async function follow(element) {
  const area = element.querySelector(".plot-area");
  const plot = new NoisePlot(area, { restyle });
  const draw = async () => {
    const answer = await fetch(element.dataset.noise).catch(() => null);
    const figure = answer?.ok ? await answer.json() : null;
    if (!figure) return;
    area.classList.remove("waiting");
    await plot.set(figure);
  };
  await draw();
  setInterval(() => { if (!document.hidden) draw(); }, AGAIN);
}

for (const element of document.querySelectorAll("[data-noise]")) follow(element);
