// A box for code on another page, which leads to the page that explains a loop, however long the code is.

import { loopAddress } from "./loop-address.js";

for (const form of document.querySelectorAll("form[data-loop-box]")) {
  if (!(form instanceof HTMLFormElement)) continue;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fields = new URLSearchParams();
    for (const [name, value] of new FormData(form)) fields.set(name, String(value));
    loopAddress(form.action, fields).then((address) => window.location.assign(address));
  });
}
