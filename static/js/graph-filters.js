// What the tripartite graph is filtered by: words, facts of schemes, kinds of differences; all of it in the address.

const PAUSE = 120; // ms after the last key

export class Filters {
  /** `changed` is called when the user has changed something. */
  constructor(changed) {
    this.changed = changed;
    this.search = document.querySelector("[data-graph-search]");
    this.kind = document.querySelector("[data-graph-kind]");
    this.facets = [...document.querySelectorAll("[data-graph-facet]")];
  }

  /** Take over what the address says, as far as there are such choices. */
  read(parameters) {
    if (this.search) this.search.value = parameters.get("find") ?? "";
    this.choose(this.kind, parameters.get("kind"));
    for (const facet of this.facets) this.choose(facet, parameters.get(facet.dataset.graphFacet));
  }

  choose(select, value) {
    if (!select || !value) return;
    select.value = value;
    if (select.selectedIndex < 0) select.value = "";
  }

  /** {name in the address: value}, "" for nothing. */
  get state() {
    const facets = this.facets.map((select) => [select.dataset.graphFacet, select.value]);
    return { find: this.search?.value.trim() ?? "", kind: this.kind?.value ?? "", ...Object.fromEntries(facets) };
  }

  /** The same as `shownRows` wants it. */
  get wanted() {
    const { find, kind, ...facets } = this.state;
    return { query: find, kind, facets };
  }

  listen() {
    this.search?.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(this.changed, PAUSE);
    });
    for (const select of [this.kind, ...this.facets]) select?.addEventListener("change", this.changed);
  }
}
