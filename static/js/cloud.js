// The population of an evolution as a cloud of error and volume: the newest one live, earlier ones by a slider.

import { Figure } from "./figures.js";

const MAX_FRAMES = 48;
const MIN_ERROR = 1e-3; // per cent: a logarithmic axis has no zero; see inference/figures/curves.py
const STEP = 220; // ms per population while it plays
const whole = new Intl.NumberFormat("en");

/** A `cloud` event as the figure has it: volumes and errors in per cent, the fittest first. */
function frameOf({ generation, errors, volumes }) {
  return { generation, x: volumes, y: errors.map((error) => Math.max(MIN_ERROR, 100 * error)) };
}

/**
 * Round numbers in a range of logarithms, fewer of each decade where there are many.
 * @param {number[]} range
 */
function ticks([from, to]) {
  const digits = to - from < 1.2 ? [1, 2, 3, 5, 7] : to - from < 2.5 ? [1, 2, 5] : [1];
  const found = [];
  for (let power = Math.floor(from); power <= to; power += 1) {
    for (const digit of digits) {
      const value = digit * 10 ** power;
      if (Math.log10(value) >= from && Math.log10(value) <= to) found.push(value);
    }
  }
  return found;
}

export class Cloud extends Figure {
  constructor(element, figure, frames) {
    super(element);
    this.figure = figure;
    this.frames = frames;
    this.controls = element.querySelector("[data-frames]");
    this.slider = this.controls.querySelector("input");
    this.button = this.controls.querySelector("button");
    this.label = this.controls.querySelector("output");
    this.at = frames.length - 1;
    this.timer = null;
    this.slider.addEventListener("input", () => this.goTo(Number(this.slider.value)));
    this.button.addEventListener("click", () => (this.timer ? this.stop() : this.play()));
    this.tell();
  }

  get follows() {
    return this.at === this.frames.length - 1;
  }

  /** A newer population; whoever looks at an earlier one goes on looking at it. */
  add(payload) {
    if (!payload.errors.length) return;
    const follows = this.follows;
    while (this.frames.length && this.frames.at(-1).generation >= payload.generation) this.frames.pop();
    this.frames.push(frameOf(payload));
    if (this.frames.length > MAX_FRAMES) {
      const shown = this.frames[this.at]?.generation;
      this.frames = this.frames.filter((_, index) => index % 2 === 0 || index === this.frames.length - 1);
      this.at = Math.max(0, this.frames.findLastIndex((frame) => frame.generation <= shown));
    }
    if (follows) this.at = this.frames.length - 1;
    this.tell();
  }

  goTo(index) {
    this.stop();
    this.at = index;
    this.tell();
    this.draw();
  }

  play() {
    if (this.follows) this.at = 0;
    this.button.setAttribute("aria-pressed", "true");
    const step = () => {
      this.tell();
      this.draw();
      if (this.follows) this.stop();
      else this.at += 1;
    };
    this.timer = setInterval(step, STEP);
    step();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.button.setAttribute("aria-pressed", "false");
  }

  tell() {
    this.controls.hidden = this.frames.length < 2;
    this.slider.max = String(Math.max(0, this.frames.length - 1));
    this.slider.value = String(this.at);
    const frame = this.frames[this.at];
    const text = frame ? `generation ${whole.format(frame.generation)}` : "";
    this.label.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
  }

  /** Axes hold all populations: what moves is the cloud. */
  draw() {
    if (!this.frames.length) return null;
    const frame = this.frames[this.at];
    const [way, population, fittest] = this.figure.data;
    const told = this.frames.filter((each) => each.x.length);
    const data = [
      { ...way, x: told.map((each) => each.x[0]), y: told.map((each) => each.y[0]) },
      { ...population, x: frame.x, y: frame.y },
      { ...fittest, x: frame.x.slice(0, 1), y: frame.y.slice(0, 1) },
    ];
    const layout = { ...this.figure.layout };
    for (const [axis, key] of [["xaxis", "x"], ["yaxis", "y"]]) {
      const range = this.range(key);
      layout[axis] = { ...layout[axis], range, tickvals: ticks(range), tickformat: key === "x" ? "~s" : "~g" };
    }
    return this.show({ data, layout });
  }

  range(key) {
    let [low, high] = [Infinity, 0];
    for (const frame of this.frames) {
      for (const value of frame[key]) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    const [from, to] = [Math.log10(Math.max(low, MIN_ERROR)), Math.log10(Math.max(high, MIN_ERROR))];
    const margin = Math.max(0.05, 0.06 * (to - from));
    return [from - margin, to + margin];
  }
}
