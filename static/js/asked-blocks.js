// The page of a question about basic blocks: whatever is told by the runs that it shows rings, and the server draws it.

import { LiveJournal } from "./live.js";
import { throttled } from "./plots.js";
import { fetchPage, replaceRegion } from "./regions.js";

const RINGING = ["answers", "discovery", "result", "state", "waiting"];
const EVERY = 400; // ms
const REGIONS = ["asked-state", "answers", "explain", "memory"];
const { runs } = JSON.parse(document.getElementById("asked-record").textContent);

/** What somebody works in stays as it is until they leave it. */
function isUsed(id) {
  const region = document.getElementById(id);
  const selection = document.getSelection();
  return !region || region.contains(document.activeElement) || (!selection.isCollapsed && region.contains(selection.anchorNode));
}

let waiting = new Set();

async function refresh() {
  const fresh = await fetchPage(window.location.href).catch(() => null);
  if (!fresh) return;
  waiting = new Set(REGIONS.filter((id) => (isUsed(id) ? true : !replaceRegion(fresh, id, { keep: true }) && false)));
}
const refreshSoon = throttled(refresh, EVERY);

for (const { socket, since, final } of runs) {
  const journal = new LiveJournal(socket, {
    since,
    onEvent: ({ kind, payload }) => {
      if (!RINGING.includes(kind)) return;
      if (kind === "state" && final.includes(payload.state)) journal.stop();
      refreshSoon();
    },
  });
  journal.start();
}
document.addEventListener("focusout", () => { if (waiting.size) refreshSoon(); });
