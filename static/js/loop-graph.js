// The sections of an answer about a loop: dependencies to take away, evidence of instructions, changes to compare.

const HOVER_DELAY = 200; // ms until the evidence of what is pointed at is fetched
const LEAVE_DELAY = 250; // ms to get from an instruction into its evidence

const change = (fields) => document.dispatchEvent(new CustomEvent("loop-change", { detail: fields }));

/** The keys of the dependencies that were taken away, with this one taken away or restored. */
function toggled(key) {
  const keys = new Set([...document.querySelectorAll("#loop-removed [data-edge-link]")].map((link) => link.dataset.edgeLink).filter(Boolean));
  if (!key) return "";
  if (!keys.delete(key)) keys.add(key);
  return [...keys].join(",");
}

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
  const target = /** @type {Element} */ (event.target);
  const link = /** @type {HTMLElement | SVGElement} */ (target.closest("[data-edge][href], [data-edge-link], [data-loop-changes], [data-keep]"));
  if (!link) return;
  event.preventDefault();
  const { edge, edgeLink, loopChanges } = link.dataset;
  if (edge !== undefined) change({ without: toggled(edge) });
  else if (edgeLink !== undefined) change({ without: toggled(edgeLink) });
  else if (loopChanges !== undefined) change(Object.fromEntries(new URLSearchParams(loopChanges)));
  else change({ before: /** @type {HTMLTextAreaElement} */ (document.getElementById("loop-text")).value });
});
document.addEventListener("change", (event) => {
  const field = /** @type {HTMLSelectElement} */ (event.target);
  if (field.matches("[data-loop-field]")) change({ [field.name]: field.value });
});
document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.key === " " && target.matches("a[role=button]")) {
    event.preventDefault();
    target.click();
  }
});

// An instruction of the graph lights the dependencies that it has.
function light(node) {
  const number = node?.dataset.node;
  for (const graph of document.querySelectorAll(".loop-graph svg")) {
    graph.classList.toggle("has-lit", number !== undefined);
    for (const edge of graph.querySelectorAll("[data-edge]")) {
      edge.classList.toggle("lit", number !== undefined && (edge.dataset.from === number || edge.dataset.to === number));
    }
  }
}
document.addEventListener("pointerover", (event) => light(/** @type {Element} */ (event.target).closest(".loop-graph [data-node]")));

// The evidence of an instruction, beside it: one at a time, fetched once.
const texts = new Map(); // address → HTML, as a promise
let shown = null;
let timer = null;

function evidenceOf(address) {
  if (!texts.has(address)) {
    const text = fetch(address, { headers: { Accept: "text/html" } }).then((answer) => {
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      return answer.text();
    });
    text.catch(() => texts.delete(address));
    texts.set(address, text);
  }
  return texts.get(address);
}

function hide() {
  clearTimeout(timer);
  shown?.box.remove();
  shown = null;
}

async function show(link) {
  if (shown?.link === link) return;
  hide();
  const box = document.createElement("div");
  box.className = "loop-evidence";
  box.popover = "manual";
  box.setAttribute("role", "note");
  box.setAttribute("aria-label", `Evidence of ${link.textContent}`);
  box.textContent = "…";
  shown = { link, box };
  link.after(box);
  box.showPopover();
  place(link, box);
  try {
    const text = await evidenceOf(link.dataset.evidence);
    const page = new DOMParser().parseFromString(text, "text/html");
    box.replaceChildren(...page.body.childNodes);
  } catch (failure) {
    box.textContent = `No evidence: ${/** @type {Error} */ (failure).message}.`;
  }
  place(link, box);
}

/** Below the instruction where there is room, else above it. */
function place(link, box) {
  const around = link.getBoundingClientRect();
  const below = around.bottom + box.offsetHeight + 8 <= window.innerHeight;
  box.style.left = `${Math.max(8, Math.min(around.left, window.innerWidth - box.offsetWidth - 8))}px`;
  box.style.top = `${Math.max(8, below ? around.bottom + 4 : around.top - box.offsetHeight - 4)}px`;
}

function soon(action, delay) {
  clearTimeout(timer);
  timer = setTimeout(action, delay);
}

const instructionAt = (event) => /** @type {HTMLElement} */ (/** @type {Element} */ (event.target).closest("[data-evidence]"));
const isInside = (event) => shown?.box.contains(/** @type {Node} */ (event.target)) ?? false;

document.addEventListener("pointerover", (event) => {
  const link = instructionAt(event);
  if (link) soon(() => show(link), HOVER_DELAY);
  else if (isInside(event)) clearTimeout(timer);
  else if (shown && !shown.link.parentElement.contains(document.activeElement)) soon(hide, LEAVE_DELAY);
  else if (!shown) clearTimeout(timer);
});
document.addEventListener("focusin", (event) => {
  const link = instructionAt(event);
  if (link) soon(() => show(link), HOVER_DELAY);
  else if (!isInside(event)) hide();
});
document.addEventListener("focusout", (event) => {
  const cell = shown?.link.parentElement;
  if (cell?.contains(/** @type {Node} */ (event.target)) && !cell.contains(/** @type {Node} */ (event.relatedTarget))) soon(hide, LEAVE_DELAY);
});
document.addEventListener("click", (event) => {
  const link = instructionAt(event);
  const touches = /** @type {PointerEvent} */ (event).pointerType === "touch";
  if (!link || !touches || shown?.link === link) return;
  event.preventDefault(); // the first touch shows the evidence, the second one follows the link
  show(link);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !shown) return;
  const { link, box } = shown;
  if (box.contains(document.activeElement)) link.focus();
  hide();
});
document.addEventListener("scroll", () => shown && place(shown.link, shown.box), { capture: true, passive: true });
document.addEventListener("loop-answered", hide);
