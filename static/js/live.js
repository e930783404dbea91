// A one-way WebSocket to a journal that survives restarts of the server: it asks for everything after the last
// event seen, so that nothing is lost and nothing comes twice, and tries again by itself for ever.

const FIRST_WAIT = 500;
const MAX_WAIT_LENGTH = 15000;
const REFUSED = { 4401: "refused", 4404: "gone" }; // not logged in; no such run (any more): see consumers.py

/** Milliseconds before attempt number `attempt` (from 0): doubling, capped, with jitter so that tabs spread out. */
export function backOff(attempt, random = Math.random) {
  const ceiling = Math.min(MAX_WAIT_LENGTH, FIRST_WAIT * 2 ** attempt);
  return ceiling / 2 + (random() * ceiling) / 2;
}

/**
 * Follows `path` (`/ws/runs/17/`). `onEvent({seq, kind, payload, at})` is called once per event, in order;
 * `onConnection(state, seconds)` with "connecting", "live", "waiting" (and the seconds until the next attempt),
 * "refused" (not logged in), "gone" (no such run) or "closed".
 */
export class LiveJournal {
  /**
   * @param {string} path
   * @param {{since?: number, onEvent: (event: any) => void, onConnection?: (state: string, seconds?: number) => void}} options
   */
  constructor(path, { since = 0, onEvent, onConnection = () => {} }) {
    this.path = path;
    this.since = since;
    this.onEvent = onEvent;
    this.onConnection = onConnection;
    this.attempt = 0;
    this.timer = null;
    this.socket = null;
    this.stopped = false;
    window.addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.hurry(); });
  }

  start() {
    if (this.stopped || this.socket) return;
    const scheme = window.location.protocol === "https:" ? "wss" : "ws";
    this.onConnection("connecting");
    const socket = new WebSocket(`${scheme}://${window.location.host}${this.path}?since=${this.since}`);
    this.socket = socket;
    socket.onopen = () => this.onConnection("live");
    socket.onmessage = (message) => this.receive(JSON.parse(message.data));
    socket.onclose = (close) => this.lost(close);
  }

  /** The journal has ended, or the page goes away: no more attempts. */
  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
    this.socket?.close();
    this.onConnection("closed");
  }

  receive(event) {
    this.attempt = 0;
    if (typeof event.seq === "number") {
      if (event.seq <= this.since) return;
      this.since = event.seq;
    }
    this.onEvent(event);
  }

  lost(close) {
    this.socket = null;
    if (this.stopped) return;
    if (close.code in REFUSED) {
      this.stopped = true;
      this.onConnection(REFUSED[close.code]);
      return;
    }
    const wait = backOff(this.attempt);
    this.attempt += 1;
    this.onConnection("waiting", Math.ceil(wait / 1000));
    this.timer = setTimeout(() => this.start(), wait);
  }

  hurry() {
    if (this.stopped || this.socket) return;
    clearTimeout(this.timer);
    this.attempt = 0;
    this.start();
  }
}
