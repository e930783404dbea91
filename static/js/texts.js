// Numbers and texts as people and spreadsheets read them. Pure functions.

const PLURAL = /^(\S*(?:[cs]h|[sx]))es\b|^(\S+?)s\b/;
const NUMBER = /^[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?%?$/;

/** Seconds in words: "12 s", "3 min 05 s", "2 h 01 min"; empty for what is no number. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "";
  const total = Math.round(seconds);
  if (total < 60) return `${total} s`;
  if (total < 3600) return `${Math.floor(total / 60)} min ${String(total % 60).padStart(2, "0")} s`;
  return `${Math.floor(total / 3600)} h ${String(Math.floor((total % 3600) / 60)).padStart(2, "0")} min`;
}

/** How fast something goes, as people say it: "12 rounds per second", but "12 s per round"; empty for not at all. */
export function rate(perSecond, unit) {
  if (!perSecond) return "";
  if (perSecond < 1) {
    const each = 1 / perSecond;
    return `${each < 10 ? `${each.toFixed(1)} s` : duration(each)} per ${unit.replace(PLURAL, "$1$2")}`;
  }
  return `${new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(perSecond)} ${unit} per second`;
}

/** A text as a cell: numbers without the signs of print, texts safe. */
export function cell(text) {
  const plain = text.replace(/\s+/g, " ").trim();
  const number = plain.replace(/\u2212/g, "-").replace(/ (?=%$)/, "");
  if (plain === "–") return "";
  if (NUMBER.test(number)) return number.replaceAll(",", "");
  const safe = /^['\s]*[=+\-@]/.test(plain) ? `'${plain}` : plain;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
