import assert from "node:assert/strict";
import { test } from "node:test";

import { binOf, filledBins, fullestBin, nextBin } from "../../static/js/heatmap-bins.js";

const COUNTS = [[1, 0, 0, 0, 2], [0, 0, 0, 0, 0], [0, 0, 5, 0, 0], [3, 0, 0, 0, 4]];

test("the walk starts at the fullest bin", () => {
  assert.deepEqual(fullestBin(COUNTS), [2, 2]);
  assert.equal(fullestBin([[0, 0]]), null);
});

test("every filled bin can be reached with arrow keys", () => {
  const seen = new Map([[String(fullestBin(COUNTS)), fullestBin(COUNTS)]]);
  for (const bin of seen.values()) {
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
      const next = nextBin(COUNTS, bin, key);
      if (next) seen.set(String(next), next);
    }
  }
  assert.deepEqual([...seen.keys()].sort(), filledBins(COUNTS).map(String).sort());
});

test("an arrow leads nowhere at the end, other keys never do", () => {
  assert.equal(nextBin(COUNTS, [3, 4], "ArrowRight"), null);
  assert.equal(nextBin(COUNTS, [2, 2], "Enter"), null);
  assert.deepEqual(nextBin(COUNTS, [0, 0], "ArrowUp"), [3, 0]);
});

test("the address names a bin that exists", () => {
  assert.deepEqual(binOf("2,2", COUNTS), [2, 2]);
  for (const text of [null, "", "2", "4,0", "0,5", "-1,0", "a,b"]) assert.equal(binOf(text, COUNTS), null);
});
