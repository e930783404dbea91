// The reference of the API: a search that hides what has not all of its words, and addresses that open an operation.

const field = document.getElementById("api-search");
const found = document.getElementById("api-found");
const nothing = document.getElementById("api-nothing");
const groups = [...document.querySelectorAll("[data-of]")];
const entries = [...document.querySelectorAll("[data-entry]")];
const operations = [...document.querySelectorAll("#operations details")];

function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const operation of operations) {
    operation.hidden = !words.every((word) => operation.dataset.words.includes(word));
    if (!operation.hidden) shown += 1;
  }
  for (const group of document.querySelectorAll("[data-group]")) {
    group.hidden = !group.querySelector("details:not([hidden])");
  }
  // The sidebar has what the page has; while somebody searches, all of its groups are open.
  const hidden = new Set(operations.filter((operation) => operation.hidden).map((operation) => operation.id));
  for (const entry of entries) entry.hidden = hidden.has(entry.dataset.entry);
  for (const group of groups) {
    group.hidden = !group.querySelector("[data-entry]:not([hidden])");
    if (words.length) group.querySelector("details").open = true;
  }
  nothing.hidden = shown > 0;
  found.textContent = words.length ? `${shown} of ${operations.length} operations` : "";
}

function openNamed() {
  const named = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) {
    named.open = true;
    named.scrollIntoView();
  }
}

/** Marks in the sidebar what is open in the page, and opens its group there. */
function mark(name) {
  for (const entry of entries) {
    const link = entry.querySelector("a");
    if (entry.dataset.entry !== name) {
      link.removeAttribute("aria-current");
      continue;
    }
    link.setAttribute("aria-current", "true");
    entry.closest("details").open = true;
    if (window.matchMedia("(min-width: 801px)").matches) link.scrollIntoView({ block: "nearest" });
  }
}

// An operation that was opened is in the address: it can be shared.
for (const operation of operations) {
  operation.addEventListener("toggle", () => {
    if (!operation.open) return;
    window.history.replaceState(null, "", `#${operation.id}`);
    mark(operation.id);
  });
}
field.addEventListener("input", search);
window.addEventListener("hashchange", openNamed);
openNamed();
search();
