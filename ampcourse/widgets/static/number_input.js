// Number fields among others: text that counts, text that was refused, and why.

/** One number field, named for a screen reader; `onText` gets what Enter or Tab leaves in it. */
function numberInput(name, label, onText) {
  const input = make("input", {
    type: "text", class: "amp-number", "data-field": name, "aria-label": label,
    spellcheck: "false", autocomplete: "off", autocapitalize: "off",
  });
  let shown = null;
  let typing = false; // an answer to another field must not take away what is being typed here
  input.addEventListener("input", () => { typing = true; });
  input.addEventListener("change", () => {
    typing = false;
    onText(input.value);
  });
  // The same text again is no change to the browser, but after a refusal it is one here.
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && input.getAttribute("aria-invalid") === "true") onText(input.value);
  });
  return {
    input,
    show(text) {
      const kept = typing || input.getAttribute("aria-invalid") === "true";
      if (text !== shown || !kept) input.value = text;
      shown = text;
    },
  };
}

/** Mark the field that was refused, and no other, and say why; an empty refusal clears both. */
function showRefusal(root, problem, refusal) {
  for (const input of root.querySelectorAll("[aria-invalid=true]")) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }
  problem.replaceChildren();
  if (!refusal.message) return;
  const input = refusal.field ? root.querySelector(`[data-field=${refusal.field}]`) : null;
  input?.setAttribute("aria-invalid", "true");
  input?.setAttribute("aria-describedby", problem.id);
  problem.append(refusal.message);
  if (refusal.at) {
    problem.append(": ", make("code", {}, refusal.before,
      make("mark", {}, refusal.at === " " ? "\u2423" : refusal.at), refusal.after));
  }
}

/** The place where a refusal is told. */
function problemLine() {
  const id = `amp-${Math.random().toString(36).slice(2)}`;
  return make("p", { class: "amp-problem", role: "alert", id });
}
