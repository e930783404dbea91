// Regions of a page that the server draws: asked for again with the whole page, then put in the old one's place.

/** The page at `url` as a document, or null where the server refuses. */
export async function fetchPage(url, options = {}) {
  const answer = await fetch(url, { headers: { Accept: "text/html" }, ...options });
  return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
}

/** Take the element with this id from a fetched page; returns it, or null where either page has none. */
export function replaceRegion(page, id) {
  const [shown, fresh] = [document.getElementById(id), page.getElementById(id)];
  if (!shown || !fresh) return null;
  shown.replaceWith(fresh);
  return fresh;
}
