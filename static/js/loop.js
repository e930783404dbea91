// The page "Explain a loop": the answer follows the code and the settings, and the address follows both.

import { MAX_CODE_LENGTH, codeOfFragment, loopAddress } from "./loop-address.js";
import { CodeEditor } from "./loop-editor.js";
import { replaceRegion } from "./regions.js";

const DELAY = 100; // ms after the last key
const REGIONS = ["loop-pieces", "loop-problem", "loop-answer"];

const form = /** @type {HTMLFormElement} */ (document.getElementById("loop-form"));
const status = document.getElementById("loop-status");
const field = /** @type {HTMLTextAreaElement} */ (document.getElementById("loop-text"));

/** The fields of the question that are not in the form: a piece, and what-if choices of the answer's sections. */
const changes = new URLSearchParams(window.location.search);
for (const name of new FormData(form).keys()) changes.delete(name);

let timer = null;
let running = null;

function question() {
  const fields = new URLSearchParams(changes);
  for (const [name, value] of new FormData(form)) fields.set(name, String(value));
  return fields;
}

const addressOf = (fields) => loopAddress(form.getAttribute("action"), fields);

function problemsOf(page) {
  const record = page.getElementById("loop-problems");
  return record ? JSON.parse(record.textContent) : [];
}

function showPending(isPending) {
  document.getElementById("loop-answer")?.toggleAttribute("data-pending", isPending);
}

/** Show what the server answers; where the code cannot be read, the last answer stays, greyed. */
function show(page) {
  const hasAnswer = page.getElementById("loop-answer") !== null;
  status.textContent = (page.querySelector("#loop-problem p") ?? page.getElementById("loop-verdict"))?.textContent ?? "";
  editor.showProblems(problemsOf(page));
  const cpu = page.getElementById("loop-answer")?.dataset.cpu;
  for (const id of REGIONS) replaceRegion(page, id, { keep: true });
  const select = /** @type {HTMLSelectElement} */ (form.elements.namedItem("cpu"));
  if (cpu) select.value = cpu; // code of another instruction set has another CPU
  showPending(!hasAnswer);
  if (hasAnswer) document.dispatchEvent(new Event("loop-answered"));
}

async function ask() {
  clearTimeout(timer);
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const fields = question();
  const slow = setTimeout(() => showPending(true), 400);
  try {
    const answer = await fetch(form.dataset.answer, { method: "POST", body: fields, signal, headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.getElementById("loop-problem")) throw new Error(`the server answered ${answer.status}`);
    show(page);
    fields.set("cpu", question().get("cpu"));
    window.history.replaceState(null, "", await addressOf(fields));
    linkBlocks(fields);
  } catch (failure) {
    const error = /** @type {Error} */ (failure);
    if (error.name === "AbortError") return;
    document.getElementById("loop-problem").textContent = `No answer: ${error.message}. Type to try again.`;
    showPending(true);
  } finally {
    clearTimeout(slow);
  }
}

/** Let the page of many predictors have the same code. */
function linkBlocks(fields) {
  const link = /** @type {HTMLAnchorElement} */ (document.getElementById("loop-blocks"));
  const code = fields.get("code") ?? "";
  const isa = document.getElementById("loop-answer")?.dataset.isa ?? "x86-64";
  link.search = code.length <= MAX_CODE_LENGTH ? `${new URLSearchParams({ isa, code })}` : "";
}

function askSoon() {
  clearTimeout(timer);
  timer = setTimeout(ask, DELAY);
}

function change(fields) {
  for (const [name, value] of Object.entries(fields)) {
    const control = form.elements.namedItem(name);
    if (control === field) editor.text = value;
    else if (control instanceof HTMLSelectElement) control.value = value;
    else changes.set(name, value);
  }
  ask();
}

const editor = new CodeEditor(field, () => {
  changes.delete("without"); // names instructions by their places
  changes.delete("isa"); // the new text shows its own
  askSoon();
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
form.addEventListener("change", ask);
document.addEventListener("loop-change", (event) => change(/** @type {CustomEvent} */ (event).detail));

const result = document.querySelector(".loop-result");
document.addEventListener("click", (event) => {
  const link = /** @type {Element} */ (event.target).closest("[data-piece], [data-without]");
  if (!(link instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  change(link.dataset.piece ? { piece: link.dataset.piece, without: "" } : { without: link.dataset.without });
});

// Lines of the code that a row of the answer is about.
for (const kind of ["mouseover", "focusin"]) {
  result.addEventListener(kind, (event) => {
    const row = /** @type {Element} */ (event.target).closest("[data-line]");
    editor.mark(row instanceof HTMLElement ? [Number(row.dataset.line)] : []);
  });
}
result.addEventListener("mouseleave", () => editor.mark([]));

const share = document.getElementById("loop-share");
share.addEventListener("click", async () => {
  const label = share.querySelector("[data-label]");
  const address = new URL(await addressOf(question()), window.location.href).href;
  window.history.replaceState(null, "", address);
  label.textContent = (await copyText(address)) ? "Address copied" : "Copy the address above";
  setTimeout(() => { label.textContent = "Share"; }, 2500);
});

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

try {
  const code = await codeOfFragment();
  if (code === null) {
    editor.showProblems(problemsOf(document));
    linkBlocks(question());
    document.dispatchEvent(new Event("loop-answered"));
  } else {
    editor.text = code;
  }
} catch {
  document.getElementById("loop-problem").textContent = "The code in the address is incomplete: copy the link again.";
}
