// The whole tree as an SVG file that needs nothing else, in light colours.

import { kindOf, shapes, spoken, svg } from "./generalisation-drawing.js";
import { groupsOf, layOut, lineTo } from "./generalisation-layout.js";

const WIDTH = 900; // px
const STYLE = `
text { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 11.25px; fill: #171b21; }
.count { font-size: 10px; fill: #58616e; } .sign { font-size: 14px; font-weight: 700; }
rect { fill: #ffffff; stroke: #58616e; stroke-width: 1.5px; } .lines path { fill: none; stroke: #b3bbc6; stroke-width: 1.5px; }
rect.ground { stroke: none; } rect.taken { stroke: #17703c; } rect.inner { fill: none; } .sign.taken { fill: #17703c; }
rect.rejected { stroke: #b3261e; } .sign.rejected { fill: #b3261e; }`;

/** The picture as text. */
export function drawing(model, title) {
  const groups = groupsOf(model.nodes);
  const layout = layOut(groups, { width: WIDTH, closed: new Set(), only: false });
  const places = new Map(layout.boxes.map((box) => [box.index, box]));
  const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width: WIDTH, height: layout.height, viewBox: `0 0 ${WIDTH} ${layout.height}` });
  root.removeAttribute("xmlns");
  const style = svg("style");
  style.textContent = STYLE;
  const lines = svg("g", { class: "lines" });
  root.append(svg("title", {}, title), style, svg("rect", { width: WIDTH, height: layout.height, class: "ground" }), lines);
  for (const box of layout.boxes) {
    const node = model.nodes[box.index];
    const before = box.parent ?? groups[box.group - 1]?.index;
    if (before !== undefined) lines.append(svg("path", { d: lineTo(box, places.get(before), layout.narrow) }));
    root.append(svg("g", { class: kindOf(node) }, svg("title", {}, spoken(node)), ...shapes(node, box)));
  }
  return `${new XMLSerializer().serializeToString(root)}\n`;
}
