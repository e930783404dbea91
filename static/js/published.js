// A published page: sorts, filters and searches its tables, and remembers light or dark. A classic script that
// needs nothing else, since it also runs in a page that is opened from a file.
(function () {
  const root = document.documentElement;
  const field = /** @type {HTMLInputElement} */ (document.getElementById("find"));
  const found = document.getElementById("found");
  const theme = document.getElementById("theme");
  const tables = [...document.querySelectorAll("table")];
  const others = [...document.querySelectorAll("[data-found]")];

  /** What a cell is sorted by: a number where it has one, nothing known last. */
  function valueOf(cell, kind) {
    const text = cell.dataset.n || cell.textContent;
    if (kind !== "number" && kind !== "uops") return text;
    const number = Number(text.replaceAll(",", "").replace("−", "-").replace("∞", "Infinity"));
    return text === "" || Number.isNaN(number) ? null : number;
  }

  function compare(one, other, sign) {
    if (one === null || other === null) return (one === null ? 1 : 0) - (other === null ? 1 : 0);
    if (typeof one === "number") return sign * (one - other);
    return sign * one.localeCompare(other, "en", { numeric: true });
  }

  function sort(table, head) {
    const place = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [valueOf(row.cells[place], head.dataset.kind), row]);
    rows.sort((one, other) => compare(one[0], other[0], down ? -1 : 1));
    body.append(...rows.map((pair) => pair[1]));
  }

  /** Whether a cell has what is chosen: one of its ports, or all of its text. */
  function holds(cell, wanted) {
    const ports = cell.querySelectorAll("i");
    if (cell.classList.contains("uops")) return [...ports].some((port) => port.textContent === wanted);
    return cell.textContent === wanted;
  }

  function fits(text, words) {
    return words.every((word) => (word.startsWith("-") && word.length > 1 ? !text.includes(word.slice(1)) : text.includes(word)));
  }

  function filter() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const table of tables) {
      const bar = /** @type {HTMLElement} */ (document.querySelector(`[data-table="${table.id}"]`));
      const chosen = [...bar.querySelectorAll("select")].filter((each) => each.value);
      let rows = 0;
      for (const row of table.tBodies[0].rows) {
        const wanted = chosen.every((each) => holds(row.cells[Number(each.dataset.place)], each.value));
        row.hidden = !wanted || !fits(row.textContent.toLowerCase(), words);
        if (!row.hidden) rows += 1;
      }
      const all = table.tBodies[0].rows.length;
      bar.querySelector(".count").textContent = rows === all ? `${all} rows` : `${rows} of ${all} rows`;
      shown += rows;
    }
    for (const each of others) {
      const entry = /** @type {HTMLElement} */ (each);
      entry.hidden = !fits(entry.textContent.toLowerCase(), words);
      if (!entry.hidden) shown += 1;
    }
    found.textContent = words.length ? `${shown} found` : "";
  }

  function remembered(value) {
    try {
      if (value) localStorage.setItem("theme", value);
      return localStorage.getItem("theme");
    } catch {
      return null; // storage is forbidden here: the system's theme it is
    }
  }

  function isDark() {
    if (root.dataset.theme) return root.dataset.theme === "dark";
    return window.matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function show(value) {
    if (value === "light" || value === "dark") root.dataset.theme = value;
    theme.textContent = isDark() ? "Light" : "Dark";
  }

  for (const table of tables) {
    for (const head of table.tHead.rows[0].cells) head.addEventListener("click", () => sort(table, head));
  }
  for (const bar of document.querySelectorAll(".filters")) {
    bar.removeAttribute("hidden");
    bar.addEventListener("change", filter);
  }
  if (tables.length || others.length) field.hidden = false;
  theme.hidden = false;
  field.addEventListener("input", filter);
  theme.addEventListener("click", () => show(remembered(isDark() ? "light" : "dark") || (isDark() ? "light" : "dark")));
  show(remembered(""));
  filter();
})();
