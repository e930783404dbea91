// Regions of a page that the server draws: asked for again with the whole page, then put in the old one's place.

/** The page at `url` as a document, or null where the server refuses. */
export async function fetchPage(url, options = {}) {
  const answer = await fetch(url, { headers: { Accept: "text/html" }, ...options });
  return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
}

const CONTROLS = "input:not([type=hidden]), select, textarea";

/** Whether somebody has changed a control since the server drew it. */
function isChanged(control) {
  if (control.matches("select")) return control.selectedIndex !== Math.max(0, [...control.options].findIndex((option) => option.defaultSelected));
  return control.value !== control.defaultValue || control.checked !== control.defaultChecked;
}

/** Take over what somebody has chosen in a region, as far as the fresh one offers it too, and which folds are open. */
function takeOver(shown, fresh) {
  for (const control of shown.querySelectorAll(CONTROLS)) {
    const other = control.id && isChanged(control) ? fresh.querySelector(`#${CSS.escape(control.id)}`) : null;
    if (!other) continue;
    if (control.matches("[type=checkbox], [type=radio]")) other.checked = control.checked;
    else if (!control.matches("select") || [...other.options].some((option) => option.value === control.value)) other.value = control.value;
  }
  const [folds, freshFolds] = [shown, fresh].map((region) => region.querySelectorAll("details"));
  if (folds.length === freshFolds.length) freshFolds.forEach((fold, at) => { fold.open ||= folds[at].open; });
}

/**
 * Take the element with this id from a fetched page; returns it, or null where either page has none. Whatever has
 * the focus in it keeps it if it has an id of its own. `keep`: what somebody has chosen in it stays chosen.
 */
export function replaceRegion(page, id, { keep = false } = {}) {
  const [shown, fresh] = [document.getElementById(id), page.getElementById(id)];
  if (!shown || !fresh) return null;
  if (keep) takeOver(shown, fresh);
  const focused = shown.contains(document.activeElement) ? document.activeElement.id : "";
  shown.replaceWith(fresh);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  return fresh;
}
