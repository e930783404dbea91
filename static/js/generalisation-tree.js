// The tree of a generalisation. Only what the view shows is in the document, so that thousands of steps scroll smoothly;
// what is searched, hidden and selected is in the address.

import { kindOf, shapes, spoken, svg } from "./generalisation-drawing.js";
import { groupsOf, layOut, lineTo, visible } from "./generalisation-layout.js";

const MARGIN = 80; // px beyond the view that are drawn as well
const SCALES = [0.4, 0.55, 0.75, 1, 1.3, 1.7, 2.2];
const USUAL = 3;
const LEAP = 10; // steps that Page Up and Page Down go

export class GeneralisationTree {
  /** `onSelect(number)` hears of a step that the user wants to see. */
  constructor(root, model, { onSelect }) {
    this.root = root;
    this.nodes = model.nodes;
    this.groups = groupsOf(this.nodes);
    this.onSelect = onSelect;
    this.scroller = root.querySelector("[data-tree-scroll]");
    this.svg = root.querySelector("svg");
    this.spacer = root.querySelector("[data-tree-spacer]");
    this.search = document.querySelector("[data-tree-search]");
    this.only = document.querySelector("[data-tree-only]");
    this.status = document.querySelector("[data-tree-status]");
    this.lines = this.svg.appendChild(svg("g", { class: "lines", "aria-hidden": "true" }));
    this.drawn = new Map();
    this.drawnLines = new Map();
    this.zoom = USUAL;
    this.focused = null;
    this.readAddress();
    this.listen();
    this.arrange();
    this.show(this.selected, "center");
  }

  // ---- state in the address

  readAddress() {
    const parameters = new URLSearchParams(window.location.search);
    this.query = parameters.get("find") ?? "";
    this.hidden = parameters.get("only") === "1";
    this.closed = new Set((parameters.get("closed") ?? "").split(",").filter(Boolean).map((text) => this.indexOf(Number(text))));
    this.selected = this.indexOf(Number(this.root.dataset.step));
    this.search.value = this.query;
    this.only.checked = this.hidden;
  }

  writeAddress() {
    const url = new URL(window.location.href);
    const closed = [...this.closed].map((index) => this.nodes[index]?.number).join(",");
    const state = { find: this.query, only: this.hidden ? "1" : "", closed };
    for (const [key, value] of Object.entries(state)) {
      if (value) url.searchParams.set(key, value);
      else url.searchParams.delete(key);
    }
    window.history.replaceState(window.history.state, "", url);
  }

  indexOf(number) {
    const found = this.nodes.findIndex((node) => node.number === number);
    return found < 0 ? null : found;
  }

  // ---- what is where

  get scale() {
    return SCALES[this.zoom];
  }

  arrange() {
    this.view = { width: this.scroller.clientWidth, height: this.scroller.clientHeight };
    this.layout = layOut(this.groups, { width: Math.max(300, this.view.width), closed: this.closed, only: this.hidden });
    this.place = new Map(this.layout.boxes.map((box, at) => [box.index, at]));
    this.svg.setAttribute("width", this.view.width);
    this.svg.setAttribute("height", this.view.height);
    this.spacer.style.width = `${Math.max(this.view.width, this.layout.width * this.scale)}px`;
    this.spacer.style.height = `${this.layout.height * this.scale}px`;
    for (const map of [this.drawn, this.drawnLines]) {
      for (const element of map.values()) element.remove();
      map.clear();
    }
    this.matches = this.matching();
    this.tell();
    this.draw();
  }

  matching() {
    const words = this.query.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return null;
    const found = this.nodes.map((node) => [node.number, node.label, node.words, node.reason, node.against, ...node.implied, kindOf(node)].join(" ").toLowerCase());
    return new Set(found.flatMap((text, index) => (words.every((word) => text.includes(word)) ? [index] : [])));
  }

  tell() {
    const taken = this.groups.length - 1;
    const steps = this.nodes.length - 1;
    const all = `${steps.toLocaleString("en")} step${steps === 1 ? "" : "s"}`;
    const implied = this.nodes.reduce((sum, node) => sum + node.implied.length, 0);
    const parts = `${taken.toLocaleString("en")} taken, ${(steps - taken).toLocaleString("en")} rejected`
      + (implied ? `, ${implied.toLocaleString("en")} more implied by others` : "");
    this.status.textContent = this.matches ? `${this.matches.size.toLocaleString("en")} of ${all} match` : `${all}: ${parts}`;
  }

  // ---- drawing

  schedule() {
    this.frame ??= requestAnimationFrame(() => { this.frame = null; this.draw(); });
  }

  /** Bring the document in line with the scroll position. */
  draw() {
    const { scale } = this;
    const [x, y] = [this.scroller.scrollLeft / scale, this.scroller.scrollTop / scale];
    const [width, height] = [this.view.width / scale, this.view.height / scale];
    const aside = Math.min(0, (this.layout.width - width) / 2); // what is smaller than the view stands in its middle
    this.svg.setAttribute("viewBox", `${x + aside} ${y} ${width} ${height}`);
    const boxes = new Set(visible(this.layout.boxes, y - MARGIN, y + height + MARGIN));
    const steady = [this.selected, this.focused].filter((index) => this.place.has(index));
    for (const index of steady) boxes.add(this.layout.boxes[this.place.get(index)]);
    const keep = new Set();
    for (const box of [...boxes].sort((one, other) => this.place.get(one.index) - this.place.get(other.index))) {
      keep.add(box.index);
      this.drawBox(box);
      this.drawLine(box);
    }
    for (const map of [this.drawn, this.drawnLines]) {
      for (const [index, element] of map) if (!keep.has(index)) { element.remove(); map.delete(index); }
    }
    this.tabStop();
  }

  drawBox(box) {
    let element = this.drawn.get(box.index);
    if (!element) {
      const node = this.nodes[box.index];
      element = svg("g", { class: `node ${kindOf(node)}`, role: "treeitem", "data-index": box.index, tabindex: "-1" });
      element.append(svg("title", {}, spoken(node)), ...shapes(node, box, this.foldedOf(box)));
      this.describe(element, box);
      this.svg.append(element);
      this.drawn.set(box.index, element);
    }
    element.setAttribute("aria-selected", String(box.index === this.selected));
    element.classList.toggle("dim", Boolean(this.matches) && !this.matches.has(box.index));
  }

  foldedOf(box) {
    const hides = this.hidden || this.closed.has(box.index);
    return box.parent === null && hides ? this.groups[box.group].rejected.length : 0;
  }

  describe(element, box) {
    const { rejected } = this.groups[box.group];
    if (box.parent === null) {
      element.setAttribute("aria-level", "1");
      element.setAttribute("aria-posinset", String(box.group + 1));
      element.setAttribute("aria-setsize", String(this.groups.length));
      if (rejected.length) element.setAttribute("aria-expanded", String(!(this.hidden || this.closed.has(box.index))));
    } else {
      element.setAttribute("aria-level", "2");
      element.setAttribute("aria-posinset", String(rejected.indexOf(box.index) + 1));
      element.setAttribute("aria-setsize", String(rejected.length));
    }
  }

  drawLine(box) {
    if (this.drawnLines.has(box.index)) return;
    const before = box.parent ?? this.groups[box.group - 1]?.index;
    if (before === undefined) return;
    const from = this.layout.boxes[this.place.get(before)];
    const line = svg("path", { class: box.parent === null ? "taken" : "rejected", d: lineTo(box, from, this.layout.narrow) });
    this.lines.append(line);
    this.drawnLines.set(box.index, line);
  }

  /** One step can be reached with Tab: that with the focus, else the selected one, else the first in sight. */
  tabStop() {
    const at = [this.focused, this.selected, ...this.drawn.keys()].find((index) => this.drawn.has(index));
    for (const [index, element] of this.drawn) element.setAttribute("tabindex", index === at ? "0" : "-1");
  }

  // ---- acting

  listen() {
    const indexOf = (event) => {
      const found = event.target.closest?.("[data-index]");
      return found ? Number(found.dataset.index) : null;
    };
    this.scroller.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.svg.addEventListener("click", (event) => {
      const index = indexOf(event);
      if (index !== null) this.clicked(index, event);
    });
    this.svg.addEventListener("focusin", (event) => { this.focused = indexOf(event); });
    this.svg.addEventListener("focusout", (event) => { if (event.relatedTarget) this.focused = null; });
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.search.addEventListener("input", () => this.find(this.search.value.trim()));
    this.search.addEventListener("keydown", (event) => { if (event.key === "Enter") this.next(); });
    this.only.addEventListener("change", () => { this.hidden = this.only.checked; this.changed(); });
    for (const button of document.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => this.zoomBy(Number(button.dataset.zoom)));
    }
    new ResizeObserver(() => {
      const { clientWidth, clientHeight } = this.scroller;
      if (Math.abs(clientWidth - this.view.width) > 2 || Math.abs(clientHeight - this.view.height) > 2) this.arrange();
    }).observe(this.scroller);
  }

  clicked(index, event) {
    if (event.target.classList.contains("folded")) this.fold(index);
    else this.select(index);
  }

  select(index) {
    this.selected = index;
    this.draw();
    this.onSelect(this.nodes[index].number);
  }

  /** Select a step by its number, and bring it into sight. */
  go(number) {
    this.select(this.indexOf(number));
    this.show(this.selected, "center");
  }

  /** A step whose blocks are shown already: it is marked and in sight. */
  mark(number) {
    const index = this.indexOf(number);
    if (index === this.selected) return;
    this.selected = index;
    this.show(index, "nearest");
  }

  fold(index) {
    if (!this.groups.some((group) => group.index === index && group.rejected.length)) return;
    if (this.hidden) {
      this.hidden = this.only.checked = false;
      this.closed = new Set(this.groups.map((group) => group.index));
    }
    if (!this.closed.delete(index)) this.closed.add(index);
    this.changed();
  }

  changed() {
    const { focused } = this;
    this.writeAddress();
    this.arrange();
    if (focused !== null) this.focus(this.place.has(focused) ? focused : this.selected);
  }

  find(query) {
    this.query = query;
    clearTimeout(this.typing);
    this.typing = setTimeout(() => {
      this.writeAddress();
      this.matches = this.matching();
      this.tell();
      this.at = -1;
      this.next();
      this.draw();
    }, 100);
  }

  /** Bring the next match into sight; hidden steps are unfolded for it. */
  next() {
    if (!this.matches?.size) return;
    const found = [...this.matches].sort((one, other) => one - other);
    this.at = ((this.at ?? -1) + 1) % found.length;
    this.show(found[this.at], "center");
  }

  /** Scroll a step into sight. */
  show(index, where) {
    if (index === null) return;
    if (!this.place.has(index)) this.unfold(index);
    const box = this.layout.boxes[this.place.get(index)];
    const [top, bottom] = [box.y * this.scale, (box.y + box.height) * this.scale];
    const { scrollTop } = this.scroller;
    if (where === "center") this.scroller.scrollTop = (top + bottom - this.view.height) / 2;
    else if (top < scrollTop + 8) this.scroller.scrollTop = top - 8;
    else if (bottom > scrollTop + this.view.height - 8) this.scroller.scrollTop = bottom - this.view.height + 8;
    this.draw();
  }

  unfold(index) {
    const group = this.groups.find((each) => each.rejected.includes(index));
    if (this.hidden) {
      this.hidden = this.only.checked = false;
      this.closed = new Set(this.groups.map((each) => each.index));
    }
    this.closed.delete(group.index);
    this.arrange();
  }

  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.zoomBy(Math.sign(-event.deltaY));
  }

  /** Larger or smaller around the middle of the view; 0: as usual. */
  zoomBy(steps) {
    const middle = (this.scroller.scrollTop + this.view.height / 2) / this.scale;
    this.zoom = steps ? Math.max(0, Math.min(SCALES.length - 1, this.zoom + steps)) : USUAL;
    document.querySelector("[data-zoom='0']").textContent = `${Math.round(100 * this.scale)} %`;
    this.arrange();
    this.scroller.scrollTop = middle * this.scale - this.view.height / 2;
    this.draw();
  }

  key(event) {
    const at = this.place.get(this.focused);
    if (at === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const { boxes } = this.layout;
    const go = (place) => this.focus(boxes[Math.max(0, Math.min(boxes.length - 1, place))].index);
    const acts = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      PageDown: () => go(at + LEAP),
      PageUp: () => go(at - LEAP),
      Home: () => go(0),
      End: () => go(boxes.length - 1),
      ArrowRight: () => this.inward(boxes[at]),
      ArrowLeft: () => this.outward(boxes[at]),
      Enter: () => this.select(this.focused),
      " ": () => this.select(this.focused),
      "+": () => this.zoomBy(1),
      "-": () => this.zoomBy(-1),
      0: () => this.zoomBy(0),
    };
    if (!acts[event.key]) return;
    acts[event.key]();
    event.preventDefault();
  }

  inward(box) {
    const { rejected } = this.groups[box.group];
    if (box.parent !== null || !rejected.length) return;
    if (this.place.has(rejected[0])) this.focus(rejected[0]);
    else this.fold(box.index);
  }

  outward(box) {
    if (box.parent !== null) this.focus(box.parent);
    else if (!this.hidden && !this.closed.has(box.index)) this.fold(box.index);
  }

  focus(index) {
    this.focused = index;
    this.show(index, "nearest");
    this.drawn.get(index)?.focus({ preventScroll: true });
  }
}
