// A discovery's page: a click on a step of the tree shows its blocks beside it, and the address names the step.

import { drawing } from "./generalisation-export.js";
import { download } from "./saving.js";
import { GeneralisationTree } from "./generalisation-tree.js";
import { plan } from "./polling.js";

const root = document.querySelector("[data-tree]");
const model = JSON.parse(document.getElementById(root.dataset.tree).textContent);
let running = null;

/** The part about a step at this address takes the place of the one shown. */
async function load(url) {
  running?.abort();
  running = new AbortController();
  const answer = await fetch(url, { signal: running.signal, headers: { Accept: "text/html", "X-Part": "step" } });
  if (!answer.ok) throw new Error(`${answer.status}`);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("step");
  const shown = document.getElementById("step");
  const folds = [...shown.querySelectorAll("details[data-keep]")].map((fold) => fold.open);
  fresh.querySelectorAll("details[data-keep]").forEach((fold, at) => { fold.open = folds[at] ?? fold.open; });
  shown.replaceWith(fresh);
  tree.mark(Number(fresh.dataset.step));
  plan();
}

function open(url, { keep = false } = {}) {
  if (!keep) window.history.pushState({ step: true }, "", url);
  load(url).catch((error) => { if (error.name !== "AbortError") window.location.assign(url); });
}

const tree = new GeneralisationTree(root, model, {
  onSelect(number) {
    const url = new URL(window.location.href);
    url.searchParams.set("step", number);
    url.searchParams.delete("page");
    url.hash = "";
    open(url);
  },
});

window.addEventListener("popstate", () => open(window.location.href, { keep: true }));

// Sorting and paging of the blocks stay within their part of the page.
document.addEventListener("click", (event) => {
  const link = /** @type {Element} */ (event.target).closest("#step a.sort, #step .pager a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const url = new URL(window.location.href);
  url.search = new URL(link.href).search;
  if (!url.searchParams.has("step")) url.searchParams.set("step", document.getElementById("step").dataset.step);
  open(url);
});

document.addEventListener("click", (event) => {
  const link = /** @type {Element} */ (event.target).closest("[data-step-link]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  tree.go(Number(link.dataset.stepLink));
});

// The choice of predictors takes a moment to find out: it is asked for when it is wanted.
document.addEventListener("toggle", async (event) => {
  const target = /** @type {HTMLDetailsElement} */ (event.target);
  if (!target.matches?.("[data-load]") || !target.open || target.dataset.loaded) return;
  target.dataset.loaded = "1";
  const answer = await fetch(target.dataset.load, { headers: { "X-Part": "form" } });
  if (!answer.ok) return; // the link to the same form stays
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  target.querySelector("[data-load-into]").replaceChildren(...page.body.children);
}, true);

document.querySelector("[data-tree-export]").addEventListener("click", () => {
  const title = document.querySelector("h1").textContent.trim();
  download(drawing(model, title), `${title.replace(/\W+/g, "-").toLowerCase()}.svg`);
});
