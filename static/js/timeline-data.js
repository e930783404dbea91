// The timeline of a loop, as `inference.figures.timeline.timeline_json` writes it: the life of each µop, and what it
// waits for in words. A µop in an iteration has a number: iteration × µops of the body + its place in the body.

const NONE = -1;
const WINDOW = 1;
const SCHEDULER = 2;
const FRONT_END = 4;
const OCCUPIED = 1;
const RESULT_BUS = 2;

export class TimelineData {
  constructor(document) {
    this.body = document;
    this.size = document.uops.length;
    this.stalls = new Map(document.stalls.map(([number, kind, cause]) => [number, { kind, cause }]));
    this.delays = new Map(document.delays.map(([number, kind, cause]) => [number, { kind, cause }]));
    this.span = document.retired.at(-1) + 1;
    /** For each place, the places of all µops of its instruction. */
    this.siblings = document.uops.map(([instruction]) => document.uops.flatMap(([other], place) => (other === instruction ? [place] : [])));
  }

  text(place) {
    return this.body.instructions[this.body.uops[place][0]];
  }

  hasPort(number) {
    return this.body.port[number] !== NONE;
  }

  done(number) {
    return this.body.issued[number] + this.body.uops[number % this.size][1];
  }

  /** The value that came last, where the µop waited for it: its producer's number, what it is, and when it came. */
  operand(number) {
    const operand = this.body.operand[number];
    if (operand === NONE) return null;
    const place = number % this.size;
    const [producer, iterations, cycles, location] = this.body.waits[place][operand];
    const from = number - place - iterations * this.size + producer;
    const until = this.body.issued[from] + cycles;
    return until > this.body.dispatched[number] + 1 ? { from, location, until } : null;
  }

  /** The cycle from which on only a port is missing. */
  earliest(number) {
    if (!this.hasPort(number)) return this.body.issued[number];
    return this.operand(number)?.until ?? this.body.dispatched[number] + 1;
  }

  /** What kept a µop with all its values from being issued, null where nothing did. */
  delay(number) {
    return this.delays.get(number) ?? null;
  }

  portName(number) {
    return `port ${this.body.ports[this.body.port[number]]}`;
  }

  /** The ports that can execute a µop: "port 1", "one of the ports 0, 1". */
  anyPort(number) {
    const mask = this.body.uops[number % this.size][2];
    const names = this.body.ports.filter((_, port) => Math.floor(mask / 2 ** port) % 2);
    return names.length === 1 ? `port ${names[0]}` : `one of the ports ${names.join(", ")}`;
  }

  /** Another µop as one in `iteration` speaks of it: "imul rax, rbx of the iteration before". */
  other(number, iteration) {
    const before = iteration - Math.floor(number / this.size);
    const text = this.text(number % this.size);
    if (before === 0) return text;
    if (before === 1) return `${text} of the iteration before`;
    return before === -1 ? `${text} of the next iteration` : `${text} of iteration ${iteration - before}`;
  }

  name(number) {
    const place = number % this.size;
    const siblings = this.siblings[place];
    const part = siblings.length > 1 ? `, µop ${siblings.indexOf(place) + 1} of ${siblings.length}` : "";
    return `${this.text(place)}${part}, iteration ${Math.floor(number / this.size)}`;
  }

  /** The life of a µop, a sentence per phase: [first cycle, sentence]. */
  phases(number) {
    const { dispatched, issued, retired } = this.body;
    const phases = [[dispatched[number], this.#dispatch(number)]];
    const operand = this.operand(number);
    const iteration = Math.floor(number / this.size);
    if (operand) {
      const value = operand.location ? `${operand.location} from ` : "";
      phases.push([dispatched[number] + 1, `Waits for ${value}${this.other(operand.from, iteration)}, until cycle ${operand.until}.`]);
    }
    if (this.delay(number)) phases.push([this.earliest(number), this.#delay(number, iteration)]);
    if (this.hasPort(number)) {
      const cycles = this.done(number) - issued[number];
      phases.push([issued[number], `Executes on ${this.portName(number)} in cycle ${issued[number]}, result ${cycles} cycle${cycles === 1 ? "" : "s"} later.`]);
    } else {
      phases.push([dispatched[number], "Needs no port."]);
    }
    if (retired[number] > this.done(number) + 1) phases.push([this.done(number), `Done in cycle ${this.done(number)}, waits until those before it retire.`]);
    phases.push([retired[number], `Retires in cycle ${retired[number]}.`]);
    return phases;
  }

  #dispatch(number) {
    const stall = this.stalls.get(number);
    const sentence = `Dispatched in cycle ${this.body.dispatched[number]}`;
    if (!stall) return `${sentence}.`;
    const iteration = Math.floor(number / this.size);
    const oldest = stall.cause === NONE ? "" : `: ${this.other(stall.cause, iteration)} had not issued`;
    if (stall.kind === WINDOW) return `${sentence}, when the window had room${oldest}.`;
    if (stall.kind === SCHEDULER) return `${sentence}, when the scheduler had room${oldest}.`;
    if (stall.kind === FRONT_END) return `${sentence}, when the front end had its iteration.`;
    return `${sentence}, when the queue of its port had room.`;
  }

  #delay(number, iteration) {
    const { kind, cause } = this.delay(number);
    const until = `until cycle ${this.body.issued[number]}`;
    const port = this.body.is_bound_early ? this.portName(number) : this.anyPort(number);
    if (kind === OCCUPIED && !this.body.is_bound_early) return `Waits for ${port}, ${until}: ${this.other(cause, iteration)} took ${this.portName(number)}.`;
    if (kind === OCCUPIED) return `Waits for ${port}, ${until}: ${this.other(cause, iteration)} took it.`;
    if (kind === RESULT_BUS) return `Waits for ${port}, ${until}: the result of ${this.other(cause, iteration)} had its result bus.`;
    return `Waits for ${port}, ${until}: a slot of the port was lost.`;
  }
}

/** The phase that a µop is in at a cycle, null before its life and after it. */
export function phaseAt(phases, cycle) {
  const last = phases.at(-1);
  return cycle > last[0] ? null : phases.findLast(([from]) => from <= cycle) ?? null;
}

/** The rows of a drawing: every µop of an iteration, or a single row for one that is folded. */
export class Rows {
  constructor(iterations, size) {
    this.iterations = iterations;
    this.size = size;
    this.folded = new Set();
  }

  /** The number of rows. */
  get length() {
    return this.iterations * this.size - this.folded.size * (this.size - 1);
  }

  /** The first row of an iteration. */
  start(iteration) {
    let before = 0;
    for (const folded of this.folded) before += folded < iteration ? 1 : 0;
    return iteration * this.size - before * (this.size - 1);
  }

  /** What a row shows: an iteration, and a place in the body, or null for a folded iteration. */
  at(row) {
    let first = 0;
    for (let iteration = 0; iteration < this.iterations; iteration += 1) {
      const isFolded = this.folded.has(iteration);
      const rows = isFolded ? 1 : this.size;
      if (row < first + rows) return { iteration, place: isFolded ? null : row - first };
      first += rows;
    }
    return null;
  }

  /** The row of a µop. */
  of(number) {
    const iteration = Math.floor(number / this.size);
    return this.start(iteration) + (this.folded.has(iteration) ? 0 : number % this.size);
  }

  toggle(iteration) {
    if (!this.folded.delete(iteration)) this.folded.add(iteration);
  }

  foldAll(isFolded) {
    this.folded = new Set(isFolded ? Array.from({ length: this.iterations }, (_, iteration) => iteration) : []);
  }
}
