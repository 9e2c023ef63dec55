// The memory ledger: choices, single assumptions as check boxes, bars of what is held.

/** Check boxes for the assumptions; a refused one goes back to what counts. */
function toggleGroup(label, options, onToggle) {
  const inputs = new Map();
  const boxes = options.map(([name, shown]) => {
    const input = make("input", { type: "checkbox", "data-toggle": name });
    input.addEventListener("change", () => onToggle(name));
    inputs.set(name, input);
    return make("label", { class: "amp-toggle" }, input, shown);
  });
  const root = make("fieldset", { class: "amp-toggles" },
    make("legend", { class: "amp-label" }, label), ...boxes);
  return {
    root,
    show(on) { for (const [name, input] of inputs) input.checked = on[name]; },
  };
}

/** The bars as a list of lists: what a screen reader gets is in words. */
function drawBars(list, bars, labels) {
  list.replaceChildren(...bars.map((bar) => make("li", { class: "amp-bar-row" },
    make("span", { class: "amp-bar-name" }, bar.name),
    make("ul", { class: "amp-bar", "aria-label": bar.name }, ...bar.parts.map((part) => make("li", {
      class: `amp-part amp-use-${part.what.replaceAll(" ", "-")}`, title: part.told,
      style: `width: ${100 * part.share}%`,
    },
    make("span", { "aria-hidden": "true" }, part.share > 0.028 ? part.letter : ""),
    make("span", { class: "amp-spoken" }, part.told)))),
    make("span", { class: "amp-bar-total" }, bar.total,
      bar.peak ? make("b", { class: "amp-peak" }, labels.peak) : ""))));
}

function drawTable(body, rows) {
  body.replaceChildren(...rows.map(([letter, what, type, each, all]) => make("tr", {},
    make("th", { scope: "row" },
      make("span", { class: `amp-key amp-use-${what.replaceAll(" ", "-")}`, "aria-hidden": "true" },
        letter), what),
    ...[type, each, all].map((text) => make("td", {}, text)))));
}

function drawPanel(model, el) {
  const labels = model.get("labels");
  const choices = model.get("choices");
  const silent = make("p", { class: "amp-problem", role: "alert" });
  const problem = make("p", { class: "amp-problem", role: "alert" });
  const mail = courier(model, (quiet) => { silent.textContent = quiet ? labels.silent : ""; });
  const groups = ["workload", "optimizer", "recipe"].map((name) => [name,
    radioGroup(labels[name], choices[name], (to) => mail.send({ gesture: name, to }))]);
  const batch = rangeRow(labels.batch, "batch", 0, (to) => mail.drag({ gesture: "batch", to }));
  const toggles = toggleGroup(labels.toggles, choices.toggles,
    (to) => mail.send({ gesture: "toggle", to }));
  const bars = make("ul", { class: "amp-bars", "aria-label": labels.bars });
  const body = make("tbody");
  const head = [labels.what, labels.type, labels.each, labels.all];
  const table = make("table", { class: "amp-ledger", "aria-label": labels.table },
    make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
    body);
  const told = make("p", { class: "amp-note" });
  const parameter = make("p", { class: "amp-per-parameter" });
  const quoted = make("p", {});
  const status = make("p", { class: "amp-spoken", role: "status" });
  const tell = teller(status);

  el.append(make("div", { class: "amp" }, make("div", { class: "amp-panel amp-memory" },
    ...groups.map(([, group]) => group.root), batch.root, toggles.root, problem, silent,
    told, status, bars, table, make("div", {}, parameter, quoted))));

  function fill() {
    const view = model.get("view");
    for (const [name, group] of groups) {
      const boxes = group.root.querySelectorAll("input");
      for (const box of boxes) box.checked = box.value === view[name];
    }
    if (!(batch.busy() && mail.busy())) batch.show(view.exponent, model.get("longest"), view.batch);
    toggles.show(view.toggles);
    problem.textContent = model.get("problem");
    drawBars(bars, view.bars, labels);
    drawTable(body, view.rows);
    told.textContent = view.sentence;
    parameter.textContent = `${view.parameter}.`;
    quoted.textContent = view.quoted;
    tell(view.sentence);
  }
  const undraw = redrawOn(model, ["view", "problem", "answered"], fill);
  return () => { mail.stop(); undraw(); };
}

export default {
  render({ model, el }) {
    const undraw = drawPanel(model, el);
    keepKeys(el);
    return undraw;
  },
};
