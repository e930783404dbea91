import assert from "node:assert/strict";
import { test } from "node:test";

import { startState, token } from "../../static/js/loop-assembly.js";

/** What the tokenizer uses of CodeMirror's stream. */
class Line {
  constructor(text) { this.text = text; this.at = 0; this.start = 0; }
  sol() { return this.at === 0; }
  eol() { return this.at >= this.text.length; }
  current() { return this.text.slice(this.start, this.at); }
  next() { this.at += 1; }
  skipToEnd() { this.at = this.text.length; }
  skipTo(text) {
    const found = this.text.indexOf(text, this.at);
    if (found >= 0) this.at = found;
    return found >= 0;
  }
  eatSpace() { return this.match(/\s+/); }
  match(pattern) {
    const ahead = this.text.slice(this.at);
    const length = typeof pattern === "string" ? (ahead.startsWith(pattern) ? pattern.length : 0) : matched(pattern, ahead);
    this.at += length;
    return length > 0;
  }
}

function matched(pattern, text) {
  const match = text.match(pattern);
  return match && match.index === 0 ? match[0].length : 0;
}

function tokens(text, state = startState()) {
  const line = new Line(text);
  const names = [];
  while (!line.eol()) {
    line.start = line.at;
    const name = token(line, state);
    assert.ok(line.at > line.start, `stands still at ${line.at} of ${text}`);
    if (name) names.push(`${name} ${line.current().trim()}`);
  }
  return names;
}

test("Intel", () => {
  assert.deepEqual(tokens("  mov rcx, qword ptr [rax+8*rdx-0x10]  ; next"), [
    "keyword mov", "variableName rcx", "typeName qword", "typeName ptr", "variableName rax", "number +8", "variableName rdx",
    "number -0x10", "comment ; next",
  ]);
});

test("AT&T", () => {
  assert.deepEqual(tokens("1:\tlock addl $0x1f, -8(%r8,%rax,4) # counts"), [
    "labelName 1:", "keyword lock", "keyword addl", "number $0x1f", "number -8", "variableName %r8", "variableName %rax", "number 4",
    "comment # counts",
  ]);
});

test("labels, directives and symbols", () => {
  assert.deepEqual(tokens(".L3:"), ["labelName .L3:"]);
  assert.deepEqual(tokens("\t.p2align 4,,10"), ["meta .p2align", "number 4", "number 10"]);
  assert.deepEqual(tokens("\tjne .L3"), ["keyword jne", "labelName .L3"]);
  assert.deepEqual(tokens("\tcall raxman"), ["keyword call", "labelName raxman"]);
});

test("a line of objdump", () => {
  assert.deepEqual(tokens("  401136:\t48 01 d8             \tadd    %rbx,%rax"), [
    "meta 401136:\t48 01 d8", "keyword add", "variableName %rbx", "variableName %rax",
  ]);
  assert.deepEqual(tokens("  40113a:\t75 f4 \tjne    401130 <sum+0x10>").slice(-2), ["number 401130", "labelName <sum+0x10>"]);
});

test("a comment of several lines", () => {
  const state = startState();
  assert.deepEqual(tokens("add rax, rbx /* a", state), ["keyword add", "variableName rax", "variableName rbx", "comment /* a"]);
  assert.deepEqual(tokens("comment", state), ["comment comment"]);
  assert.deepEqual(tokens("ends */ inc rax", state), ["comment ends */", "keyword inc", "variableName rax"]);
});

test("a statement or a remark behind a semicolon", () => {
  assert.deepEqual(tokens("inc rax; jne 1b; cdq"), ["keyword inc", "variableName rax", "keyword jne", "number 1b", "keyword cdq"]);
  assert.deepEqual(tokens("inc rax ; next one"), ["keyword inc", "variableName rax", "comment ; next one"]);
});

test("any text comes to its end", () => {
  for (const text of ["\"open", "<open", "%", "$", "{evex} vaddps zmm0{k1}{z}, zmm1, zmm2", "☃ µ", ";", "/", "*/ x"]) tokens(text);
});
