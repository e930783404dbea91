import assert from "node:assert/strict";
import { test } from "node:test";

import { backOff } from "../../static/js/live.js";
import { cell, duration, rate } from "../../static/js/texts.js";

test("seconds in words", () => {
  const words = [0, 59.4, 59.6, 185, 3600, 7260].map(duration);
  assert.deepEqual(words, ["0 s", "59 s", "1 min 00 s", "3 min 05 s", "1 h 00 min", "2 h 01 min"]);
  assert.deepEqual([null, undefined, NaN, Infinity].map(duration), ["", "", "", ""]);
});

test("rates as people say them", () => {
  assert.equal(rate(1234.5, "experiments"), "1.23K experiments per second");
  assert.equal(rate(0.0834, "rounds"), "12 s per round");
  assert.equal(rate(0.004, "schemes"), "4 min 10 s per scheme");
  assert.equal(rate(0.7, "searches"), "1.4 s per search");
  assert.equal(rate(0.1, "mappings of the first generation"), "10 s per mapping of the first generation");
  assert.deepEqual([0, null, undefined].map((none) => rate(none, "rounds")), ["", "", ""]);
});

test("a cell is a number without the signs of print", () => {
  assert.deepEqual(["1,234", "\u22120.5", "12.5 %", " 7\n", "–"].map(cell), ["1234", "-0.5", "12.5%", "7", ""]);
  assert.equal(cell("1,23"), '"1,23"');
});

test("a cell is never a formula", () => {
  assert.deepEqual(["=1+1", "+x", "@sum", "-a", "'=x"].map(cell), ["'=1+1", "'+x", "'@sum", "'-a", "''=x"]);
  assert.equal(cell('say "a", b'), '"say ""a"", b"');
});

test("the waits between attempts grow and are spread", () => {
  const waits = [0, 1, 2, 3, 20].map((attempt) => [backOff(attempt, () => 0), backOff(attempt, () => 1)]);
  assert.deepEqual(waits, [[250, 500], [500, 1000], [1000, 2000], [2000, 4000], [7500, 15000]]);
});
