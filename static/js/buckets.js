// The bucket picture: pointing at a scheme, in the picture or in its list, lights all of its µops. Where a picture is
// wider than its place, a line below says so.

const pictures = document.querySelectorAll("[data-buckets] svg");

function light(letter) {
  for (const picture of pictures) {
    picture.classList.toggle("has-lit", Boolean(letter));
    for (const block of picture.querySelectorAll("[data-letter]")) block.classList.toggle("lit", block.dataset.letter === letter);
  }
  for (const row of document.querySelectorAll("tr[data-letter]")) row.classList.toggle("lit", row.dataset.letter === letter);
}

const letterOf = (event) => event.target.closest("[data-letter]")?.dataset.letter ?? null;
for (const area of document.querySelectorAll("[data-buckets], [data-letters]")) {
  area.addEventListener("pointerover", (event) => light(letterOf(event)));
  area.addEventListener("pointerleave", () => light(null));
  area.addEventListener("focusin", (event) => light(letterOf(event)));
  area.addEventListener("focusout", () => light(null));
}

for (const area of document.querySelectorAll("[data-buckets]")) {
  const hint = area.parentElement.querySelector("[data-scroll-hint]");
  const tell = () => { hint.hidden = area.scrollWidth <= area.clientWidth; };
  new ResizeObserver(tell).observe(area);
}
