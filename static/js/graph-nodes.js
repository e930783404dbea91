// How the nodes of the tripartite graph are drawn, and what they are called aloud.

const SVG = "http://www.w3.org/2000/svg";
const SIGNS = { different: "≠", "only-first": "◂", "only-second": "▸", equal: "" };
const UNSETTLED = "!"; // another result of the machine says otherwise
const SAID = { different: "different µops: ", "only-first": "only here: ", "only-second": "only there: ", equal: "" };

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export class Nodes {
  /** `graph` has the `model`, its `connections`, the columns' places and what is open and matches. */
  constructor(graph) {
    this.graph = graph;
    this.model = graph.model;
  }

  element(node) {
    const element = svg("g", { class: `node node-${node[0]}`, role: "button", "data-node": node });
    const index = parseInt(node.slice(1), 10);
    if (node[0] === "g") this.group(element, index);
    else if (node[0] === "s") this.member(element, index, Number(node.split(".")[1]));
    else if (node[0] === "u") this.uop(element, index);
    else this.port(element, index);
    for (const text of element.querySelectorAll("text")) text.setAttribute("aria-hidden", "true"); // cut short; the title says all
    element.prepend(svg("title", {}, this.describe(node)));
    return element;
  }

  clip(text, characters = this.graph.characters) {
    return text.length > characters ? `${text.slice(0, Math.max(1, characters - 1))}…` : text;
  }

  group(element, index) {
    const { textWidth, narrow } = this.graph;
    const group = this.model.groups[index];
    const members = this.graph.matches.get(index);
    element.append(svg("rect", { class: "hit", x: 1, y: -11, width: textWidth - 1, height: 22, rx: 3 }));
    if (group.schemes.length > 1) {
      const open = this.graph.open.has(index);
      element.setAttribute("aria-expanded", String(open));
      element.append(svg("path", { class: "caret", d: open ? "M4,-2 l4,5 l4,-5z" : "M5,-4 l5,4 l-5,4z" }));
    }
    const sign = SIGNS[group.kind] ?? "";
    const mark = members.some((member) => group.conflicts[member]) ? UNSETTLED : "";
    const count = group.schemes.length > 1 && !narrow ? `${members.length}× ` : "";
    if (sign || mark || count) {
      const text = svg("text", { class: "count", x: textWidth - 8, y: 4, "text-anchor": "end" }, count);
      if (sign) text.append(svg("tspan", { class: `difference ${group.kind}` }, sign));
      if (mark) text.append(svg("tspan", { class: "unsettled" }, mark));
      element.append(text);
    }
    const taken = 2 * (sign + mark).length;
    element.append(svg("text", { class: "label", x: 17, y: 4 }, this.clip(group.schemes[members[0]], this.graph.characters - taken)));
    element.append(svg("circle", { class: "anchor", cx: textWidth, cy: 0, r: 3 }));
  }

  member(element, index, member) {
    const { textWidth } = this.graph;
    const { schemes, conflicts } = this.model.groups[index];
    const text = schemes[member];
    if (conflicts[member]) element.append(svg("text", { class: "count unsettled", x: textWidth - 8, y: 4, "text-anchor": "end" }, UNSETTLED));
    element.append(svg("rect", { class: "hit", x: 12, y: -11, width: textWidth - 12, height: 22, rx: 3 }));
    element.append(svg("text", { class: "label", x: 30, y: 4 }, this.clip(text, this.graph.characters + 2)));
  }

  uop(element, index) {
    const { chip, uopX } = this.graph;
    const { ports, hidden } = this.model.uops[index];
    if (hidden) element.classList.add("never-seen");
    const height = Math.min(19, chip + 5);
    ports.forEach((port, position) => {
      const x = uopX + position * chip;
      element.append(svg("rect", { class: `chip fill-${port % 12}`, x, y: -height / 2, width: chip - 1, height, rx: 2 }));
      if (chip >= 9) {
        const label = svg("text", { class: `ink-${port % 12}`, x: x + (chip - 1) / 2, y: 4, "text-anchor": "middle" });
        label.textContent = this.clip(this.model.ports[port], 2);
        element.append(label);
      }
    });
    const width = ports.length * chip;
    element.append(svg("rect", { class: "frame", x: uopX - 2.5, y: -height / 2 - 2, width: width + 4, height: height + 4, rx: 4 }));
  }

  port(element, index) {
    const { portX } = this.graph;
    element.append(svg("circle", { class: `port-disc fill-${index % 12}`, cx: portX, cy: 0, r: 15 }));
    element.append(svg("text", { class: `ink-${index % 12}`, x: portX, y: 4.5, "text-anchor": "middle" }, this.clip(this.model.ports[index], 3)));
  }

  /** The µops of a group in words. */
  usage(index) {
    const { usage, hidden } = this.model.groups[index];
    return hidden ? `${usage} (hidden: ${hidden})` : usage;
  }

  /** What contradicts a scheme of a group in words; nothing where nothing does. */
  conflicts(index, member) {
    return (this.model.groups[index].conflicts[member] ?? []).map((words) => `. ${words}`).join("");
  }

  /** A node in words. */
  describe(node) {
    const { connections } = this.graph;
    const index = parseInt(node.slice(1), 10);
    if (node[0] === "g") {
      const { schemes, kind, conflicts } = this.model.groups[index];
      const usage = this.usage(index);
      const said = SAID[kind] ?? "";
      if (schemes.length === 1) return `${said}${schemes[0]}: ${usage}${this.conflicts(index, 0)}`;
      const unsettled = Object.keys(conflicts).length;
      return `${said}${schemes.length} schemes that use ${usage}: ${schemes[0]} and others${unsettled ? `; ${unsettled} not settled` : ""}`;
    }
    if (node[0] === "s") {
      const member = Number(node.split(".")[1]);
      return `${this.model.groups[index].schemes[member]}: ${this.usage(index)}${this.conflicts(index, member)}`;
    }
    if (node[0] === "u") return `${this.model.uops[index].hidden ? "hidden " : ""}µop on ports ${this.model.uops[index].label}, in ${connections.groupsOf[index].length} groups`;
    const there = this.model.there?.[index];
    return `port ${this.model.ports[index]}${there === undefined ? "" : there ? ` (${there} there)` : " (not there)"}, used by ${connections.uopsOf[index].length} distinct µops`;
  }
}
