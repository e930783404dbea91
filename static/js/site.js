// Conveniences on every page; each page also works without them.

const THEMES = ["system", "light", "dark"];
const THEME_ICONS = { system: "auto", light: "light", dark: "dark" };

function storedTheme() {
  try {
    const theme = localStorage.getItem("theme");
    return THEMES.includes(theme) ? theme : "system";
  } catch {
    return "system";
  }
}

function applyTheme(button, theme) {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  button.setAttribute("aria-label", `Theme: ${theme}`);
  button.title = `Theme: ${theme}`;
  const use = button.querySelector("use");
  use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${THEME_ICONS[theme]}`));
}

for (const button of document.querySelectorAll("[data-theme-toggle]")) {
  applyTheme(button, storedTheme());
  button.addEventListener("click", () => {
    const theme = THEMES[(THEMES.indexOf(storedTheme()) + 1) % THEMES.length];
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // not remembered, but applied
    }
    applyTheme(button, theme);
  });
}

// Menus close with Escape and when something else is pressed.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  }
  const control = event.ctrlKey || event.metaKey;
  const slash = event.key === "/" && !control && !(/** @type {Element} */ (event.target)).closest("input, textarea, select, [data-editor]");
  const site = control && !event.altKey && event.key.toLowerCase() === "k";
  if (slash || site) {
    // The filter of the page goes before the search over the site, which has a key of its own.
    const search = (slash && document.querySelector("input[data-search]")) || siteSearch();
    if (search) {
      event.preventDefault();
      search.focus();
      search.select?.();
    }
  }
});

// "?" shows the keys: those of every page, then what its pictures say of theirs.
const KEYS = [["/", "search or filter this page"], ["Ctrl K", "search everything"], ["Esc", "close a menu"], ["?", "these keys"]];

function element(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function showKeys() {
  const dialog = document.createElement("dialog");
  dialog.className = "keys";
  dialog.setAttribute("aria-label", "Keys of this page");
  const list = document.createElement("dl");
  for (const [key, meaning] of KEYS) {
    const term = document.createElement("dt");
    term.append(...key.split(" ").map((part) => element("kbd", part)));
    list.append(term, element("dd", meaning));
  }
  dialog.append(element("h2", "Keys"), list);
  for (const keys of document.querySelectorAll("[id$='-keys']")) {
    const sentence = document.createElement("p");
    sentence.append(...[...keys.childNodes].map((node) => node.cloneNode(true)));
    dialog.append(sentence);
  }
  const close = element("button", "Close");
  close.addEventListener("click", () => dialog.close());
  dialog.append(close);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  const isTyping = (/** @type {Element} */ (event.target)).closest("input, textarea, select, [contenteditable], [data-editor]");
  if (event.key !== "?" || isTyping || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  showKeys();
});

// The search over the site: its own page has a large one; on a narrow screen the bar has only a link to that.
function siteSearch() {
  const fields = [...document.querySelectorAll("[data-site-search]")];
  return fields.reverse().find((field) => field.offsetParent) ?? document.querySelector(".search-link");
}

for (const field of document.querySelectorAll("[data-site-search]")) {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (field.value.trim()) field.form.requestSubmit();
  });
}
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

// On a narrow screen a row of tabs begins where the current one is.
for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
  const row = tab.parentElement;
  row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}

// A filter form applies itself: its answer replaces the region it names, and the address follows.
async function refresh(form, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") query.append(name, String(value));
  const url = `${form.getAttribute("action") || location.pathname}?${query}`;
  const answer = await fetch(url, { signal, headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const region = document.getElementById(form.dataset.live);
  const fresh = page.getElementById(form.dataset.live);
  // a bad request is a page too: it says in the region what is wrong with the filter
  if (!fresh || !(answer.ok || answer.status === 400)) {
    location.assign(url);
    return;
  }
  region.replaceWith(fresh);
  document.dispatchEvent(new Event("refreshed"));
  history.replaceState(null, "", url);
}

const pending = new WeakMap(); // form → what is under way for it; forms come and go with their regions

function apply(form, delay) {
  const state = pending.get(form) ?? {};
  pending.set(form, state);
  clearTimeout(state.timer);
  state.timer = setTimeout(() => {
    state.running?.abort();
    state.running = new AbortController();
    refresh(form, state.running.signal).catch((error) => {
      if (error.name !== "AbortError") form.submit();
    });
  }, delay);
}

document.addEventListener("input", (event) => {
  const { form } = /** @type {HTMLInputElement} */ (event.target); // of a field elsewhere on the page too, which names its form
  if (form?.matches("[data-live]")) apply(form, 250);
});
document.addEventListener("submit", (event) => {
  if (!(/** @type {Element} */ (event.target)).matches("form[data-live]")) return;
  event.preventDefault();
  apply(event.target, 0);
});

// Upload: the file field fills the drop zone, so a drop needs no script; this lists what was chosen.
function sizeText(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} kB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

for (const zone of document.querySelectorAll(".dropzone")) {
  const input = zone.querySelector("input[type=file]");
  const list = document.getElementById(zone.dataset.list);
  for (const kind of ["dragenter", "dragover"]) zone.addEventListener(kind, () => zone.classList.add("over"));
  for (const kind of ["dragleave", "drop"]) zone.addEventListener(kind, () => zone.classList.remove("over"));
  input.addEventListener("change", () => {
    list.replaceChildren(
      ...[...input.files].map((file) => {
        const row = document.createElement("li");
        const name = document.createElement("span");
        name.className = "mono";
        name.textContent = file.name;
        const size = document.createElement("span");
        size.textContent = sizeText(file.size);
        row.append(name, size);
        return row;
      }),
    );
    if (input.files.length) zone.closest("form").requestSubmit();
  });
}

// A form is sent once: a second press of its button would do the work twice.
document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (event.defaultPrevented || form.method !== "post") return;
  const buttons = form.querySelectorAll("button:not([type=button])");
  setTimeout(() => buttons.forEach((button) => (button.disabled = true)), 0);
});
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const button of document.querySelectorAll("button[disabled]")) button.disabled = false;
});

// A row of a list leads where its first cell does; links, buttons and selected text in it stay what they are.
const leading = (row) => row?.querySelector(":scope > th[scope=row] > a[href]");
document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const row = event.target.closest("main tbody tr");
  if (!row || event.defaultPrevented || event.target.closest("a, button, input, select, textarea, summary, label")) return;
  const link = leading(row);
  if (!link || String(window.getSelection())) return;
  if (event.ctrlKey || event.metaKey) window.open(link.href, "_blank", "noopener");
  else link.click();
});
