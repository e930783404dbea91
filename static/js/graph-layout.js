// The tripartite graph without a browser: what is connected, what is shown, and where it is at a scroll position.
//
// A model is what inference.figures.tripartite gives: `ports` (names), `uops` ({mask, ports, label}) and `groups`
// ({schemes: [text], uops: [{uop, count}], usage, hidden, facets}), each list in the order from top to bottom. With two mappings in
// it, groups have a `kind` as well, and their µops the number `there` beside `count`. A node is named by one letter and
// its index: "g12" a group, "s12.3" the fourth scheme in it, "u4" a µop, "p0" a port.

export const ROW = { scheme: 23, uop: 27, port: 40 };

/** Words of a search box: all must occur in a scheme's text, those with a leading "-" must not. */
export function matcher(query) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word && word !== "-");
  return (text) => {
    const folded = text.toLowerCase();
    return words.every((word) => (word.startsWith("-") ? !folded.includes(word.slice(1)) : folded.includes(word)));
  };
}

/** Who is connected to whom, both ways, once per model. */
export class Connections {
  constructor(model) {
    this.model = model;
    this.groupsOf = model.uops.map(() => []);
    this.uopsOf = model.ports.map(() => []);
    model.groups.forEach((group, index) => group.uops.forEach(({ uop }) => this.groupsOf[uop].push(index)));
    model.uops.forEach((uop, index) => uop.ports.forEach((port) => this.uopsOf[port].push(index)));
  }

  /** The ids of all nodes and edges on a path through `node`; an edge is "g1-u2" or "u2-p3". */
  paths(node) {
    const lit = new Set([node]);
    const index = parseInt(node.slice(1), 10);
    const downFromGroup = (group) => {
      lit.add(`g${group}`);
      for (const { uop } of this.model.groups[group].uops) {
        lit.add(`g${group}-u${uop}`);
        downFromUop(uop);
      }
    };
    const downFromUop = (uop) => {
      lit.add(`u${uop}`);
      for (const port of this.model.uops[uop].ports) lit.add(`u${uop}-p${port}`).add(`p${port}`);
    };
    const upFromUop = (uop) => {
      lit.add(`u${uop}`);
      for (const group of this.groupsOf[uop]) lit.add(`g${group}`).add(`g${group}-u${uop}`);
    };
    if (node[0] === "g" || node[0] === "s") downFromGroup(index);
    if (node[0] === "u") { downFromUop(index); upFromUop(index); }
    if (node[0] === "p") {
      for (const uop of this.uopsOf[index]) { lit.add(`u${uop}-p${index}`); upFromUop(uop); }
    }
    return lit;
  }

  /** Nodes next to `node` in the column to its left (-1) or right (1), top to bottom. */
  neighbours(node, side) {
    const index = parseInt(node.slice(1), 10);
    if (side > 0 && (node[0] === "g" || node[0] === "s")) {
      return this.model.groups[index].uops.map(({ uop }) => `u${uop}`);
    }
    if (side > 0 && node[0] === "u") return this.model.uops[index].ports.map((port) => `p${port}`);
    if (side < 0 && node[0] === "u") return this.groupsOf[index].map((group) => `g${group}`);
    if (side < 0 && node[0] === "p") return this.uopsOf[index].map((uop) => `u${uop}`);
    return [];
  }
}

/** Whether a scheme's places among the values of the facets are those that are wanted: {name: value}, "-" for the empty one. */
function facetMatcher(model, wanted) {
  const places = Object.entries(model.facets ?? {}).map(([name, values]) => {
    const value = wanted[name];
    return value ? values.indexOf(value === "-" ? "" : value) : null;
  });
  return (found) => places.every((place, position) => place === null || found[position] === place);
}

/**
 * The rows of the three columns under a search, chosen facets and a kind of difference, a pin that hides everything
 * else, and opened groups. Returns {columns: [[node, …] × 3], matches: Map(group index → matching scheme indices)}.
 */
export function shownRows(model, { query = "", only = null, open = new Set(), facets = {}, kind = "" }) {
  const matches = new Map();
  const fits = matcher(query);
  const suits = facetMatcher(model, facets);
  const left = [];
  const uops = new Set();
  model.groups.forEach((group, index) => {
    if ((only && !only.has(`g${index}`)) || (kind && group.kind !== kind)) return;
    const members = [];
    group.schemes.forEach((text, member) => {
      if ((!query || fits(text)) && (!group.facets || suits(group.facets[member]))) members.push(member);
    });
    if (!members.length) return;
    matches.set(index, members);
    left.push(`g${index}`);
    if (open.has(index) && group.schemes.length > 1) members.forEach((member) => left.push(`s${index}.${member}`));
    group.uops.forEach(({ uop }) => uops.add(uop));
  });
  const middle = model.uops.map((_, index) => index)
    .filter((index) => uops.has(index) && (!only || only.has(`u${index}`))).map((index) => `u${index}`);
  const right = model.ports.map((_, index) => `p${index}`);
  return { columns: [left, middle, right], matches };
}

/**
 * Positions of the rows. A column that is taller than the view scrolls, each at its own pace so that all reach
 * their ends together; a shorter one is spread over the view. `height` is that of the tallest column.
 */
export class Positions {
  constructor(columns, view) {
    const heights = [ROW.scheme, ROW.uop, ROW.port].map((row, column) => row * columns[column].length);
    this.columns = columns;
    this.height = Math.max(...heights, ROW.port);
    this.view = Math.min(view, Math.max(this.height, 160));
    this.place = new Map();
    this.rows = [];
    columns.forEach((nodes, column) => {
      const extent = Math.max(heights[column], column === 0 ? 0 : this.view);
      const step = nodes.length ? extent / nodes.length : 0;
      const row = column === 0 ? ROW.scheme : step;
      this.rows.push(row);
      nodes.forEach((node, index) => this.place.set(node, { column, index, y: (index + 0.5) * row }));
    });
    this.travel = heights.map((height, column) => Math.max(0, (column === 0 ? height : Math.max(height, this.view)) - this.view));
  }

  /** y in the view of a node when the scroll bar stands at `scroll` px; undefined for a node that is not shown. */
  at(node, scroll) {
    const place = this.place.get(node);
    if (!place) return undefined;
    return place.y - this.travel[place.column] * this.share(scroll);
  }

  /** The nodes of all columns that are in the view or up to `margin` px beyond it. */
  visible(scroll, margin) {
    return this.columns.map((nodes, column) => {
      const top = this.travel[column] * this.share(scroll);
      const first = Math.max(0, Math.floor((top - margin) / this.rows[column]));
      return nodes.slice(first, Math.ceil((top + this.view + margin) / this.rows[column]));
    });
  }

  share(scroll) {
    const range = this.height - this.view;
    return range > 0 ? Math.min(1, Math.max(0, scroll / range)) : 0;
  }

  /** The scroll position that brings a node to the middle of the view, as far as that is possible. */
  scrollTo(node) {
    const place = this.place.get(node);
    const travel = place ? this.travel[place.column] : 0;
    if (!travel) return null;
    return Math.min(1, Math.max(0, (place.y - this.view / 2) / travel)) * (this.height - this.view);
  }
}

/** An S-shaped path between two columns. */
export function curve(x1, y1, x2, y2) {
  const middle = (x1 + x2) / 2;
  return `M${x1},${y1}C${middle},${y1} ${middle},${y2} ${x2},${y2}`;
}
