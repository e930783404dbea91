// Where the steps of a generalisation stand: those taken down the middle, the rejected ones beside the step that they
// would have led on from. Pure functions: numbers in, numbers out.

const BOX = 48; // px, height of a step
const GAP = 12; // px between two of them
const SIDE = 26; // px between the middle and the rejected ones, where their lines run
const PAD = 10; // px around everything
const NARROW = 620; // px of width below which the rejected ones stand below their step

/** Steps in groups: each that was taken with those rejected after it, as indices into `nodes`. */
export function groupsOf(nodes) {
  const groups = [];
  nodes.forEach((node, index) => {
    if (node.taken || !groups.length) groups.push({ index, rejected: [] });
    else groups.at(-1).rejected.push(index);
  });
  return groups;
}

/**
 * The boxes in the order in which the keyboard goes through them: {index, parent, group, x, y, width, height}. `closed`
 * has the indices of taken steps whose rejected ones are hidden, `only` hides all of them.
 */
export function layOut(groups, { width, closed, only }) {
  const narrow = width < NARROW;
  const alone = groups.every((group) => group.rejected.length < 2); // then the rejected ones need one side only
  const middle = narrow ? width - 2 * PAD : Math.min(320, width * (alone ? 0.5 : 0.38));
  const left = alone || narrow ? PAD : (width - middle) / 2;
  const side = width - 2 * PAD - SIDE - (narrow ? 0 : alone ? middle : (width + middle) / 2 - PAD);
  const boxes = [];
  let y = PAD;
  groups.forEach((group, at) => {
    boxes.push({ index: group.index, parent: null, group: at, x: left, y, width: middle, height: BOX });
    const shown = only || closed.has(group.index) ? [] : group.rejected;
    shown.forEach((index, place) => {
      const right = place % 2 === 0;
      const row = narrow ? place + 1 : Math.floor(place / 2);
      const x = narrow ? PAD + SIDE : right ? left + middle + SIDE : PAD;
      boxes.push({ index, parent: group.index, group: at, x, y: y + row * (BOX + GAP), width: side, height: BOX, right: right || narrow });
    });
    const rows = narrow ? shown.length + 1 : Math.max(1, Math.ceil(shown.length / 2));
    y += rows * (BOX + GAP);
  });
  return { boxes, width, height: y + PAD - GAP, narrow };
}

/** The line to a box from the one before it: down the middle, or out to the side. */
export function lineTo(box, from, narrow) {
  if (box.parent === null) {
    const x = from.x + from.width / 2;
    return narrow ? `M${from.x + 12},${from.y + from.height}V${box.y}` : `M${x},${from.y + from.height}V${box.y}`;
  }
  const y = box.y + box.height / 2;
  if (narrow) return `M${from.x + 12},${from.y + from.height}V${y}H${box.x}`;
  const start = from.y + from.height / 2;
  const [edge, end] = box.right ? [from.x + from.width, box.x] : [from.x, box.x + box.width];
  const rail = (edge + end) / 2;
  return y === start ? `M${edge},${y}H${end}` : `M${edge},${start}H${rail}V${y}H${end}`;
}

/** The boxes between two heights. */
export function visible(boxes, top, bottom) {
  return boxes.filter((box) => box.y + box.height >= top && box.y <= bottom);
}
