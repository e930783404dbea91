// The tripartite graph: instruction schemes – µops – ports. Only what the view shows is in the document, so that
// thousands of schemes scroll smoothly; what is pinned, searched and opened is in the address.

import { GraphDetails } from "./graph-details.js";
import { picture } from "./graph-export.js";
import { Filters } from "./graph-filters.js";
import { Connections, Positions, curve, shownRows } from "./graph-layout.js";
import { Nodes, svg } from "./graph-nodes.js";
import { download } from "./saving.js";

const MARGIN = 40; // px beyond the view that are drawn as well
const LIT_LIMIT = 600; // with more nodes and edges lit, those that come from outside the view are left out

/** How an edge of two mappings differs, as a class; nothing where both say the same. */
function side(here, there) {
  if (here === there) return "";
  if (!here) return " only-there";
  return there ? " other-count" : " only-here";
}

class TripartiteGraph {
  constructor(root, model) {
    this.root = root;
    this.model = model;
    this.connections = new Connections(model);
    this.scroller = root.querySelector("[data-graph-scroll]");
    this.svg = root.querySelector("svg");
    this.spacer = root.querySelector("[data-graph-spacer]");
    this.filters = new Filters(() => { this.scroller.scrollTop = 0; this.changed(); });
    this.shapes = new Nodes(this);
    this.alone = document.querySelector("[data-graph-alone]");
    this.details = new GraphDetails(this, document.querySelector("[data-graph-details]"));
    this.status = document.querySelector("[data-graph-status]");
    this.edges = this.svg.appendChild(svg("g", { class: "edges", "aria-hidden": "true" }));
    this.layer = this.svg.appendChild(svg("g", { class: "nodes" }));
    this.drawn = new Map();
    this.hovered = null;
    this.focused = null;
    this.printing = false;
    this.readAddress();
    this.listen();
    this.arrange();
    this.reveal(this.pinned);
  }

  // ---- state in the address

  readAddress() {
    const parameters = new URLSearchParams(window.location.search);
    this.filters.read(parameters);
    this.pinned = this.known(parameters.get("pin"));
    this.open = new Set((parameters.get("open") ?? "").split(",").filter(Boolean).map(Number));
    if (this.pinned?.[0] === "s") this.open.add(parseInt(this.pinned.slice(1), 10));
    this.isolated = parameters.get("alone") === "1";
    if (this.alone) this.alone.checked = this.isolated;
  }

  /** The node of a name, null where there is none. "i77" is the scheme with this number, wherever it is. */
  known(node) {
    if (/^i\d+$/.test(node ?? "")) return this.nodeOfScheme(Number(node.slice(1)));
    const [, letter, index, member] = /^([gsup])(\d+)(?:\.(\d+))?$/.exec(node ?? "") ?? [];
    const list = { g: this.model.groups, s: this.model.groups, u: this.model.uops, p: this.model.ports }[letter];
    const item = list?.[Number(index)];
    if (item === undefined || (letter === "s" && item.schemes[Number(member)] === undefined)) return null;
    return node;
  }

  nodeOfScheme(id) {
    for (const [index, group] of this.model.groups.entries()) {
      const member = group.ids.indexOf(id);
      if (member >= 0) return group.schemes.length > 1 ? `s${index}.${member}` : `g${index}`;
    }
    return null;
  }

  writeAddress() {
    const url = new URL(window.location.href);
    const state = {
      ...this.filters.state, pin: this.pinned, open: [...this.open].join(","), alone: this.isolated ? "1" : "",
    };
    for (const [key, value] of Object.entries(state)) {
      if (value) url.searchParams.set(key, value);
      else url.searchParams.delete(key);
    }
    window.history.replaceState(null, "", url);
  }

  // ---- what is where

  arrange() {
    const only = this.isolated && this.pinned ? this.connections.paths(this.pinned) : null;
    const shown = shownRows(this.model, { ...this.filters.wanted, only, open: this.open });
    this.matches = shown.matches;
    this.columns = shown.columns;
    const tallest = this.printing ? Infinity : Math.max(320, Math.min(window.innerHeight * 0.72, 820));
    this.positions = new Positions(this.columns, tallest);
    this.width = Math.max(300, this.scroller.clientWidth);
    this.spread();
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("height", this.positions.view);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.positions.view}`);
    this.scroller.style.height = `${this.positions.view}px`;
    this.spacer.style.height = `${this.positions.height}px`;
    for (const element of this.drawn.values()) element.remove();
    this.drawn.clear();
    this.tell();
    this.details.show(this.pinned);
    this.light();
  }

  /** Where the columns stand: the left one gets what the others leave. */
  spread() {
    const widest = Math.max(...this.model.uops.map((uop) => uop.ports.length), 1);
    const narrow = this.width < 640;
    this.chip = narrow ? Math.max(7, Math.min(14, 84 / widest)) : 17;
    this.uopWidth = widest * this.chip;
    this.portX = this.width - (narrow ? 20 : 44);
    this.narrow = narrow;
    this.textWidth = Math.max(110, Math.min(540, this.width * (narrow ? 0.5 : 0.45)));
    const room = this.portX - this.textWidth;
    this.uopX = this.textWidth + Math.max(narrow ? 22 : 90, room * 0.5 - this.uopWidth / 2);
    this.characters = Math.floor((this.textWidth - (narrow ? 26 : 66)) / 7.25);
  }

  tell() {
    if (!this.status) return;
    const schemes = [...this.matches.values()].reduce((sum, members) => sum + members.length, 0);
    const all = this.model.groups.reduce((sum, group) => sum + group.schemes.length, 0);
    const what = schemes === all ? `${all} schemes` : `${schemes} of ${all} schemes`;
    this.status.textContent = `${what} in ${this.matches.size} groups of equal usage, ${this.columns[1].length} distinct µops`;
  }

  // ---- drawing

  light() {
    const node = this.hovered ?? this.pinned;
    this.lit = node ? this.connections.paths(node) : null;
    this.root.classList.toggle("has-lit", Boolean(this.lit));
    this.draw(true);
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => { this.frame = null; this.draw(false); });
  }

  /** Bring the document in line with the scroll position; `restyle` where what is lit or pinned has changed. */
  draw(restyle) {
    const scroll = this.scroller.scrollTop;
    const y = (node) => this.positions.at(node, scroll);
    const [groups, uops, ports] = this.positions.visible(scroll, MARGIN);
    const keep = new Set();
    for (const node of new Set([...groups, ...uops, ...ports, this.focused])) {
      if (this.positions.place.has(node)) this.place(node, y(node), restyle, keep);
    }
    const litNodes = this.lit && this.lit.size < LIT_LIMIT ? [...this.lit].filter((id) => this.positions.place.has(id)) : [];
    const inView = new Set([...groups, ...uops]);
    for (const node of new Set([...groups, ...litNodes])) {
      if (node[0] === "g") this.edgesOfGroup(node, y, inView, restyle, keep);
    }
    for (const node of new Set([...uops, ...litNodes])) {
      if (node[0] === "u") this.edgesOfUop(node, y, inView, restyle, keep);
    }
    for (const [id, element] of this.drawn) {
      if (!keep.has(id)) { element.remove(); this.drawn.delete(id); }
    }
    if (!this.focused) this.drawn.get(this.columns[0][0])?.setAttribute("tabindex", "0");
  }

  place(node, at, restyle, keep) {
    let element = this.drawn.get(node);
    const fresh = !element;
    if (fresh) {
      element = this.shapes.element(node);
      this.layer.append(element);
      this.drawn.set(node, element);
    }
    element.setAttribute("transform", `translate(0,${at.toFixed(1)})`);
    if (fresh || restyle) {
      element.classList.toggle("lit", Boolean(this.lit?.has(node) || this.lit?.has(this.groupOf(node))));
      element.setAttribute("aria-pressed", String(node === this.pinned));
      element.setAttribute("tabindex", node === this.focused ? "0" : "-1");
    }
    keep.add(node);
  }

  groupOf(node) {
    return node[0] === "s" ? `g${parseInt(node.slice(1), 10)}` : node;
  }

  /** Edges of a group that is in view, and lit ones that lead into the view. */
  edgesOfGroup(node, y, inView, restyle, keep) {
    const from = y(node);
    for (const { uop, count, there = count } of this.model.groups[Number(node.slice(1))].uops) {
      const id = `${node}-u${uop}`;
      const to = y(`u${uop}`);
      const lit = Boolean(this.lit?.has(id));
      if (to === undefined || !(inView.has(node) || (lit && inView.has(`u${uop}`)))) continue;
      const classes = `edge to-uop times-${Math.min(Math.max(count, there), 4)}${side(count, there)}`;
      this.edge(id, curve(this.textWidth + 4, from, this.uopX - 4, to), classes, lit, restyle, keep);
    }
  }

  edgesOfUop(node, y, inView, restyle, keep) {
    const x = this.uopX + this.uopWidthOf(node) + 4;
    for (const port of this.model.uops[Number(node.slice(1))].ports) {
      const id = `${node}-p${port}`;
      const lit = Boolean(this.lit?.has(id));
      if (!inView.has(node) && !lit) continue;
      const d = curve(x, y(node), this.portX - 15, y(`p${port}`));
      this.edge(id, d, `edge to-port stroke-${port % 12}`, lit, restyle, keep);
    }
  }

  edge(id, d, classes, lit, restyle, keep) {
    let element = this.drawn.get(id);
    const fresh = !element;
    if (fresh) {
      element = svg("path", { class: classes });
      this.edges.append(element);
      this.drawn.set(id, element);
    }
    element.setAttribute("d", d);
    if (fresh || restyle) element.classList.toggle("lit", lit);
    keep.add(id);
  }

  uopWidthOf(node) {
    return this.model.uops[Number(node.slice(1))].ports.length * this.chip;
  }

  // ---- acting

  listen() {
    const nodeOf = (event) => event.target.closest?.("[data-node]")?.dataset.node ?? null;
    this.scroller.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.svg.addEventListener("pointerover", (event) => this.hover(event.pointerType === "mouse" ? nodeOf(event) : null));
    this.svg.addEventListener("pointerleave", () => this.hover(null));
    this.svg.addEventListener("click", (event) => this.clicked(nodeOf(event), event.target));
    this.svg.addEventListener("focusin", (event) => { this.focused = nodeOf(event); this.hover(this.focused); });
    this.svg.addEventListener("focusout", () => this.hover(null));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.filters.listen();
    this.alone?.addEventListener("change", () => { this.isolated = this.alone.checked; this.changed(); });
    new ResizeObserver(() => { if (Math.abs(this.scroller.clientWidth - this.width) > 2) this.arrange(); }).observe(this.scroller);
    window.addEventListener("beforeprint", () => { this.printing = true; this.arrange(); });
    window.addEventListener("afterprint", () => { this.printing = false; this.arrange(); });
    document.querySelector("[data-graph-save]")?.addEventListener("click", (event) => this.save(event.currentTarget.dataset.graphSave));
    for (const button of document.querySelectorAll("[data-pin]")) button.addEventListener("click", () => this.pin(button.dataset.pin));
  }

  hover(node) {
    if (node === this.hovered) return;
    this.hovered = node;
    this.light();
  }

  /** The whole graph as it is filtered, as a file; what is pinned stays lit. */
  save(name) {
    const { hovered } = this;
    this.hovered = null;
    this.printing = true;
    this.arrange();
    download(picture(this.svg, this.lit !== null, document.querySelector("h1").textContent.trim()), `${name || "mapping"}.svg`);
    this.printing = false;
    this.hovered = hovered;
    this.arrange();
  }

  clicked(node, target) {
    if (!node) return this.pin(null);
    if (target.classList.contains("caret")) return this.fold(node);
    return this.pin(node === this.pinned ? null : node);
  }

  pin(node) {
    this.pinned = node;
    if (!node && this.isolated) { this.isolated = false; this.alone.checked = false; }
    this.changed();
  }

  fold(node) {
    const index = parseInt(node.slice(1), 10);
    if (node[0] !== "g" || this.model.groups[index].schemes.length < 2) return;
    if (!this.open.delete(index)) this.open.add(index);
    this.changed();
  }

  changed() {
    this.writeAddress();
    this.arrange();
    if (this.focused) this.drawn.get(this.focused)?.focus({ preventScroll: true });
  }

  key(event) {
    const place = this.positions.place.get(this.focused);
    if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
    const column = this.columns[place.column];
    const moves = {
      ArrowDown: () => column[Math.min(place.index + 1, column.length - 1)],
      ArrowUp: () => column[Math.max(place.index - 1, 0)],
      Home: () => column[0],
      End: () => column.at(-1),
      ArrowRight: () => this.connections.neighbours(this.focused, 1).find((node) => this.positions.place.has(node)),
      ArrowLeft: () => this.connections.neighbours(this.focused, -1).find((node) => this.positions.place.has(node)),
    };
    const acts = {
      Enter: () => this.clicked(this.focused, event.target),
      " ": () => (this.focused[0] === "g" ? this.fold(this.focused) : this.clicked(this.focused, event.target)),
      Escape: () => this.pin(null),
    };
    if (moves[event.key]) this.go(moves[event.key]());
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
  }

  /** Scroll until the node is in view. */
  reveal(node) {
    const at = this.positions.at(node, this.scroller.scrollTop);
    if (at < 14 || at > this.positions.view - 14) {
      this.scroller.scrollTop = this.positions.scrollTo(node) ?? this.scroller.scrollTop;
    }
  }

  go(node) {
    if (!node) return;
    this.focused = node;
    this.reveal(node);
    this.draw(true);
    this.drawn.get(node)?.focus({ preventScroll: true });
  }
}

for (const form of document.querySelectorAll("[data-graph-beside]")) {
  // without an empty choice in the address, and with what is searched and filtered
  const parameters = new URLSearchParams(window.location.search);
  for (const name of ["find", "extension", "category", "memory"]) {
    if (parameters.get(name)) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value: parameters.get(name) }));
  }
  const choice = form.elements.namedItem("with");
  const go = () => { choice.disabled = !choice.value; form.submit(); };
  choice.addEventListener("change", go);
  form.addEventListener("submit", () => { choice.disabled = !choice.value; });
  form.querySelector("button").hidden = true;
}

for (const root of document.querySelectorAll("[data-graph]")) {
  const model = JSON.parse(document.getElementById(root.dataset.graph).textContent);
  new TripartiteGraph(root, model);
}
