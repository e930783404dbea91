// Draws the visible part of a timeline on a canvas: a row per µop, a column per cycle, with the signs of the legend
// (and of `inference.figures.timeline`).

import { colour, onThemeChange } from "./colours.js";

export const COLOURS = 12; // of ports; more ports share them
export const HEAD = 24; // height of the axis
const MIN_TEXT = 10; // height of a row from which on it has room for text
const MIN_NUMBER = 8; // width of a cell from which on it has room for the number of a port
const MIN_LABEL = 5; // px
const NAMES = 44; // where names begin, behind the numbers of iterations
const FONT = "12px ui-monospace, Menlo, Consolas, monospace";

/** Black or white, whichever is easier to read on a colour. */
function readableOn(hex) {
  const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(hex.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.22 ? "#101418" : "#ffffff";
}

/** A computed colour, "#rrggbb" or "rgb(r, g, b)", with six hexadecimal digits. */
function hexOf(text) {
  if (text.startsWith("#")) return text;
  return `#${text.match(/\d+/g).slice(0, 3).map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
}

class Palette {
  constructor() {
    this.read();
    onThemeChange(() => this.read());
  }

  read() {
    const names = ["ink", "muted", "rule", "surface", "accent", "warn"];
    for (const name of names) this[name] = hexOf(colour(`--${name}`));
    this.ports = Array.from({ length: COLOURS }, (_, port) => hexOf(colour(`--port-${port}`)));
    this.onPorts = this.ports.map(readableOn);
  }
}

/** @type {any} */
let palette = null;

/**
 * Where the drawing is: the offsets of its scrolled content, the size of what is visible, and of columns, rows and
 * the names beside them.
 * @typedef {{ x: number, y: number, width: number, height: number, cell: number, row: number, left: number }} Window
 */

export class TimelineDrawing {
  constructor(canvas, data, rows) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.data = data;
    this.rows = rows;
    palette ??= new Palette();
  }

  /** The width of the names: as long as the longest, at most a share of what is visible. */
  leftWidth(visible) {
    this.context.font = FONT;
    const letter = this.context.measureText("0").width;
    const longest = Math.max(...this.data.body.instructions.map((text) => text.length)) * letter;
    const width = Math.ceil(Math.min(NAMES + longest + 10, Math.max(110, visible * 0.36)));
    this.letters = Math.floor((width - NAMES - 4) / letter);
    return width;
  }

  #shortened(text) {
    return text.length <= this.letters ? text : `${text.slice(0, this.letters - 1)}…`;
  }

  /** Draw a window; `marked`: the number of the µop that is pointed at, or null. */
  draw(view, marked) {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(view.width * ratio), Math.round(view.height * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.view = view;
    const { context } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.textBaseline = "middle";
    context.fillStyle = palette.surface;
    context.fillRect(0, 0, view.width, view.height);
    const [first, last] = this.#visibleRows();
    this.#clipped(view.left, HEAD, () => {
      this.#grid();
      this.#iterations(first, last, view.left);
      for (let row = first; row < last; row += 1) this.#row(row, marked);
      if (marked !== null) this.#arrows(marked);
    });
    this.#clipped(0, HEAD, () => this.#names(first, last, marked), view.left);
    this.#clipped(view.left, 0, () => this.#axis());
    context.fillStyle = palette.rule;
    context.fillRect(0, HEAD - 1, view.width, 1);
    context.fillRect(view.left - 1, 0, 1, view.height);
  }

  #clipped(left, top, paint, width = this.view.width - left) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(left, top, width, this.view.height - top);
    context.clip();
    paint();
    context.restore();
  }

  x(cycle) {
    return this.view.left + cycle * this.view.cell - this.view.x;
  }

  y(row) {
    return HEAD + row * this.view.row - this.view.y;
  }

  #visibleRows() {
    const { y, row, height } = this.view;
    return [Math.max(0, Math.floor(y / row)), Math.min(this.rows.length, Math.ceil((y + height - HEAD) / row))];
  }

  #cycles() {
    const { x, cell, width, left } = this.view;
    return [Math.max(0, Math.floor(x / cell)), Math.ceil((x + width - left) / cell)];
  }

  /** Cycles between two numbers of the axis. */
  #step() {
    return [1, 5, 10, 20, 50, 100, 200, 500, 1000].find((step) => step * this.view.cell >= 42) ?? 5000;
  }

  #grid() {
    const step = this.#step();
    const [from, to] = this.#cycles();
    this.context.fillStyle = palette.rule;
    for (let cycle = Math.ceil(from / step) * step; cycle <= to; cycle += step) this.context.fillRect(this.x(cycle), HEAD, 1, this.view.height);
  }

  #axis() {
    const step = this.#step();
    const [from, to] = this.#cycles();
    this.context.font = FONT;
    this.context.fillStyle = palette.muted;
    this.context.textAlign = "left";
    for (let cycle = Math.floor(from / step) * step; cycle <= to; cycle += step) this.context.fillText(String(cycle), this.x(cycle) + 2, HEAD / 2);
  }

  /** Lines between iterations; a strong one, with words, where the steady state begins. */
  #iterations(first, last, left) {
    const { body } = this.data;
    for (let iteration = 0; iteration < body.iterations; iteration += 1) {
      const row = this.rows.start(iteration);
      if (row < first || row > last) continue;
      const isSteady = iteration === body.steady_from;
      this.context.fillStyle = isSteady ? palette.accent : palette.rule;
      this.context.fillRect(0, this.y(row) - (isSteady ? 1 : 0), this.view.width, isSteady ? 2 : 1);
      if (isSteady && this.view.row >= MIN_TEXT) {
        this.context.font = FONT;
        this.context.textAlign = "right";
        const words = `steady: ${body.cycles.toFixed(2)} cycles per iteration`;
        const right = this.view.width - 8;
        const width = this.context.measureText(words).width;
        const y = this.y(row) + this.view.row / 2 + 1;
        const place = this.rows.at(row)?.place === null ? this.data.size - 1 : 0;
        const end = this.x(body.retired[iteration * this.data.size + place] + 1);
        if (Math.max(end, left) < right - width - 8) this.#label(words, right, y, width);
      }
    }
  }

  #label(words, right, y, width) {
    this.context.fillStyle = palette.surface;
    this.context.fillRect(right - width - 4, y - 8, width + 8, 16);
    this.context.fillStyle = palette.accent;
    this.context.fillText(words, right, y);
  }

  #names(first, last, marked) {
    const { context, view } = this;
    context.fillStyle = palette.surface;
    context.fillRect(0, HEAD, view.left, view.height);
    if (view.row < MIN_TEXT) return;
    context.font = FONT;
    context.textAlign = "left";
    const markedRow = marked === null ? null : this.rows.of(marked);
    for (let row = first; row < last; row += 1) {
      const { iteration, place } = this.rows.at(row);
      const middle = this.y(row) + view.row / 2;
      if (row === this.rows.start(iteration)) {
        context.fillStyle = palette.rule;
        context.fillRect(0, this.y(row), view.left, 1);
        context.fillStyle = iteration === this.data.body.steady_from ? palette.accent : palette.muted;
        context.fillText(`${place === null ? "▸" : "▾"} ${iteration}`, 6, middle);
      }
      context.fillStyle = row === markedRow ? palette.accent : palette.ink;
      if (place === null) context.fillText(`${this.data.size} µops`, NAMES, middle);
      else if (this.data.siblings[place][0] === place) context.fillText(this.#shortened(this.data.text(place)), NAMES, middle);
    }
  }

  #row(row, marked) {
    const { iteration, place } = this.rows.at(row);
    const start = iteration * this.data.size;
    if (place !== null) {
      this.#uop(start + place, row, start + place === marked);
      return;
    }
    const numbers = Array.from({ length: this.data.size }, (_, at) => start + at);
    for (const number of numbers) this.#result(number, row, 0.2);
    for (const number of numbers) this.#issue(number, row);
  }

  /** Dispatched, waits, executes, waits to retire, retires. */
  #uop(number, row, isMarked) {
    const { context, data, view } = this;
    const { dispatched, issued, retired } = data.body;
    const [from, to] = this.#cycles();
    if (isMarked) {
      context.globalAlpha = 0.1;
      context.fillStyle = palette.accent;
      context.fillRect(view.left, this.y(row), view.width, view.row);
      context.globalAlpha = 1;
    }
    if (dispatched[number] > to || retired[number] < from) return;
    const middle = Math.round(this.y(row) + view.row / 2);
    const half = Math.max(2, view.row / 2 - 4);
    const x = this.x(dispatched[number]);
    context.fillStyle = palette.muted;
    context.beginPath();
    context.moveTo(x, middle - half);
    context.lineTo(x, middle + half);
    context.lineTo(x + Math.min(view.cell, 6), middle);
    context.fill();
    const earliest = data.earliest(number);
    if (data.hasPort(number)) {
      this.#line(dispatched[number] + 1, earliest, middle, palette.muted, 1.5, []);
      this.#line(earliest, issued[number], middle, palette.warn, 4, [2, 2]);
      this.#result(number, row, 0.35);
      this.#issue(number, row);
    }
    this.#line(data.done(number), retired[number], middle, palette.muted, 1, [1, 3]);
    context.fillStyle = palette.ink;
    context.fillRect(this.x(retired[number]) + view.cell * 0.3, middle - half, 2, 2 * half);
  }

  #line(from, to, y, stroke, width, dash) {
    if (to <= from) return;
    const { context } = this;
    // A dash pattern over thousands of pixels out of sight is slow.
    const [left, right] = [Math.max(this.x(from), this.view.left - 8), Math.min(this.x(to), this.view.width + 8)];
    if (right <= left) return;
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(left, y);
    context.lineTo(right, y);
    context.stroke();
    context.setLineDash([]);
  }

  /** The cycles until the result is there. */
  #result(number, row, alpha) {
    if (!this.data.hasPort(number)) return;
    const { context, view, data } = this;
    const issued = data.body.issued[number];
    context.fillStyle = palette.ports[data.body.port[number] % COLOURS];
    context.globalAlpha = alpha;
    context.fillRect(this.x(issued), this.y(row) + 1, (data.done(number) - issued) * view.cell, Math.max(2, view.row - 2));
    context.globalAlpha = 1;
  }

  /** The cycle of the issue, with the port. */
  #issue(number, row) {
    if (!this.data.hasPort(number)) return;
    const { context, view, data } = this;
    const hue = data.body.port[number] % COLOURS;
    const [x, y] = [this.x(data.body.issued[number]), this.y(row)];
    context.fillStyle = palette.ports[hue];
    context.fillRect(x, y + 1, Math.max(1, view.cell), Math.max(2, view.row - 2));
    if (view.cell < MIN_NUMBER || view.row < MIN_TEXT) return;
    const label = data.body.labels[data.body.port[number]];
    const size = Math.min(12, view.row - 4, (view.cell - 1) / (0.62 * label.length)); // a letter is 0.6 em wide
    if (size < MIN_LABEL) return;
    context.font = `600 ${size}px ui-monospace, Menlo, Consolas, monospace`;
    context.textAlign = "center";
    context.fillStyle = palette.onPorts[hue];
    context.fillText(label, x + view.cell / 2, y + view.row / 2 + 1);
  }

  /** Lines from what a µop waited for: the producer of its last value, and the µop on its port. */
  #arrows(number) {
    const operand = this.data.operand(number);
    if (operand) this.#arrow(operand.from, operand.until, number, palette.accent);
    const delay = this.data.delay(number);
    if (delay && delay.cause >= 0 && delay.cause < this.data.body.issued.length) {
      this.#arrow(delay.cause, this.data.body.issued[number], number, palette.warn);
    }
  }

  #arrow(from, cycle, number, stroke) {
    const { context, view } = this;
    const [fromX, toX] = [this.x(this.data.body.issued[from] + 0.5), this.x(cycle)];
    const [fromY, toY] = [from, number].map((uop) => this.y(this.rows.of(uop)) + view.row / 2);
    context.strokeStyle = stroke;
    context.fillStyle = stroke;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.lineTo(fromX, toY + Math.sign(fromY - toY) * view.row * 0.4);
    context.lineTo(toX, toY);
    context.stroke();
    context.beginPath();
    context.arc(toX, toY, 3, 0, 2 * Math.PI);
    context.fill();
  }
}
