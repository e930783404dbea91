// The section with the timeline of a loop: asks for its data when it comes into view, draws what is visible, says what
// a µop waits for, and writes the steady iteration as a table.

import { onThemeChange } from "./colours.js";
import { Rows, TimelineData, phaseAt } from "./timeline-data.js";
import { COLOURS, HEAD, TimelineDrawing } from "./timeline-drawing.js";

const ZOOM = 1.3; // of a step
const [MIN_CELL, MAX_CELL] = [0.25, 32];
const USUAL_CELL = 14;
const [MIN_ROW, MAX_ROW] = [4, 20];

const REST = 1200; // ms
const HINT = "Point at a µop, or use the arrow keys, to see what it waits for.";

/** What stays from one answer to the next. */
const settings = { cell: USUAL_CELL, isFolded: false };

/** @type {TimelineView | null} */
let current = null;

/** Ask for a timeline and draw it in the section `container`, in place of the one drawn before. */
export function drawTimeline(container, url) {
  const last = current;
  last?.close();
  current = new TimelineView(container, url, last?.data ?? null);
}

class TimelineView {
  constructor(container, url, last) {
    this.container = container;
    this.url = url;
    this.form = container.querySelector("form");
    this.frame = container.querySelector("[data-timeline]");
    this.canvas = this.frame.querySelector("canvas");
    this.space = this.frame.querySelector("[data-space]");
    this.message = container.querySelector("[data-message]");
    this.sentence = container.querySelector("[data-sentence]");
    this.marked = null;
    this.isQueued = false;
    this.closing = new AbortController();
    if (last) this.show(last); // greyed, until the new one is there
    this.frame.toggleAttribute("data-pending", true);
    this.listen();
    this.sight = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) this.begin();
    }, { rootMargin: "600px" });
    this.sight.observe(container);
    this.rest = setTimeout(() => this.begin(), REST);
    this.sizes = new ResizeObserver(() => this.redraw());
    this.sizes.observe(this.frame);
  }

  /** Ask at once in sight, and out of it once nobody types any more. */
  begin() {
    clearTimeout(this.rest);
    this.sight.disconnect();
    this.ask();
  }

  close() {
    clearTimeout(this.rest);
    this.closing.abort();
    this.asking?.abort();
    this.sight.disconnect();
    this.sizes.disconnect();
  }

  async ask() {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    try {
      const body = new URLSearchParams(/** @type {any} */ (new FormData(this.form)));
      const answer = await fetch(this.url, { method: "POST", body, signal, headers: { Accept: "application/json" } });
      const document = await answer.json().catch(() => ({ problem: `The server answered ${answer.status}.` }));
      if (signal.aborted) return;
      if (document.problem) this.refuse(document.problem);
      else this.show(new TimelineData(document));
    } catch (failure) {
      if (/** @type {Error} */ (failure).name !== "AbortError") this.refuse("No connection to the server: change the number of iterations to try again.");
    }
  }

  refuse(problem) {
    this.container.toggleAttribute("data-empty", true);
    this.message.textContent = problem;
  }

  show(data) {
    this.data = data;
    this.container.removeAttribute("data-empty");
    this.frame.removeAttribute("data-pending");
    const requested = Number(this.form.elements.namedItem("iterations").value);
    const fewer = data.body.iterations < requested ? ` The first ${data.body.iterations} iterations: of so long a block, no more are drawn.` : "";
    this.message.textContent = `${data.body.pace}.${fewer}`;
    this.container.querySelector("[data-assumption]").textContent = data.body.assumption;
    this.rows = new Rows(data.body.iterations, data.size);
    this.rows.foldAll(settings.isFolded);
    this.drawing = new TimelineDrawing(this.canvas, data, this.rows);
    this.mark(this.marked < data.body.issued.length ? this.marked : null);
    this.explainPorts();
    this.tabulate();
    this.redraw();
  }

  /** The ports that occur, in the legend. */
  explainPorts() {
    const { body } = this.data;
    const ports = [...new Set(body.port)].filter((port) => port >= 0).sort((first, second) => first - second);
    this.container.querySelector("[data-ports]").replaceChildren(...ports.map((port) => {
      const sign = document.createElement("span");
      sign.className = `port port-${port % COLOURS}`;
      sign.textContent = body.labels[port];
      const name = body.labels[port] === body.ports[port] ? "" : ` ${body.ports[port]}`;
      const item = document.createElement("span");
      item.append(sign, name);
      return item;
    }));
  }

  // ---- the window

  get row() {
    return Math.round(Math.max(MIN_ROW, Math.min(MAX_ROW, settings.cell * 1.4)));
  }

  /** @returns {import("./timeline-drawing.js").Window} */
  get view() {
    const { clientWidth, clientHeight, scrollLeft, scrollTop } = this.frame;
    return { x: scrollLeft, y: scrollTop, width: clientWidth, height: clientHeight, cell: settings.cell, row: this.row, left: this.left };
  }

  redraw() {
    if (this.isQueued) return;
    this.isQueued = true;
    window.requestAnimationFrame(() => {
      this.isQueued = false;
      this.draw();
    });
  }

  draw() {
    if (!this.data || !this.frame.clientWidth) return; // hidden: drawn when its size changes
    this.left = this.drawing.leftWidth(this.frame.clientWidth);
    this.resize();
    this.canvas.style.width = `${this.frame.clientWidth}px`;
    this.canvas.style.height = `${this.frame.clientHeight}px`;
    this.drawing.draw(this.view, this.marked);
  }

  resize() {
    this.space.style.width = `${this.left + (this.data.span + 2) * settings.cell}px`;
    const height = HEAD + this.rows.length * this.row + 8;
    this.space.style.height = `${height}px`;
    this.frame.style.maxHeight = `${height + 24}px`; // with a scrollbar
  }

  /** Zoom in or out; the cycle and the row at a point of the frame stay there. */
  zoom(factor, at = { x: this.left, y: HEAD }) {
    const cell = Math.max(MIN_CELL, Math.min(MAX_CELL, settings.cell * factor));
    const cycle = (this.frame.scrollLeft + at.x - this.left) / settings.cell;
    const row = (this.frame.scrollTop + at.y - HEAD) / this.row;
    settings.cell = cell;
    this.resize();
    this.frame.scrollTo(cycle * cell - at.x + this.left, row * this.row - at.y + HEAD);
    this.redraw();
  }

  /** Zoom so that all cycles are visible. */
  fit() {
    const cell = (this.frame.clientWidth - this.left - 16) / (this.data.span + 2);
    this.zoom(cell / settings.cell);
    this.frame.scrollTo(0, 0);
  }

  /** Scroll down to a row, and along with it to the cycles in which something happens there. */
  scrollToRow(row) {
    const { iteration, place } = this.rows.at(row);
    const top = row * this.row;
    const room = this.frame.clientHeight - HEAD - this.row - 16;
    if (top < this.frame.scrollTop) this.frame.scrollTop = top;
    else if (top > this.frame.scrollTop + room) this.frame.scrollTop = top - room;
    this.scrollToCycle(this.data.body.dispatched[iteration * this.data.size + (place ?? 0)]);
  }

  scrollToCycle(cycle) {
    const x = cycle * settings.cell;
    const room = this.frame.clientWidth - this.left;
    if (x < this.frame.scrollLeft || x > this.frame.scrollLeft + room * 0.6) this.frame.scrollLeft = x - room * 0.15;
  }

  // ---- what is pointed at

  /** The row and the cycle at a point of the frame, null beside the rows. */
  at(event) {
    const box = this.frame.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (y < HEAD || !this.data) return null;
    const row = Math.floor((this.frame.scrollTop + y - HEAD) / this.row);
    if (row < 0 || row >= this.rows.length) return null;
    const cycle = x < this.left ? null : Math.floor((this.frame.scrollLeft + x - this.left) / settings.cell);
    return { ...this.rows.at(row), row, cycle, isNumber: x < 40 };
  }

  /** Mark a µop and say its life, with what happens in `cycle` marked. */
  mark(number, cycle = null) {
    this.marked = number;
    this.redraw();
    this.sentence.textContent = HINT;
    if (number === null) return;
    const phases = this.data.phases(number);
    const now = cycle === null ? null : phaseAt(phases, cycle);
    const name = document.createElement("strong");
    name.textContent = this.data.name(number);
    this.sentence.replaceChildren(name, ...phases.flatMap((phase) => {
      const span = document.createElement(phase === now ? "mark" : "span");
      [, span.textContent] = phase;
      return [" ", span];
    }));
  }

  point(event) {
    const spot = this.at(event);
    if (!spot) return;
    const number = spot.place === null ? this.nearest(spot) : spot.iteration * this.data.size + spot.place;
    this.mark(number, spot.cycle);
  }

  /** Of a folded iteration, the µop that executes at the cycle. */
  nearest({ iteration, cycle }) {
    const start = iteration * this.data.size;
    const numbers = Array.from({ length: this.data.size }, (_, place) => start + place);
    return numbers.find((number) => this.data.hasPort(number) && this.data.body.issued[number] <= cycle && cycle < this.data.done(number)) ?? start;
  }

  fold(iteration) {
    this.rows.toggle(iteration);
    this.redraw();
  }

  foldAll() {
    settings.isFolded = !settings.isFolded;
    this.rows.foldAll(settings.isFolded);
    this.container.querySelector("[data-fold]").setAttribute("aria-pressed", String(settings.isFolded));
    this.frame.scrollTo(0, 0);
    this.redraw();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.data) return;
    const row = this.marked === null ? -1 : this.rows.of(this.marked);
    const page = Math.max(1, Math.floor((this.frame.clientHeight - HEAD) / this.row) - 1);
    const rows = { ArrowDown: row + 1, ArrowUp: row - 1, PageDown: row + page, PageUp: row - page, Home: 0, End: this.rows.length - 1 };
    if (event.key in rows) this.goTo(Math.max(0, Math.min(this.rows.length - 1, rows[event.key])));
    else if (event.key === "ArrowRight") this.frame.scrollLeft += 5 * settings.cell;
    else if (event.key === "ArrowLeft") this.frame.scrollLeft -= 5 * settings.cell;
    else if (event.key === "+" || event.key === "=") this.zoom(ZOOM);
    else if (event.key === "-") this.zoom(1 / ZOOM);
    else if (event.key === "0") this.fit();
    else if (event.key === "Enter") this.follow();
    else if (event.key === " " && this.marked !== null) this.fold(Math.floor(this.marked / this.data.size));
    else return;
    event.preventDefault();
  }

  goTo(row) {
    const { iteration, place } = this.rows.at(row);
    this.scrollToRow(row);
    this.mark(iteration * this.data.size + (place ?? 0));
  }

  /** Go to what the marked µop waits for. */
  follow() {
    if (this.marked === null) return;
    const from = this.data.operand(this.marked)?.from ?? this.data.delay(this.marked)?.cause ?? -1;
    if (from < 0 || from >= this.data.body.issued.length) return;
    const iteration = Math.floor(from / this.data.size);
    if (this.rows.folded.has(iteration)) this.rows.toggle(iteration);
    this.goTo(this.rows.of(from));
  }

  goToSteady() {
    const iteration = Math.min(this.data.body.steady_from, this.data.body.iterations - 1);
    this.frame.scrollTop = this.rows.start(iteration) * this.row;
    this.scrollToRow(this.rows.start(iteration));
  }

  listen() {
    const { signal } = this.closing;
    const on = (target, type, listener, options = {}) => target.addEventListener(type, listener, { signal, ...options });
    let top = 0;
    on(this.frame, "scroll", () => {
      // Scrolled down, the cycles move along: rows begin later and later.
      if (this.data && this.frame.scrollTop !== top) {
        const moved = this.begins(this.frame.scrollTop) - this.begins(top);
        top = this.frame.scrollTop;
        if (moved) this.frame.scrollLeft += moved * settings.cell;
      }
      this.redraw();
    });
    on(this.frame, "pointermove", (event) => this.point(event));
    on(this.frame, "pointerdown", (event) => this.point(event));
    on(this.frame, "click", (event) => {
      const spot = this.at(event);
      if (spot?.isNumber) this.fold(spot.iteration);
    });
    on(this.frame, "keydown", (event) => this.key(event));
    on(this.frame, "focus", () => {
      if (this.data && this.marked === null && this.frame.matches(":focus-visible")) this.goTo(0);
    });
    on(this.frame, "wheel", (event) => {
      if (!event.ctrlKey || !this.data) return;
      event.preventDefault();
      const box = this.frame.getBoundingClientRect();
      this.zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, { x: Math.max(this.left, event.clientX - box.left), y: event.clientY - box.top });
    }, { passive: false });
    const actions = { in: () => this.zoom(ZOOM), out: () => this.zoom(1 / ZOOM), fit: () => this.fit(), fold: () => this.foldAll(), steady: () => this.goToSteady() };
    for (const [name, action] of Object.entries(actions)) {
      on(this.container.querySelector(`[data-${name}]`), "click", () => { if (this.data) action(); });
    }
    this.container.querySelector("[data-fold]").setAttribute("aria-pressed", String(settings.isFolded));
    on(this.form.elements.namedItem("iterations"), "change", (event) => {
      event.stopPropagation(); // of no concern to the answer
      if (this.form.reportValidity()) this.ask();
    });
    onThemeChange(() => this.redraw());
  }

  /** The cycle in which the life of the row at an offset begins. */
  begins(offset) {
    const row = Math.min(this.rows.length - 1, Math.max(0, Math.floor(offset / this.row)));
    const { iteration, place } = this.rows.at(row);
    return this.data.body.dispatched[iteration * this.data.size + (place ?? 0)];
  }

  // ---- the steady iteration as a table

  tabulate() {
    const { data } = this;
    const iteration = data.body.iterations - 1;
    const start = iteration * data.size;
    const first = data.body.dispatched[start];
    const rows = data.body.uops.map((_, place) => {
      const number = start + place;
      const port = data.hasPort(number) ? data.body.ports[data.body.port[number]] : "none";
      const waits = data.phases(number).map(([, text]) => text).filter((text) => text.startsWith("Waits")).join(" ");
      return [data.text(place), data.body.dispatched[number] - first, waits, data.body.issued[number] - first, port, data.done(number) - first, data.body.retired[number] - first];
    });
    this.container.querySelector("[data-iteration]").textContent = `iteration ${iteration}; cycles count from its first dispatch, in cycle ${first}`;
    this.container.querySelector("[data-rows]").replaceChildren(...rows.map((cells) => {
      const row = document.createElement("tr");
      row.append(...cells.map((text, column) => {
        const cell = document.createElement(column ? "td" : "th");
        if (!column) cell.setAttribute("scope", "row");
        if (typeof text === "number") cell.className = "num";
        cell.textContent = String(text);
        return cell;
      }));
      return row;
    }));
  }
}

document.addEventListener("loop-answered", () => {
  const section = document.getElementById("loop-timeline");
  if (section?.dataset.url) drawTimeline(section, section.dataset.url);
});
