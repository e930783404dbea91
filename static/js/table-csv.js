// Every table can be taken away as CSV, as it is filtered and sorted: where its page offers no file, this does, and
// follows the ways on to the pages behind it. Whatever a spreadsheet would take for a formula becomes plain text.

import { download } from "./saving.js";
import { cell } from "./texts.js";

const MAX_PAGES = 200;
const product = document.querySelector("[data-citation]");

/** What a cell shows, its parts parted. */
function textOf(element) {
  const copy = element.cloneNode(true);
  for (const part of copy.querySelectorAll("button, form, svg, details > summary ~ details")) part.remove();
  for (const part of copy.querySelectorAll("br, li")) part.before(" ");
  for (const part of copy.querySelectorAll(".sub")) part.prepend(" | ");
  return copy.textContent;
}

function lines(rows, base) {
  return rows.map((row) => {
    const address = row.querySelector("a[href]")?.getAttribute("href");
    const cells = [...row.cells].flatMap((each) => [cell(textOf(each)), ...Array(each.colSpan - 1).fill("")]);
    return [...cells, address ? new URL(address, base).href : ""].join(",");
  });
}

function headOf(table) {
  const row = table.tHead?.rows[table.tHead.rows.length - 1];
  if (!row) return [];
  return [[...[...row.cells].flatMap((each) => [cell(textOf(each)), ...Array(each.colSpan - 1).fill("")]), "address"].join(",")];
}

const tablesOf = (page) => [...page.querySelectorAll("main table")];
const rowsOf = (table) => [...table.tBodies].flatMap((body) => [...body.rows]);

/** The rows of the pages behind this one; none where several tables share a pager. */
async function furtherRows(table, place, tell) {
  const found = [];
  let next = table.closest("section, #results, main").querySelector("nav.pager a[rel=next]")?.href;
  for (let page = 2; next && page <= MAX_PAGES; page += 1) {
    tell(`page ${page} …`);
    const answer = await fetch(next, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(`page ${page} could not be read (${answer.status})`);
    const read = new DOMParser().parseFromString(await answer.text(), "text/html");
    const same = tablesOf(read)[place];
    if (!same) break;
    found.push(...lines(rowsOf(same), location.href));
    const link = read.querySelector("nav.pager a[rel=next]");
    next = link ? new URL(link.getAttribute("href"), next).href : null;
  }
  return found;
}

async function save(table, button) {
  const place = tablesOf(document).indexOf(table);
  const label = button.textContent;
  button.disabled = true;
  try {
    const behind = await furtherRows(table, place, (text) => { button.textContent = text; });
    const head = [`# made by: ${product.dataset.product}`, `# page: ${location.href.replaceAll(",", "%2C")}`, `# cite: ${product.dataset.citation}`];
    const rows = [...lines(rowsOf(table), location.href), ...behind];
    const name = document.title.replace(/ · pmweb$/, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    download(`${[...head, ...headOf(table), ...rows].join("\n")}\n`, `${name || "table"}.csv`, "text/csv;charset=utf-8");
    button.textContent = label;
  } catch (error) {
    button.textContent = `CSV: ${error instanceof Error ? error.message : error}`;
  } finally {
    button.disabled = false;
  }
}

/** Whether a file beside the table has the same and more. */
function hasFile(table) {
  const part = table.closest("section, #results");
  return Boolean((part ?? document.querySelector("main")).querySelector("a[href*=csv]"));
}

function offer() {
  for (const table of document.querySelectorAll("main table")) {
    const wrap = table.closest(".table-wrap") ?? table;
    if (wrap.nextElementSibling?.matches(".table-file") || !rowsOf(table).length || hasFile(table)) continue;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "link small", textContent: "CSV" });
    button.title = "This table as a file, with all of its pages";
    button.addEventListener("click", () => save(table, button));
    const place = Object.assign(document.createElement("p"), { className: "table-file" });
    place.append(button);
    wrap.after(place);
  }
}

let waiting = false;
new MutationObserver(() => {
  if (waiting) return;
  waiting = true;
  setTimeout(() => { waiting = false; offer(); }, 400);
}).observe(document.getElementById("main"), { childList: true, subtree: true });
offer();
