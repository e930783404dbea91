// Regions of a page that the server draws: asked for again with the whole page, then put in the old one's place.

/** The page at `url` as a document, or null where the server refuses. */
export async function fetchPage(url, options = {}) {
  const answer = await fetch(url, { headers: { Accept: "text/html" }, ...options });
  return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
}

/**
 * Take the element with this id from a fetched page; returns it, or null where either page has none. Whatever has
 * the focus in it keeps it if it has an id of its own.
 */
export function replaceRegion(page, id) {
  const [shown, fresh] = [document.getElementById(id), page.getElementById(id)];
  if (!shown || !fresh) return null;
  const focused = shown.contains(document.activeElement) ? document.activeElement.id : "";
  shown.replaceWith(fresh);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  return fresh;
}
