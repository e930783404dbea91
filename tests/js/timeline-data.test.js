import assert from "node:assert/strict";
import { test } from "node:test";

import { Rows, TimelineData, phaseAt } from "../../static/js/timeline-data.js";

// Two iterations of a multiplication that waits for itself, an addition of two µops on one port, and a move.
const DOCUMENT = {
  iterations: 2,
  instructions: ["imul rax, rbx", "add rcx, [rsi]", "mov rdx, rax"],
  ports: ["ALU0", "ALU1"],
  labels: ["0", "1"],
  is_bound_early: true,
  uops: [[0, 3, 0b01], [1, 1, 0b10], [1, 1, 0b11], [2, 0, 0]],
  waits: [[[0, 1, 3, "rax"]], [], [[1, 0, 1, ""]], []],
  dispatched: [0, 0, 0, 0, 1, 1, 2, 2],
  issued: [1, 1, 2, 0, 4, 2, 6, 2],
  retired: [5, 5, 5, 5, 8, 8, 8, 8],
  port: [0, 1, 1, -1, 0, 1, 1, -1],
  operand: [-1, -1, 0, -1, 0, -1, 0, -1],
  stalls: [[6, 1, 4]],
  delays: [[6, 1, 5]],
};
const data = new TimelineData(DOCUMENT);
const sentences = (number) => data.phases(number).map(([, text]) => text);

test("a µop says which value it waited for, and from where", () => {
  assert.deepEqual(data.operand(4), { from: 0, location: "rax", until: 4 });
  assert.equal(sentences(4)[1], "Waits for rax from imul rax, rbx of the iteration before, until cycle 4.");
  assert.equal(data.operand(0), null);
  assert.equal(data.operand(6), null, "its value was there before");
});

test("a µop says who took its port, and what held it up before", () => {
  assert.equal(data.earliest(6), 3);
  assert.equal(sentences(6)[0], "Dispatched in cycle 2, when the window had room: imul rax, rbx had not issued.");
  assert.equal(sentences(6)[1], "Waits for port ALU1, until cycle 6: add rcx, [rsi] took it.");
  const late = new TimelineData({ ...DOCUMENT, is_bound_early: false });
  assert.equal(late.phases(6)[1][1], "Waits for one of the ports ALU0, ALU1, until cycle 6: add rcx, [rsi] took port ALU1.");
});

test("a µop without a port says so", () => {
  assert.deepEqual(sentences(3), [
    "Dispatched in cycle 0.", "Needs no port.", "Done in cycle 0, waits until those before it retire.", "Retires in cycle 5.",
  ]);
});

test("a lost slot and a busy result bus are told apart", () => {
  const bus = new TimelineData({ ...DOCUMENT, delays: [[6, 2, 5]] });
  assert.match(bus.phases(6)[1][1], /the result of add rcx, \[rsi\] had its result bus/);
  const lost = new TimelineData({ ...DOCUMENT, delays: [[6, 3, -1]] });
  assert.match(lost.phases(6)[1][1], /a slot of the port was lost/);
});

test("names tell the µops of an instruction apart", () => {
  assert.equal(data.name(6), "add rcx, [rsi], µop 2 of 2, iteration 1");
  assert.equal(data.name(0), "imul rax, rbx, iteration 0");
});

test("the phase of a cycle is the last that has begun", () => {
  const phases = data.phases(4);
  assert.match(phaseAt(phases, 2)[1], /^Waits for rax/);
  assert.match(phaseAt(phases, 4)[1], /^Executes/);
  assert.equal(phaseAt(phases, 0), null);
  assert.equal(phaseAt(phases, 9), null);
});

test("folded iterations take one row", () => {
  const rows = new Rows(3, 4);
  assert.equal(rows.length, 12);
  assert.deepEqual(rows.at(5), { iteration: 1, place: 1 });
  rows.toggle(1);
  assert.equal(rows.length, 9);
  assert.deepEqual(rows.at(4), { iteration: 1, place: null });
  assert.deepEqual(rows.at(5), { iteration: 2, place: 0 });
  assert.equal(rows.of(2 * 4 + 3), 8);
  assert.equal(rows.of(1 * 4 + 3), 4);
  assert.equal(rows.at(9), null);
  rows.foldAll(true);
  assert.equal(rows.length, 3);
  rows.toggle(0);
  assert.equal(rows.start(1), 4);
});
