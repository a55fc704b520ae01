// Shows the preview of a template while it is typed: the server fills in the triples, as for the Preview button.
"use strict";

(() => {
  const PAUSE = 400; // milliseconds without a key
  const preview = document.getElementById("preview");
  const form = document.getElementById("template").form;
  let soon = 0;
  let asked = null; // the request under way

  async function show() {
    asked?.abort();
    asked = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    body.set("preview", "yes");
    try {
      const response = await fetch(form.action, { method: "POST", body, credentials: "same-origin", signal: asked.signal });
      const page = new DOMParser().parseFromString(await response.text(), "text/html"); // no script of it is run
      preview.replaceChildren(...(page.getElementById("preview")?.childNodes ?? ["No preview just now."]));
    } catch (error) {
      if (error.name !== "AbortError") preview.replaceChildren("No preview: the server does not answer.");
    }
  }

  form.addEventListener("input", () => {
    clearTimeout(soon);
    soon = setTimeout(show, PAUSE);
  });
})();
