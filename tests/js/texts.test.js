import assert from "node:assert/strict";
import { test } from "node:test";

import { backOff } from "../../static/js/live.js";
import { cell, duration } from "../../static/js/texts.js";

test("seconds in words", () => {
  const words = [0, 59.4, 59.6, 185, 3600, 7260].map(duration);
  assert.deepEqual(words, ["0 s", "59 s", "1 min 00 s", "3 min 05 s", "1 h 00 min", "2 h 01 min"]);
  assert.deepEqual([null, undefined, NaN, Infinity].map(duration), ["", "", "", ""]);
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
