// Runs before the first paint, so that a chosen theme never flashes and what needs scripts can show itself.
(function () {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // storage is forbidden here: the system's theme it is
  }
})();
