// The list of runs follows what happens: news of any run lets the table be asked for again, at most every 2 s.

import { LiveJournal } from "./live.js";
import { throttled } from "./plots.js";
import { fetchPage, replaceRegion } from "./regions.js";
import "./ticking.js";

async function refresh() {
  const fresh = await fetchPage(window.location.href);
  const inUse = document.getElementById("results").contains(document.activeElement);
  if (fresh && !inUse) replaceRegion(fresh, "results");
}

const connection = document.querySelector("[data-connection]");
if (connection) {
  const soon = throttled(() => refresh().catch(() => {}), 2000);
  const words = { connecting: "…", live: "live", waiting: "reconnecting…", refused: "not live: log in again", closed: "" };
  const journal = new LiveJournal("/ws/runs/", {
    onEvent: soon,
    onConnection: (state) => {
      connection.dataset.state = state;
      connection.textContent = words[state];
      if (state === "live") soon();
    },
  });
  journal.start();
}
