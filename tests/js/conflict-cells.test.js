import assert from "node:assert/strict";
import { test } from "node:test";

import { cellOf, cellText, classTicks, nextCell, numberedNames } from "../../static/js/conflict-cells.js";

test("arrows lead from cell to cell and stop at the edge", () => {
  assert.deepEqual(nextCell(3, [0, 0], "ArrowRight"), [0, 1]);
  assert.deepEqual(nextCell(3, [0, 0], "ArrowDown"), [1, 0]);
  assert.equal(nextCell(3, [0, 0], "ArrowUp"), null);
  assert.equal(nextCell(3, [2, 2], "ArrowRight"), null);
  assert.equal(nextCell(3, [1, 1], "Enter"), null);
});

test("the address names a cell that exists", () => {
  assert.deepEqual(cellOf([7, 9], "9", "7"), [1, 0]);
  assert.equal(cellOf([7, 9], "8", "7"), null);
  assert.equal(cellOf([7, 9], null, "7"), null);
});

test("a cell says what is added, or that nobody looked", () => {
  assert.equal(cellText(["add", "imul"], 26), "add and imul: 26 % of the quicker one is added");
  assert.equal(cellText(["add", "imul"], null), "add and imul: not measured");
});

test("classes are numbered at the middle of their rows, as far as there is room", () => {
  const at = (ticks) => ticks.map(({ place, number }) => [place, number]);
  assert.deepEqual(at(classTicks([5, 2, 1], 1)), [[2, "1"], [5, "2"], [7, "3"]]);
  assert.deepEqual(at(classTicks([5, 1, 1, 4], 4)), [[2, "1"], [6, "3"]]);
  assert.deepEqual(classTicks([], 4), []);
});

test("the first row of a class has its number", () => {
  assert.deepEqual(numberedNames(["add", "sub", "imul"], [2, 1]), ["1 add", "sub", "2 imul"]);
});
