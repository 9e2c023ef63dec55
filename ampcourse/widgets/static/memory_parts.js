// Parts of both memory widgets: a slider with a name and a value, one drawing per answer.

/** A range with its label and what it stands at; `onMove` gets the number. */
function rangeRow(label, name, low, onMove) {
  const id = `amp-${Math.random().toString(36).slice(2)}`;
  const input = make("input", { type: "range", id, min: low, step: 1, "data-range": name });
  const value = make("output", { for: id });
  input.addEventListener("input", () => onMove(Number(input.value)));
  const root = make("div", { class: "amp-range" },
    make("label", { for: id, class: "amp-label" }, label), input, value);
  return {
    root,
    show(now, high, told) {
      input.max = high;
      input.value = now;
      input.setAttribute("aria-valuetext", told);
      value.textContent = told;
    },
    busy: () => document.activeElement === input,
  };
}

/** Call `fill` at first and after each change of the traits named, once for several. */
function redrawOn(model, names, fill) {
  let due = false;
  const soon = () => {
    if (due) return;
    due = true;
    queueMicrotask(() => { due = false; fill(); });
  };
  fill();
  for (const name of names) model.on(`change:${name}`, soon);
  return () => { for (const name of names) model.off(`change:${name}`, soon); };
}
