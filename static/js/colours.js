// Colours come from CSS custom properties, so that a picture drawn by a script follows light and dark.

const root = document.documentElement;

/** The value of a CSS custom property, e.g. colour('--ink'); `otherwise` where it is not defined. */
export function colour(name, otherwise = "#777777") {
  return getComputedStyle(root).getPropertyValue(name).trim() || otherwise;
}

/** Call `listener` whenever the page changes between light and dark, by the system or by the page's switch. */
export function onThemeChange(listener) {
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", listener);
  new MutationObserver(listener).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
}

/** Whether the page is dark now, by its switch or else by the system. */
export function isDark() {
  const { theme } = root.dataset;
  return theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}
