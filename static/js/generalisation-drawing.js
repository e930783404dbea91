// One step of a generalisation as SVG: a sign, what was tried, and what came of it. Taken ones have a double border.

const SVG = "http://www.w3.org/2000/svg";
const LETTER = 6.75; // px, width of a letter of the label
const SMALL = 5.9; // and of the line below it

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function clip(text, width, letter) {
  const most = Math.max(4, Math.floor(width / letter));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** A text on one or two lines, broken at a blank; what does not fit is left out. */
function wrapped(text, width) {
  const most = Math.floor(width / LETTER);
  const at = text.lastIndexOf(" ", most);
  return text.length <= most || at < 1 ? [clip(text, width, LETTER)] : [text.slice(0, at), clip(text.slice(at + 1), width, LETTER)];
}

export function kindOf(node) {
  if (node.kind === "start") return "start";
  return node.taken ? "taken" : "rejected";
}

/** The name of a step, in words. */
export function spoken(node) {
  return `${described(node)}${node.result ? "; this is the discovery" : ""}`;
}

function described(node) {
  const implied = node.implied.length ? `; the same blocks without: ${node.implied.join("; ")}` : "";
  if (node.kind === "start") return `Start: the block itself${node.reason ? `; ${node.reason}` : ""}${implied}`;
  const against = node.against ? `; ${node.against}` : "";
  return `Step ${node.number}, ${node.taken ? "taken" : "rejected"}: ${node.words}; ${node.reason}${against}${implied}`;
}

function counted(node) {
  const implied = node.implied.length ? ` · ${node.implied.length} more implied` : "";
  return `${node.result ? "the discovery · " : ""}${looked(node)}${implied}`;
}

function looked(node) {
  if (node.against) return node.against;
  if (!node.n) return node.reason || (node.taken ? "no block looked at" : "");
  if (node.interesting === null) return `${node.n} blocks`;
  return `${node.interesting} of ${node.n} interesting`;
}

/** The shapes of a step within its box. `folded`: rejected steps that are hidden. */
export function shapes(node, box, folded = 0) {
  const kind = kindOf(node);
  const { x, y, width, height } = box;
  const sign = { start: "▸", taken: "✓", rejected: "✕" }[kind];
  const room = width - 40 - (folded ? 34 : 0);
  const label = wrapped(node.kind === "start" ? "the block itself" : node.label, room);
  const top = y + (label.length > 1 ? 15 : 20);
  const parts = [svg("rect", { class: `outer ${kind}`, x, y, width, height, rx: 5 })];
  if (kind === "taken") parts.push(svg("rect", { class: "inner taken", x: x + 3, y: y + 3, width: width - 6, height: height - 6, rx: 3 }));
  parts.push(
    svg("text", { class: `sign ${kind}`, x: x + 12, y: y + height / 2 + 5 }, sign),
    ...label.map((line, at) => svg("text", { class: "label", x: x + 30, y: top + 13 * at }, line)),
    svg("text", { class: "count", x: x + 30, y: top + 13 * label.length }, clip(counted(node), room, SMALL)),
  );
  if (folded) parts.push(svg("text", { class: "folded", x: x + width - 9, y: y + height / 2 + 4, "text-anchor": "end" }, `+${folded} ✕`));
  // what they say, the name of the step says in words
  for (const part of parts) part.setAttribute("aria-hidden", "true");
  return parts;
}
