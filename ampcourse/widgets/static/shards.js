// The shard painter: a row per rank, its parts painted where it keeps them; Python counts bytes.

const share = (value) => `${(100 * value).toFixed(3)}%`;

/** The ranks as a list of lists: what a screen reader gets is in words. */
function drawRanks(list, rows) {
  const first = rows.find((row) => row.parts.length);
  const letters = make("li", { class: "amp-rank amp-rank-head", "aria-hidden": "true" },
    make("span", {}), make("span", { class: "amp-shards" }, ...first.parts.map((part) =>
      make("span", { style: `width: ${share(part.width)}` }, part.letter))));
  list.replaceChildren(letters, ...rows.map((row) => (row.parts.length ? make("li", { class: "amp-rank" },
    make("span", { class: "amp-rank-name" }, row.name),
    make("ul", { class: "amp-shards", "aria-label": row.name }, ...row.parts.map((part) => make("li", {
      class: "amp-whole", title: part.told, style: `width: ${share(part.width)}`,
    },
    make("span", {
      class: `amp-held amp-use-${part.what.replaceAll(" ", "-")}`, "aria-hidden": "true",
      style: `left: ${share(part.from)}; right: ${share(1 - part.to)}`,
    }),
    make("span", { class: "amp-spoken" }, part.told)))))
    : make("li", { class: "amp-rank" }, make("span", { class: "amp-rank-name", "aria-hidden": "true" }, row.name),
      make("span", {}, row.told)))));
}

/** The table of all stages; what a stage divides is bold, what a rank keeps has a bar. */
function drawStages(table, { stages, rows }, labels) {
  const here = (i) => (stages[i][1] ? " amp-chosen" : "");
  const head = make("tr", {}, make("th", { scope: "col" }, labels.stage),
    ...stages.map(([name, chosen], i) => make("th", { scope: "col", class: here(i) }, name,
      chosen ? make("span", { class: "amp-chosen-mark" }, labels.chosen) : "")));
  const body = rows.map(([name, cells]) => make("tr", {}, make("th", { scope: "row" }, name),
    ...cells.map(([text, divided, part], i) => make("td", {
      class: `${divided ? "amp-divided" : ""}${here(i)}`,
    }, text, part ? make("span", {
      class: "amp-sum-bar", "aria-hidden": "true", style: `width: ${share(part)}`,
    }) : ""))));
  table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
}

function shardLegend(labels, names) {
  const item = (kind, text, sign = "") => make("span", { class: "amp-legend-item" },
    make("span", { class: `amp-shard-key ${kind}`, "aria-hidden": "true" }, sign), text);
  return make("p", { class: "amp-flow-legend" },
    ...Object.entries(names).map(([name, letter]) =>
      item(`amp-use-${name.replaceAll(" ", "-")}`, name, letter)),
    item("amp-whole", labels.away));
}

function drawPanel(model, el) {
  const labels = model.get("labels");
  const choices = model.get("choices");
  const silent = make("p", { class: "amp-problem", role: "alert" });
  const mail = courier(model, (quiet) => { silent.textContent = quiet ? labels.silent : ""; });
  const groups = ["stage", "parameters", "optimizer", "recipe"].map((name) => [name,
    radioGroup(labels[name], choices[name], (to) => mail.send({ gesture: name, to }))]);
  const [[, stage], ...others] = groups;
  const ranks = rangeRow(labels.ranks, "ranks", 0, (to) => mail.drag({ gesture: "ranks", to }));
  const list = make("ul", { class: "amp-ranks", "aria-label": labels.painting });
  const table = make("table", { class: "amp-ledger amp-stages", "aria-label": labels.table });
  const told = make("p", { class: "amp-note" });
  const notes = make("div", { class: "amp-notes" });
  const status = make("p", { class: "amp-spoken", role: "status" });
  const tell = teller(status);

  el.append(make("div", { class: "amp amp-shard-painter" },
    make("div", { class: "amp-panel amp-memory" }, stage.root, ranks.root,
      ...others.map(([, group]) => group.root), silent, told, status, list,
      shardLegend(labels, labels.parts), table, notes)));

  function fill() {
    const view = model.get("view");
    for (const [name, group] of groups) {
      for (const box of group.root.querySelectorAll("input")) box.checked = box.value === view[name];
    }
    if (!(ranks.busy() && mail.busy())) ranks.show(...view.ranks);
    drawRanks(list, view.painting);
    drawStages(table, view.table, labels);
    told.textContent = view.sentence;
    notes.replaceChildren(...view.notes.map((note) => {
      const line = make("p", {});
      drawMarkup(line, note);
      return line;
    }));
    tell(view.sentence);
  }
  const undraw = redrawOn(model, ["view", "answered"], fill);
  return () => { mail.stop(); undraw(); };
}

export default {
  render({ model, el }) {
    const undraw = drawPanel(model, el);
    keepKeys(el);
    return undraw;
  },
};
