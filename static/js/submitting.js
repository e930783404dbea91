// A choice that shows its answer at once. It runs while the page is still being read: whoever is quick to
// choose, before anything else is loaded, shall not be left waiting.
document.addEventListener("change", (event) => {
  const field = /** @type {HTMLInputElement} */ (event.target);
  if (field.matches("[data-submits]")) field.form.requestSubmit();
});
