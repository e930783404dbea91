// What is pinned in the tripartite graph, in words and with links; with nothing pinned, how much each port is used.

const SHOWN = 60; // names listed at once

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function plural(n, what) {
  return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
}

export class GraphDetails {
  /** `graph` has a `model`, its `connections` and `pin(node)`; `place` is the element to fill. */
  constructor(graph, place) {
    this.graph = graph;
    this.place = place;
  }

  show(node) {
    const index = node ? parseInt(node.slice(1), 10) : 0;
    const parts = { g: () => this.group(index), s: () => this.member(index, Number(node.split(".")[1])), u: () => this.uop(index), p: () => this.port(index) };
    this.place.replaceChildren(...(node ? [...parts[node[0]](), this.unpin()] : this.overview()));
  }

  schemesOf(groups) {
    return groups.reduce((sum, group) => sum + this.graph.model.groups[group].schemes.length, 0);
  }

  portChip(port) {
    const chip = element("span", { className: `port port-${port % 12}`, textContent: this.graph.model.ports[port] });
    return chip;
  }

  chips(ports) {
    return element("span", { className: "uop-ports" }, ...ports.map((port) => this.portChip(port)));
  }

  link(node, ...content) {
    const button = element("button", { type: "button", className: "link" }, ...content);
    button.addEventListener("click", () => this.graph.pin(node));
    return button;
  }

  unpin() {
    const button = element("button", { type: "button", className: "quiet small", textContent: "Unpin" });
    button.addEventListener("click", () => this.graph.pin(null));
    return button;
  }

  list(items) {
    const shown = items.slice(0, SHOWN).map((item) => element("li", {}, ...item));
    if (items.length > SHOWN) shown.push(element("li", { className: "muted", textContent: `and ${items.length - SHOWN} more` }));
    return element("ul", {}, ...shown);
  }

  usage(group) {
    const parts = [];
    const rows = group.uops.map((each) => this.uopRow(each.uop, each.count));
    if (group.kind && group.kind !== "equal") parts.push(this.bothUsages(group));
    else if (rows.length) parts.push(this.list(rows));
    else if (!group.hidden) parts.push(element("p", { className: "muted", textContent: "No µop of it needs a port." }));
    if (group.hidden) parts.push(element("p", { className: "muted", textContent: `Hidden, since the issue slots always last as long: ${group.hidden}.` }));
    return element("div", {}, ...parts);
  }

  uopRow(uop, count) {
    return [element("span", { className: "times", textContent: `${count}× ` }), this.link(`u${uop}`, this.chips(this.graph.model.uops[uop].ports))];
  }

  /** What two mappings say, one below the other. */
  bothUsages(group) {
    const side = (name, numberOf, lacks) => {
      const rows = group.uops.filter((each) => numberOf(each)).map((each) => this.uopRow(each.uop, numberOf(each)));
      const nothing = lacks ? "not described" : "no µop of it needs a port";
      return element("div", {}, element("h3", { textContent: name }), rows.length ? this.list(rows) : element("p", { className: "muted", textContent: nothing }));
    };
    return element("div", {}, side("Here", (each) => each.count, group.kind === "only-second"), side("There", (each) => each.there, group.kind === "only-first"));
  }

  schemeLinks(group) {
    return group.schemes.map((text, member) => [
      element("a", { href: `/schemes/${group.ids[member]}/`, className: "mono", textContent: text }),
      ...(group.conflicts[member] ?? []).map((words) => element("span", { className: "sub conflict", textContent: words })),
    ]);
  }

  group(index) {
    const group = this.graph.model.groups[index];
    const many = group.schemes.length > 1;
    return [
      element("h2", { textContent: many ? plural(group.schemes.length, "scheme") : group.schemes[0] }),
      element("p", { className: "muted", textContent: many ? "with equal µops:" : "µops and the ports each can use:" }),
      this.usage(group), this.list(this.schemeLinks(group)),
    ];
  }

  member(index, member) {
    const group = this.graph.model.groups[index];
    const others = group.schemes.length - 1;
    const parts = [element("h2", { textContent: group.schemes[member] }), this.usage(group), this.list([this.schemeLinks(group)[member]])];
    if (others) parts.push(element("p", {}, this.link(`g${index}`, `${plural(others, "other scheme")} with equal µops`)));
    return parts;
  }

  uop(index) {
    const { model, connections } = this.graph;
    const groups = connections.groupsOf[index];
    return [
      element("h2", {}, "µop on ", this.chips(model.uops[index].ports)),
      ...(model.uops[index].hidden ? [element("p", { className: "muted", textContent: "Hidden: the issue slots always last as long, no experiment can show it." })] : []),
      element("p", { className: "muted", textContent: `used by ${plural(this.schemesOf(groups), "scheme")} in ${plural(groups.length, "group")}:` }),
      this.list(groups.map((group) => this.groupLink(group))),
    ];
  }

  groupLink(group) {
    const { schemes } = this.graph.model.groups[group];
    const more = schemes.length > 1 ? [element("span", { className: "muted", textContent: ` and ${schemes.length - 1} more` })] : [];
    return [this.link(`g${group}`, element("span", { className: "mono", textContent: schemes[0] })), ...more];
  }

  port(index) {
    const { model, connections } = this.graph;
    const uops = connections.uopsOf[index];
    const groups = new Set(uops.flatMap((uop) => connections.groupsOf[uop]));
    const there = model.there?.[index];
    return [
      element("h2", {}, "Port ", this.portChip(index)),
      ...(there === undefined ? [] : [element("p", { className: "muted", textContent: there ? `called ${there} there` : "without a partner there" })]),
      element("p", { className: "muted", textContent: `open to ${plural(uops.length, "kind")} of µops, of ${plural(this.schemesOf([...groups]), "scheme")}:` }),
      this.list(uops.map((uop) => [this.link(`u${uop}`, this.chips(model.uops[uop].ports)), element("span", { className: "muted", textContent: ` ${plural(this.schemesOf(connections.groupsOf[uop]), "scheme")}` })])),
    ];
  }

  overview() {
    const { model, connections } = this.graph;
    const rows = model.ports.map((_, port) => {
      const groups = new Set(connections.uopsOf[port].flatMap((uop) => connections.groupsOf[uop]));
      return [this.link(`p${port}`, this.portChip(port)), element("span", { textContent: ` ${plural(this.schemesOf([...groups]), "scheme")}` })];
    });
    return [
      element("h2", { textContent: "Who can use which port" }),
      element("p", { className: "muted", textContent: "Pin a scheme, a µop or a port to see what it is connected to." }),
      this.list(rows),
    ];
  }
}
