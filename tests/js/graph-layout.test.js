import assert from "node:assert/strict";
import { test } from "node:test";

import { Connections, Positions, curve, shownRows } from "../../static/js/graph-layout.js";

const SMALL = {
  ports: ["0", "1", "2"],
  uops: [
    { mask: "0x1", ports: [0], label: "[0]" },
    { mask: "0x3", ports: [0, 1], label: "[0,1]" },
    { mask: "0x4", ports: [2], label: "[2]" },
  ],
  groups: [
    { schemes: ["add A", "sub A"], uops: [{ uop: 0, count: 1 }], usage: "1×[0]", kind: "equal" },
    { schemes: ["mul A"], uops: [{ uop: 1, count: 2 }, { uop: 2, count: 1 }], usage: "2×[0,1] + 1×[2]", kind: "different" },
  ],
};

const columns = (options) => shownRows(SMALL, options).columns;

test("the columns hold what is searched and what belongs to it", () => {
  assert.deepEqual(columns({}), [["g0", "g1"], ["u0", "u1", "u2"], ["p0", "p1", "p2"]]);
  assert.deepEqual(columns({ query: "mul" }).slice(0, 2), [["g1"], ["u1", "u2"]]);
  assert.deepEqual(columns({ query: "a -add -mul", open: new Set([0]) }).slice(0, 2), [["g0", "s0.1"], ["u0"]]);
  assert.deepEqual(columns({ query: "nothing" }).slice(0, 2), [[], []]);
});

test("a kind of difference and a pin hide the other groups", () => {
  assert.deepEqual(columns({ kind: "different" })[0], ["g1"]);
  assert.deepEqual(columns({ only: new Connections(SMALL).paths("p0") }), [["g0", "g1"], ["u0", "u1"], ["p0", "p1", "p2"]]);
});

test("facets are matched by their value, the empty one by a dash", () => {
  const model = {
    ...SMALL,
    facets: { extension: ["", "AVX"] },
    groups: [{ ...SMALL.groups[0], facets: [[0], [1]] }, { ...SMALL.groups[1], facets: [[1]] }],
  };
  const matching = (facets) => [...shownRows(model, { facets }).matches];
  assert.deepEqual(matching({ extension: "AVX" }), [[0, [1]], [1, [0]]]);
  assert.deepEqual(matching({ extension: "-" }), [[0, [0]]]);
  assert.deepEqual(matching({}), [[0, [0, 1]], [1, [0]]]);
});

test("a node lights exactly its paths", () => {
  const connections = new Connections(SMALL);
  const lit = (node) => [...connections.paths(node)].sort();
  assert.deepEqual(lit("g1"), ["g1", "g1-u1", "g1-u2", "p0", "p1", "p2", "u1", "u1-p0", "u1-p1", "u2", "u2-p2"]);
  assert.deepEqual(lit("u0"), ["g0", "g0-u0", "p0", "u0", "u0-p0"]);
  assert.deepEqual(lit("p1"), ["g1", "g1-u1", "p1", "u1", "u1-p1"]);
});

test("the neighbours of a node are in the column beside it", () => {
  const connections = new Connections(SMALL);
  assert.deepEqual(connections.neighbours("g1", 1), ["u1", "u2"]);
  assert.deepEqual(connections.neighbours("u1", 1), ["p0", "p1"]);
  assert.deepEqual(connections.neighbours("p0", -1), ["u0", "u1"]);
  assert.deepEqual(connections.neighbours("u2", -1), ["g1"]);
  assert.deepEqual(connections.neighbours("p0", 1), []);
});

test("all columns reach their ends together", () => {
  const named = (letter, count) => Array.from({ length: count }, (_, index) => `${letter}${index}`);
  const shown = [named("g", 2000), named("u", 200), named("p", 9)];
  const positions = new Positions(shown, 600);
  const end = positions.height - positions.view;
  for (const nodes of shown) {
    const [first, last] = [positions.at(nodes[0], 0), positions.at(nodes.at(-1), end)];
    assert.ok(first > 0 && first < 60, `the first is at ${first}`);
    assert.ok(last > positions.view - 60 && last < positions.view, `the last is at ${last}`);
  }
  assert.ok(Math.abs(positions.scrollTo("g1000") / end - 0.5) < 0.01);
  assert.equal(positions.at("g2000", 0), undefined);
  assert.equal(positions.scrollTo("p3"), null);
});

test("only rows in the view are drawn", () => {
  const positions = new Positions([Array.from({ length: 100 }, (_, index) => `g${index}`), ["u0"], ["p0"]], 230);
  const [groups] = positions.visible(0, 0);
  assert.deepEqual([groups[0], groups.at(-1)], ["g0", "g9"]);
  const [last] = positions.visible(positions.height - positions.view, 0);
  assert.deepEqual([last[0], last.at(-1)], ["g90", "g99"]);
});

test("a curve begins and ends level", () => {
  assert.equal(curve(0, 5, 10, 25), "M0,5C5,5 5,25 10,25");
});
