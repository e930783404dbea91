// Buttons that copy: `data-copy` names the element whose text goes to the clipboard. The clipboard is for pages that came
// over TLS or from this computer; elsewhere the text is selected and copied the old way, or left selected for Ctrl-C.

const SHOW_FOR = 2500; // ms

function selectText(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = document.getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
}

async function copy(element) {
  if (window.isSecureContext && navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(element.textContent.trim());
      return true;
    } catch {
      // refused by the browser's settings: the old way may still work
    }
  }
  selectText(element);
  return document.execCommand("copy");
}

document.addEventListener("click", async (event) => {
  const button = /** @type {Element} */ (event.target).closest("[data-copy]");
  if (!button) return;
  const told = (await copy(document.getElementById(button.dataset.copy))) ? "Copied" : "Selected: press Ctrl-C";
  const label = button.querySelector("[data-label]");
  label.dataset.label ||= label.textContent;
  label.textContent = told;
  setTimeout(() => { label.textContent = label.dataset.label; }, SHOW_FOR);
});
