// The page of a campaign while it goes on: the events of its run ring, and the server draws what they changed.

import { LiveJournal } from "./live.js";
import { throttled } from "./plots.js";
import { fetchPage, replaceRegion } from "./regions.js";

const RINGING = ["counters", "batch", "discovery", "progress", "phase", "families", "result", "state"];
const EVERY = 1000; // ms
const record = JSON.parse(document.getElementById("campaign-record").textContent);
const title = document.title;
let connection = ["connecting", 0];

const CONNECTION = {
  connecting: () => "…",
  live: () => "live",
  closed: () => "",
  waiting: (seconds) => `connection lost; the campaign goes on. Next attempt in ${seconds} s`,
  refused: () => "not live: you are no longer logged in. Load the page again",
  gone: () => "not live: its run has been deleted",
};

function showConnection() {
  const sign = document.querySelector("[data-connection]");
  if (!sign) return;
  const [state, seconds] = connection;
  sign.dataset.state = state;
  sign.textContent = CONNECTION[state](seconds);
}

/** A table that somebody works in stays as it is until they leave it. */
function isUsed(id) {
  const region = document.getElementById(id);
  const selection = document.getSelection();
  return !region || region.contains(document.activeElement) || (!selection.isCollapsed && region.contains(selection.anchorNode));
}

async function refresh() {
  const fresh = await fetchPage(window.location.href).catch(() => null);
  if (!fresh) return;
  for (const id of ["campaign-standing", "campaign-counters", "campaign-chart"]) replaceRegion(fresh, id);
  for (const id of ["campaign-actions", "campaign-answer", "campaign-discoveries"]) if (!isUsed(id)) replaceRegion(fresh, id);
  showConnection();
}
const refreshSoon = throttled(refresh, EVERY);

const journal = new LiveJournal(record.socket, {
  onEvent: ({ kind, payload }) => {
    if (!RINGING.includes(kind)) return;
    if (kind === "state" && record.final.includes(payload.state)) {
      document.title = `${payload.state} · ${title}`;
      journal.stop();
    }
    refreshSoon();
  },
  onConnection: (...told) => {
    connection = told;
    showConnection();
  },
});
journal.start();
