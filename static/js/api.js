// The reference of the API: a search that hides what has not all of its words, and addresses that open an operation.

const field = document.getElementById("api-search");
const found = document.getElementById("api-found");
const nothing = document.getElementById("api-nothing");
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

// An operation that was opened is in the address: it can be shared.
for (const operation of operations) {
  operation.addEventListener("toggle", () => {
    if (operation.open) window.history.replaceState(null, "", `#${operation.id}`);
  });
}
field.addEventListener("input", search);
window.addEventListener("hashchange", openNamed);
openNamed();
search();
