// The address of the page that explains a loop: it holds the whole question.

import { packed, unpacked } from "./packing.js";

export const MAX_CODE_LENGTH = 3000; // characters that go into a query; longer code is packed into the fragment
const PACKED = "#code=";

/** The address at `page` for the fields of a form; empty ones are left out. */
export async function loopAddress(page, fields) {
  const query = new URLSearchParams(fields);
  query.delete("csrfmiddlewaretoken");
  for (const [name, value] of [...query]) if (value === "") query.delete(name);
  const code = query.get("code") ?? "";
  if (code.length <= MAX_CODE_LENGTH) return `${page}?${query}`;
  query.delete("code");
  return `${page}?${query}${PACKED}${await packed(code)}`;
}

/** The code in the fragment of this page's address, null without any; throws for an incomplete one. */
export async function codeOfFragment() {
  const { hash } = window.location;
  return hash.startsWith(PACKED) ? unpacked(hash.slice(PACKED.length)) : null;
}
