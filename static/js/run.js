// The run page while it runs: events of the journal move the stepper, the bar, the curves and the log. What the
// server drew is the starting point, and the journal is asked for everything after it.

import { Cloud } from "./cloud.js";
import { FitnessCurve } from "./curves.js";
import { Figure } from "./figures.js";
import { Front } from "./front.js";
import { HeatMap } from "./heatmap.js";
import { LiveJournal } from "./live.js";
import { ModelCheck } from "./model-check.js";
import { Notice } from "./notifying.js";
import { throttled } from "./plots.js";
import { fetchPage, replaceRegion } from "./regions.js";
import { rate } from "./texts.js";
import "./ticking.js";

const LOG_LINES = 400;
const HEAD_EVERY = 5000; // ms; the time left, and whether a wish was heard
const page = document.querySelector("[data-run-page]");
const record = JSON.parse(document.getElementById("run-record").textContent);
const whole = new Intl.NumberFormat("en");
const title = document.title;
const SIGNS = { done: "✓", failed: "✕", cancelled: "–" };
const notice = new Notice(document.querySelector("[data-notify]"), window.location.pathname, page.dataset.title);

const one = (hook, root = page) => root.querySelector(`[data-${hook}]`);

function text(element, value) {
  if (element && element.textContent !== value) element.textContent = value;
}

// ---- pictures

const heatMap = one("heat-map") ? new HeatMap(one("heat-map")) : null;
const curve = one("curve") ? new FitnessCurve(one("curve"), record.curve) : null;
const drawHeatMap = throttled(() => heatMap.show(record.heat_map));
// The event rings; the picture itself is made by the server, as for a run that has ended.
const refreshHeatMap = throttled(async () => {
  const answer = await fetch(record.heat_map_url).catch(() => null);
  if (!answer?.ok) return;
  record.heat_map = await answer.json();
  if (!record.heat_map) return;
  drawHeatMap();
  if (record.heat_map.lengths.data[0].x.length) lengths.show(record.heat_map.lengths);
});
const drawCurve = throttled(() => curve.draw());
if (heatMap && record.heat_map) drawHeatMap();
if (curve?.last !== undefined) drawCurve();

const cloud = one("cloud") ? new Cloud(one("cloud"), record.cloud, record.frames) : null;
const drawCloud = throttled(() => cloud.draw());
if (cloud?.frames.length) drawCloud();
const sweeps = one("sweeps") ? new Figure(one("sweeps")) : null;
const lengths = one("lengths") ? new Figure(one("lengths")) : null;
if (lengths && record.heat_map?.lengths.data[0].x.length) lengths.show(record.heat_map.lengths);
const front = one("front") ? new Front(one("front")) : null;
const model = document.getElementById("model-figures") ? new ModelCheck() : null;
// Figures that come with regions of the page.
function readFigures() {
  front?.read();
  const script = document.getElementById("sweeps-figure");
  if (script) sweeps.show(JSON.parse(script.textContent));
}
readFigures();

// ---- what the server draws better: state, error, buttons, and of a run that has ended everything it told

async function refreshHead() {
  const fresh = await fetchPage(window.location.href);
  if (!fresh) return;
  const ended = record.final.includes(record.state);
  const regions = ["run-failure", "run-verdict", "run-stages", "run-parts", "run-state", "run-actions", "run-search", "run-blocks", ...(ended ? ["run-log", "run-notice"] : [])];
  const asks = document.querySelector("#run-actions details[open]") && !ended; // a menu that somebody reads stays
  for (const id of regions) if (!(asks && id === "run-actions")) replaceRegion(fresh, id);
  showEvolved(fresh);
  showExplained(fresh);
  showModel(fresh);
  if (ended) showEndOfLog();
}
// A search by counter-examples is drawn by the server, live as afterwards.
const refreshSearch = throttled(async () => {
  const fresh = await fetchPage(window.location.href).catch(() => null);
  if (fresh) replaceRegion(fresh, "run-search");
}, 400);
// What an evolution came to: drawn by the server, not more often than one can read it. What somebody has opened or
// works in stays as it is.
const EVOLVED = ["run-card", "run-residuals", "run-lengths", "run-sweeps", "run-classes", "front-table"];
function showUnused(fresh, ids) {
  for (const id of ids) {
    const shown = document.getElementById(id);
    if (shown && !shown.contains(document.activeElement) && !shown.querySelector("details[open]")) replaceRegion(fresh, id);
  }
}
function showEvolved(fresh) {
  showUnused(fresh, EVOLVED);
  readFigures();
}
const refreshEvolved = throttled(async () => {
  const fresh = await fetchPage(window.location.href).catch(() => null);
  if (fresh) showEvolved(fresh);
}, 3000);
// What was measured before there is a mapping.
const refreshMeasured = throttled(async () => {
  if (!document.getElementById("run-measured")) return;
  const fresh = await fetchPage(window.location.href).catch(() => null);
  if (fresh) replaceRegion(fresh, "run-measured");
}, 1500);
// So is explainable inference; its list may be searched meanwhile.
function showExplained(fresh) {
  for (const id of ["run-remarks", "run-tally", "run-funnel", "run-blocking", "run-reasons"]) replaceRegion(fresh, id);
  showUnused(fresh, ["left-out"]);
}
const refreshExplained = throttled(async () => {
  if (!document.getElementById("run-funnel")) return;
  const fresh = await fetchPage(window.location.href).catch(() => null);
  if (fresh) showExplained(fresh);
}, 1000);
// A check of the model: its list may be searched meanwhile.
function showModel(fresh) {
  if (!model) return;
  model.take(fresh);
  showUnused(fresh, ["model-list"]);
}
const refreshModel = throttled(async () => {
  const fresh = await fetchPage(window.location.href).catch(() => null);
  if (fresh) showModel(fresh);
}, 2000);
const refreshHeadSoon = throttled(() => refreshHead().catch(() => {}));

// ---- one function per kind of event

function showProgress({ done, total, rate: speed, unit }) {
  const bar = one("bar");
  one("progress").hidden = false;
  if (total) {
    bar.max = total;
    bar.value = done;
  } else bar.removeAttribute("value");
  text(one("progress-text"), total ? `${whole.format(done)} of ${whole.format(total)} ${unit}` : `${whole.format(done)} ${unit}`);
  if (record.state === "running") text(one("progress-rate"), rate(speed, unit));
  document.title = total ? `${Math.floor((100 * done) / total)} % · ${title}` : title;
}

/** Why nothing comes, in words; nothing once it does again. */
function showWaiting(reason) {
  const line = one("waiting-for");
  line.hidden = !reason;
  text(line, reason && reason[0].toUpperCase() + reason.slice(1));
}

// Steps and their times are drawn by the server, which knows how long earlier runs took.
function showPhase({ index, labels }) {
  one("bar").removeAttribute("value");
  text(one("progress-rate"), "");
  text(one("progress-text"), labels[index - 1]);
  document.title = title;
  refreshHeadSoon();
}

function showCount(name, value) {
  const entry = page.querySelector(`[data-count="${name}"]`);
  entry.hidden = false;
  text(entry.querySelector("dd"), value);
}

function addLog(level, line, at) {
  const log = one("log");
  const follows = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
  const item = document.createElement("li");
  item.className = level;
  const time = document.createElement("time");
  time.dateTime = at;
  time.textContent = at.slice(11, 19);
  time.title = `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
  const message = document.createElement("span");
  message.textContent = line;
  item.append(time, message);
  log.append(item);
  while (log.children.length > LOG_LINES) log.firstElementChild.remove();
  if (follows) showEndOfLog();
}

function showEndOfLog() {
  const log = one("log");
  log.scrollTop = log.scrollHeight;
}

function showGeneration(generation) {
  curve.add(generation);
  drawCurve();
}

const LISTENERS = {
  ...Object.fromEntries(["seeded", "ports", "candidates", "decision", "contradiction", "undecided"].map((kind) => [kind, refreshSearch])),
  ...Object.fromEntries(["funnel", "excluded", "bottleneck", "blocking", "verdicts"].map((kind) => [kind, refreshExplained])),
  ...Object.fromEntries(["model_alone", "model_mixes", "model_orders"].map((kind) => [kind, refreshModel])),
  progress: showProgress,
  phase: (payload, at) => {
    showPhase(payload);
    showWaiting("");
    addLog("info", `stage ${payload.index} of ${payload.labels.length}: ${payload.labels[payload.index - 1]}`, at);
    refreshExplained();
  },
  generation: (payload) => { if (curve) showGeneration(payload); },
  heat_map: () => {
    if (!heatMap) return;
    refreshHeatMap();
    refreshEvolved();
    if (!document.getElementById("run-measured")?.hidden) refreshMeasured();
  },
  cloud: (payload) => {
    if (!cloud) return;
    cloud.add(payload);
    drawCloud();
  },
  sweep: refreshEvolved,
  front: refreshEvolved,
  log: ({ level, text: line }, at) => {
    addLog(level, line, at);
    if (level === "warning") refreshExplained();
  },
  experiments: (counts) => {
    if (!record.heat_map) refreshMeasured();
    showCount("experiments", `${whole.format(counts.settled)} of ${whole.format(counts.asked)}`);
    text(page.querySelector('[data-count="failed"] dt'), "unsettled" in counts ? "Failed" : "Not settled");
    for (const state of ["unsettled", "contended", "failed"]) {
      showCount(state, whole.format(counts[state] ?? 0));
      page.querySelector(`[data-count="${state}"]`).hidden = !counts[state]; // of this stage, not of the one before
    }
  },
  waiting: ({ text: reason }) => showWaiting(reason),
  congruence: ({ schemes, classes }, at) => {
    addLog("info", `${schemes} schemes in ${classes} classes of equal behaviour`, at);
    refreshEvolved();
  },
  result: refreshHeadSoon,
  state: ({ state, error }, at) => {
    record.state = state;
    showWaiting("");
    addLog(state === "failed" ? "warning" : "info", error ? `${state}: ${error}` : state, at);
    refreshHeadSoon();
    one("progress").hidden = state === "queued" || record.final.includes(state);
    if (state !== "running") text(one("progress-rate"), "");
    if (record.final.includes(state)) {
      document.title = `${SIGNS[state] ?? ""} ${state} · ${title}`;
      notice.ended(state);
      journal.stop();
    }
  },
};

// ---- the connection

function showConnection(state, seconds) {
  const words = {
    connecting: "…", live: "live", closed: "",
    waiting: `connection lost; the run goes on. Next attempt in ${seconds} s`,
    refused: "not live: you are no longer logged in. Load the page again",
    gone: "not live: this run has been deleted",
  };
  const sign = one("connection");
  sign.dataset.state = state;
  sign.hidden = state === "closed";
  text(sign, words[state]);
}

const journal = new LiveJournal(record.socket, {
  since: record.since,
  onEvent: ({ kind, payload, at }) => LISTENERS[kind]?.(payload, at),
  onConnection: showConnection,
});
if (record.live) {
  if (record.progress.total && record.state === "running") showProgress(record.progress);
  journal.start();
  setInterval(() => { if (!journal.stopped && !document.hidden) refreshHeadSoon(); }, HEAD_EVERY);
} else showConnection("closed");
showEndOfLog();
