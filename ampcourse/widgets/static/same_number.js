// One number in eight formats: a number field and a table. Python fills every cell.

function drawBits(fields) {
  const bits = make("span", { class: "amp-strip" });
  for (const [field, digits] of fields) {
    const group = make("span", { class: `amp-strip-field amp-field-${field}` });
    for (const digit of digits) {
      group.append(make("span", { class: digit === "1" ? "amp-one" : "amp-zero" }, digit));
    }
    bits.append(group);
  }
  return bits;
}

function drawRow(row, labels) {
  const value = make("span", { title: row.full });
  drawMarkup(value, row.value);
  const error = make("span", {});
  drawMarkup(error, row.error);
  const bar = make("span", { class: "amp-bar", "aria-hidden": "true" }, make("span", {}));
  bar.firstChild.style.width = `${(100 * row.bar).toFixed(1)}%`;
  const right = row.right ? [make("span", { class: "amp-right" }, bar, row.right)] : [];
  const fate = row.fate ? [make("span", { class: "amp-fate" }, row.fate)] : [];
  const cell = (name, ...children) => make(
    "td", { role: "cell", class: `amp-cell-${name}`, "data-label": labels[name] }, ...children);
  return make("tr", { role: "row", "data-format": row.name },
    make("th", { role: "rowheader", scope: "row" }, row.name,
      make("span", { class: "amp-hex" }, row.hex)),
    cell("bits", drawBits(row.fields)),
    cell("value", value, ...fate),
    cell("error", error, ...right));
}

function drawPanel(model, el) {
  const labels = model.get("labels");
  const silent = make("p", { class: "amp-problem", role: "alert" });
  const mail = courier(model, (quiet) => { silent.textContent = quiet ? labels.silent : ""; });
  const field = numberField(labels, (text) => mail.send({ gesture: "number", text }));
  const body = make("tbody", { role: "rowgroup" });
  const heads = ["format", "bits", "value", "error"].map(
    (name) => make("th", { role: "columnheader", scope: "col" }, labels[name]));
  const table = make("table", { role: "table", class: "amp-table", "aria-label": labels.caption },
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads)), body);
  const status = make("p", { class: "amp-sentence", role: "status" });
  el.append(make("div", { class: "amp" }, make("div", { class: "amp-comparison" },
    make("div", { class: "amp-entry" }, field.form, field.problem, silent), table, status)));

  function fill() {
    body.replaceChildren(...model.get("rows").map((row) => drawRow(row, labels)));
    status.textContent = model.get("sentence");
    field.show(model.get("typed"));
  }
  const refuse = () => field.refuse(model.get("problem"));
  fill();
  refuse();
  model.on("change:rows", fill);
  model.on("change:problem", refuse);
  return () => {
    mail.stop();
    model.off("change:rows", fill);
    model.off("change:problem", refuse);
  };
}

export default {
  render({ model, el }) {
    const undraw = drawPanel(model, el);
    keepKeys(el);
    return undraw;
  },
};
