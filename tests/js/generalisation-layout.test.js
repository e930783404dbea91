import assert from "node:assert/strict";
import { test } from "node:test";

import { groupsOf, layOut, lineTo, visible } from "../../static/js/generalisation-layout.js";

const STEPS = [true, false, false, false, true].map((taken) => ({ taken }));
const laid = (changes = {}) => layOut(groupsOf(STEPS), { width: 1000, closed: new Set(), only: false, ...changes });

test("rejected steps belong to the taken one before them", () => {
  assert.deepEqual(groupsOf(STEPS), [{ index: 0, rejected: [1, 2, 3] }, { index: 4, rejected: [] }]);
  assert.deepEqual(groupsOf([]), []);
});

test("taken steps stand in one column, rejected ones beside their step in turn", () => {
  const { boxes, height, narrow } = laid();
  assert.equal(narrow, false);
  assert.deepEqual(boxes.map((box) => box.index), [0, 1, 2, 3, 4]);
  const [first, right, left, below, last] = boxes;
  assert.equal(first.x, last.x);
  assert.ok(right.x > first.x + first.width && left.x + left.width < first.x);
  assert.equal(right.y, first.y);
  assert.ok(below.y > right.y && last.y > below.y);
  assert.ok(height > last.y + last.height);
});

test("no two boxes overlap and none leaves the picture", () => {
  for (const width of [320, 619, 620, 1400]) {
    const { boxes } = laid({ width });
    for (const [place, one] of boxes.entries()) {
      assert.ok(one.x >= 0 && one.x + one.width <= width, `${width}: box ${place} is outside`);
      for (const other of boxes.slice(place + 1)) {
        const apart = one.x + one.width <= other.x || other.x + other.width <= one.x || one.y + one.height <= other.y || other.y + other.height <= one.y;
        assert.ok(apart, `${width}: boxes ${one.index} and ${other.index} overlap`);
      }
    }
  }
});

test("closed steps and the taken ones alone leave rejected ones out", () => {
  assert.deepEqual(laid({ closed: new Set([0]) }).boxes.map((box) => box.index), [0, 4]);
  assert.deepEqual(laid({ only: true }).boxes.map((box) => box.index), [0, 4]);
});

test("a narrow picture has the rejected ones below their step", () => {
  const { boxes, narrow } = laid({ width: 400 });
  assert.equal(narrow, true);
  assert.deepEqual(boxes.map((box) => box.y), boxes.map((box) => box.y).sort((a, b) => a - b));
});

test("lines lead from the step to the box", () => {
  const { boxes } = laid();
  assert.match(lineTo(boxes[4], boxes[0], false), /^M\d+(\.\d+)?,58V\d+$/);
  assert.equal(lineTo(boxes[1], boxes[0], false), `M${boxes[0].x + boxes[0].width},34H${boxes[1].x}`);
  assert.match(lineTo(boxes[3], boxes[0], false), /^M\d+(\.\d+)?,34H\d+(\.\d+)?V94H\d+(\.\d+)?$/);
});

test("only boxes between two heights are visible", () => {
  assert.deepEqual(visible(laid().boxes, 0, 60).map((box) => box.index), [0, 1, 2]);
  assert.deepEqual(visible(laid().boxes, 130, 400).map((box) => box.index), [4]);
});
