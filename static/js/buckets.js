// The bucket picture: pointing at a scheme, in the picture or in its list, lights all of its µops. Where a picture is
// wider than its place, a line below says so.

let lit = null;

function light(letter) {
  if (letter === lit) return;
  lit = letter;
  for (const picture of document.querySelectorAll("[data-buckets] svg")) {
    picture.classList.toggle("has-lit", Boolean(letter));
    for (const block of picture.querySelectorAll("[data-letter]")) block.classList.toggle("lit", block.dataset.letter === letter);
  }
  for (const row of document.querySelectorAll("tr[data-letter]")) row.classList.toggle("lit", row.dataset.letter === letter);
}

// Heard on the whole page: a filter replaces pictures and lists.
const letterOf = (event) => event.target.closest?.("[data-letter]")?.dataset.letter ?? null;
for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, (event) => light(letterOf(event)));
document.documentElement.addEventListener("pointerleave", () => light(null));
document.addEventListener("focusout", () => light(null));

function watchWidths() {
  for (const area of document.querySelectorAll("[data-buckets]")) {
    const hint = area.parentElement.querySelector("[data-scroll-hint]");
    new ResizeObserver(() => { hint.hidden = area.scrollWidth <= area.clientWidth; }).observe(area);
  }
}
document.addEventListener("refreshed", watchWidths);
watchWidths();
