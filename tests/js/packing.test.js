import assert from "node:assert/strict";
import { test } from "node:test";

import { packed, unpacked } from "../../static/js/packing.js";

test("a packed text is the same again, in letters of addresses", async () => {
  for (const text of ["", "add rax, rbx", "µops ☃\r\n\t", "imul rax, rbx\n".repeat(5000)]) {
    const digits = await packed(text);
    assert.match(digits, /^[\w-]*$/);
    assert.equal(await unpacked(digits), text);
  }
  assert.ok((await packed("imul rax, rbx\n".repeat(5000))).length < 1000);
});

test("an incomplete one is refused", async () => {
  const digits = await packed("imul rax, rbx; add rcx, rdx; xor rdi, rsi");
  await assert.rejects(unpacked(digits.slice(0, 12)));
  await assert.rejects(unpacked("§"));
});
