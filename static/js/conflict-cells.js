// The cells of a square matrix as a user walks them: [row, column].

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

/** The next cell in the direction of an arrow key, null at the edge and for other keys; row 0 is at the top. */
export function nextCell(size, [row, column], key) {
  const step = STEPS[key];
  if (!step) return null;
  const cell = [row + step[0], column + step[1]];
  return cell.every((place) => place >= 0 && place < size) ? cell : null;
}

/**
 * The cell of two rows by their ids, null where one is not there.
 * @returns {[number, number] | null}
 */
export function cellOf(ids, first, second) {
  const [row, column] = [first, second].map((id) => ids.indexOf(Number(id)));
  return row < 0 || column < 0 ? null : [row, column];
}

/**
 * Where the numbers of classes stand beside the matrix: in the middle of the rows of each, without those that have
 * no room. `sizes`: rows of each class, one after the other; `apart`: the fewest rows between two numbers.
 */
export function classTicks(sizes, apart) {
  const ticks = [];
  let begin = 0;
  sizes.forEach((size, index) => {
    const place = Math.floor(begin + (size - 1) / 2);
    if (!ticks.length || place - ticks[ticks.length - 1].place >= apart) ticks.push({ place, number: String(index + 1) });
    begin += size;
  });
  return ticks;
}

/** The names of all rows, that of the first one of each class behind the number of the class. */
export function numberedNames(names, sizes) {
  const firsts = new Map();
  let begin = 0;
  sizes.forEach((size, index) => {
    firsts.set(begin, index + 1);
    begin += size;
  });
  return names.map((name, place) => (firsts.has(place) ? `${firsts.get(place)} ${name}` : name));
}

/** What a cell says: both schemes, and how much of the quicker one is added, in per cent. */
export function cellText([first, second], percent) {
  const added = percent === null || percent === undefined ? "not measured" : `${percent} % of the quicker one is added`;
  return `${first} and ${second}: ${added}`;
}
