// The tripartite graph as an SVG file that needs nothing else, in light colours.

import { svg } from "./graph-nodes.js";

const STYLE = `
text { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12px; fill: #171b21; }
.ground { fill: #ffffff; } .hit, .frame { fill: none; } .count, .anchor, .caret { fill: #58616e; } .count { font-size: 11px; }
.node-s .label { fill: #58616e; font-size: 11.5px; } .node-u text { font-size: 11px; font-weight: 600; } .node-p text { font-weight: 700; font-size: 13px; }
.edge { fill: none; stroke-width: 1.25px; stroke-opacity: 0.4; } .to-uop { stroke: #58616e; stroke-opacity: 0.35; } .to-port { stroke-width: 1.5px; }
.times-2 { stroke-width: 2.5px; } .times-3 { stroke-width: 3.75px; } .times-4 { stroke-width: 5px; }
.only-here { stroke: #0b5cad; stroke-opacity: 0.85; } .only-there { stroke: #b3261e; stroke-opacity: 0.85; stroke-dasharray: 7 4; }
.other-count { stroke: #8a5a00; stroke-opacity: 0.85; stroke-dasharray: 2 3; } .difference { font-weight: 700; }
.unsettled { fill: #8a5a00; font-weight: 700; }
.has-lit .edge:not(.lit) { stroke-opacity: 0.05; } .has-lit .node:not(.lit) { opacity: 0.28; } .edge.lit { stroke-opacity: 0.95; }
[aria-pressed="true"] .label { font-weight: 700; } [aria-pressed="true"] .frame { stroke: #171b21; stroke-width: 1.5px; }`;
const KEPT = ["class", "d", "x", "y", "width", "height", "rx", "cx", "cy", "r", "transform", "text-anchor", "aria-pressed"];

/** The colour of each port in light mode, and what is readable on it, as the page's style sheet has them. */
function portRules() {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.dataset.theme = "light";
  const value = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const rules = Array.from({ length: 12 }, (_, port) => {
    probe.style.setProperty(`--port-${port}`, "initial"); // registered with its light colour: what is inherited may be the dark one
    const colour = value(`--port-${port}`);
    return `.fill-${port} { fill: ${colour}; } .stroke-${port} { stroke: ${colour}; } .ink-${port} { fill: ${value(`--on-port-${port}`)}; }`;
  });
  probe.remove();
  return rules.join("\n");
}

/** The drawing as text; `lit`: some paths are lit, and the others step back. */
export function picture(drawing, lit, title) {
  const copy = drawing.cloneNode(true);
  for (const element of copy.querySelectorAll("*")) {
    for (const { name } of [...element.attributes]) if (!KEPT.includes(name)) element.removeAttribute(name);
  }
  const [width, height] = ["width", "height"].map((name) => drawing.getAttribute(name));
  const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, ...(lit ? { class: "has-lit" } : {}) });
  const style = svg("style");
  style.textContent = `${STYLE}\n${portRules()}`;
  root.append(svg("title", {}, title), style, svg("rect", { class: "ground", width, height }), ...copy.children);
  return `${new XMLSerializer().serializeToString(root)}\n`;
}
