// The bins of a heat map as a user walks them: [row, column] pairs of those that hold experiments.

const DIRECTIONS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [-1, 0], ArrowUp: [1, 0] };

/** All bins with at least one experiment; `counts` by row (predicted) and column (measured). */
export function filledBins(counts) {
  return counts.flatMap((row, r) => row.flatMap((count, c) => (count ? [[r, c]] : [])));
}

/** The bin that holds most, null where all are empty: where the walk starts. */
export function fullestBin(counts) {
  const count = ([r, c]) => counts[r][c];
  return filledBins(counts).reduce((best, bin) => (best && count(best) >= count(bin) ? best : bin), null);
}

/**
 * Where an arrow key leads from a bin: to the nearest column in its direction, and there to the nearest row. Left and
 * right thus visit every column, up and down every bin of one. Null for other keys and at the end.
 */
export function nextBin(counts, [row, column], key) {
  const direction = DIRECTIONS[key];
  if (!direction) return null;
  const [up, right] = direction;
  const distance = ([r, c]) => [Math.abs(c - column), Math.abs(r - row)];
  const nearer = (a, b) => distance(a)[0] - distance(b)[0] || distance(a)[1] - distance(b)[1];
  return filledBins(counts).filter(([r, c]) => (r - row) * up + (c - column) * right > 0).sort(nearer)[0] ?? null;
}

/** "row,column" of the address as a bin of these counts, null for anything else. */
export function binOf(text, counts) {
  const found = /^(\d+),(\d+)$/.exec(text ?? "")?.slice(1).map(Number);
  return found && counts[found[0]]?.[found[1]] !== undefined ? found : null;
}
