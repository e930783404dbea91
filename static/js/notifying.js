// "Notify me when it ends": asked for per run, remembered by this browser, told by whichever page of the run is open.

const KEY = "notify-runs";
const MAX_RUNS = 200; // runs remembered; older ones are forgotten

function remembered() {
  try {
    const runs = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(runs) ? runs : [];
  } catch {
    return [];
  }
}

function remember(runs) {
  try {
    localStorage.setItem(KEY, JSON.stringify(runs.slice(-MAX_RUNS)));
  } catch {
    // for as long as the page is open, then
  }
}

/** The switch in `element`, for the run with this address; `ended` is called with its state. */
export class Notice {
  constructor(element, address, name) {
    this.address = address;
    this.name = name;
    this.wanted = remembered().includes(address) && window.Notification?.permission === "granted";
    this.attach(element);
  }

  attach(element) {
    this.element = element;
    // Browsers have notifications only for pages that come encrypted, or from this computer.
    if (!element || !("Notification" in window) || !window.isSecureContext) return;
    element.hidden = false;
    element.querySelector("button").addEventListener("click", () => this.toggle());
    this.show();
  }

  async toggle() {
    if (!this.wanted && Notification.permission !== "granted" && (await Notification.requestPermission()) !== "granted") {
      this.note("This browser does not let the site notify you; its settings for the site say so.");
      return;
    }
    this.wanted = !this.wanted;
    const others = remembered().filter((address) => address !== this.address);
    remember(this.wanted ? [...others, this.address] : others);
    this.show();
  }

  show() {
    const button = this.element?.querySelector("button");
    if (!button) return;
    button.setAttribute("aria-pressed", String(this.wanted));
    this.element.querySelector("[data-notify-label]").textContent = this.wanted ? "You will be notified" : "Notify me when it ends";
    this.note(this.wanted ? "as long as this page is open in a tab" : "");
  }

  note(text) {
    this.element.querySelector("[data-notify-note]").textContent = text;
  }

  ended(state) {
    if (!this.wanted) return;
    remember(remembered().filter((address) => address !== this.address));
    this.wanted = false;
    // One per run, however many tabs show it.
    const notification = new Notification(`${this.name}: ${state}`, { tag: this.address, icon: "/static/favicon.svg" });
    notification.onclick = () => {
      window.focus();
      notification.close();
    };
  }
}
