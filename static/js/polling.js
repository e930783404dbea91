// Regions that follow the server without a socket: every element with an id and `data-poll`, the seconds between two
// looks, is replaced by its fresh self as long as the page is in sight. `data-poll-url` asks another address than the
// page's own. A region in use (with the focus or a selection in it) waits, and one that has not changed is left alone.

import { fetchPage } from "./regions.js";

const SLOWEST = 30; // seconds between attempts while the server does not answer
let misses = 0;
let timer = null;

function inUse(region) {
  const selection = document.getSelection();
  const selects = selection && !selection.isCollapsed && region.contains(selection.anchorNode);
  return selects || region.contains(document.activeElement);
}

function replace(page, region) {
  const fresh = page.getElementById(region.id);
  if (!fresh && !region.dataset.pollUrl && !inUse(region)) window.location.reload(); // the page has moved on
  if (!fresh || inUse(region) || fresh.outerHTML === region.outerHTML) return;
  region.replaceWith(fresh);
  fresh.dispatchEvent(new CustomEvent("polled", { bubbles: true }));
}

async function look() {
  const regions = [...document.querySelectorAll("[data-poll][id]")];
  const addresses = new Map();
  for (const region of regions) {
    const url = region.dataset.pollUrl ?? window.location.href;
    addresses.set(url, [...(addresses.get(url) ?? []), region]);
  }
  for (const [url, followers] of addresses) {
    const page = await fetchPage(url);
    if (!page) throw new Error(`no answer from ${url}`);
    for (const region of followers) replace(page, region);
  }
}

function pause() {
  const wanted = [...document.querySelectorAll("[data-poll]")].map((region) => Number(region.dataset.poll));
  if (!wanted.length) return null; // whatever was followed has arrived
  return 1000 * Math.min(SLOWEST, Math.min(...wanted) * 2 ** misses);
}

/** Whenever a region has come that wants to be followed: where there was none, nobody looks. */
export function plan() {
  clearTimeout(timer);
  const delay = pause();
  if (delay !== null && !document.hidden) timer = setTimeout(follow, delay);
}

async function follow() {
  try {
    await look();
    misses = 0;
  } catch {
    misses += 1; // the next look is the repair
  }
  plan();
}

document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : follow()));
plan();
