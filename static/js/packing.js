// Texts packed for the fragment of an address: deflated, in the alphabet of addresses.

async function through(bytes, transform) {
  const stream = new Blob([bytes]).stream().pipeThrough(transform);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function packed(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const digits = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return digits.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The text again; throws for an incomplete one. */
export async function unpacked(digits) {
  const binary = atob(digits.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
}
