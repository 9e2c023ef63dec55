// The type-flow graph: ops as a list, edges beside it, the chosen op's read-outs.

const ROW = 30;
const LANE = 14;

/** An edge from one place to another: straight down to the next, else an arc to the left. */
function edgePath(from, to, right) {
  const y = (place) => ROW * place + ROW / 2;
  if (to === from + 1) return `M${right} ${y(from)}V${y(to)}`;
  const out = right - LANE - 5 * Math.min(to - from, 9);
  return `M${right} ${y(from)}C${out} ${y(from)} ${out} ${y(to)} ${right} ${y(to)}`;
}

function drawing(name, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

/** The end of an op's row: a dot, or a cross where the op gives nothing. */
function drawOp(look, x, y) {
  if (look === "nothing") {
    return drawing("path", { class: "amp-refused", d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` });
  }
  return drawing("circle", { class: `amp-dot amp-${look}`, cx: x, cy: y, r: 4 });
}

/** Draw the edges: thick for float32, thin and dashed for 16 bits, a diamond where it is cast. */
function drawEdges(svg, graph, place) {
  const width = 74;
  const right = width - 8;
  svg.setAttribute("viewBox", `0 0 ${width} ${ROW * graph.ops.length}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", ROW * graph.ops.length);
  const arrivals = new Map();
  svg.replaceChildren(...graph.edges.flatMap(([from, to, wide, cast]) => {
    const touches = from === place || to === place;
    const kind = `amp-edge ${wide ? "amp-wide" : "amp-narrow"}${touches ? " amp-touched" : ""}`;
    const parts = [drawing("path", { class: kind, d: edgePath(from, to, right) })];
    if (cast) {
      const nth = arrivals.get(to) ?? 0;
      arrivals.set(to, nth + 1);
      const y = ROW * to + ROW / 2 - 9;
      const x = right - 10 * nth;
      parts.push(drawing("path", { class: "amp-cast", d: `M${x} ${y - 5}l5 5l-5 5l-5 -5z` }));
    }
    return parts;
  }), ...graph.ops.map((op, i) => drawOp(op.look, right, ROW * i + ROW / 2)));
}

/** The ops; arrow keys move through them, as in any list of which one is chosen. */
function opList(labels, onPlace) {
  const list = make("ul", { class: "amp-ops", role: "listbox", "aria-label": labels.graph });
  const options = () => [...list.children];
  const indexOf = (event) => options().indexOf(event.target.closest("[role=option]"));

  list.addEventListener("click", (event) => {
    if (indexOf(event) >= 0) onPlace(indexOf(event));
  });
  list.addEventListener("keydown", (event) => {
    const last = options().length - 1;
    const here = indexOf(event);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    onPlace(Math.max(0, Math.min(last, to)));
    list.querySelector("[aria-selected=true]").focus();
  });

  function fill(ops) {
    const focused = list.contains(document.activeElement);
    list.replaceChildren(...ops.map((op) => make("li", {
      role: "option", class: `amp-op amp-list-${op.category}`, "aria-selected": "false", tabindex: "-1",
    },
    make("span", { class: "amp-op-name" }, make("b", {}, op.name), op.op === "input" ? "" : ` = ${op.op}`),
    make("span", { class: "amp-badge" },
      make("span", { class: "amp-badge-sign", "aria-hidden": "true" }, op.sign),
      make("span", { class: "amp-badge-word" }, op.badge)),
    make("span", { class: `amp-type amp-${op.look}` }, op.gives))));
    return focused;
  }

  function choose(place) {
    options().forEach((option, i) => {
      option.setAttribute("aria-selected", String(i === place));
      option.tabIndex = i === place ? 0 : -1;
    });
  }
  return { list, fill, choose, focus: (place) => options()[place].focus() };
}

function flowLegend(labels) {
  const item = (kind, text) => make("span", { class: "amp-legend-item" },
    make("span", { class: `amp-legend-${kind}`, "aria-hidden": "true" }), text);
  const refused = item("refused", labels.legend_refused);
  const root = make("p", { class: "amp-flow-legend" }, item("wide", labels.legend_wide),
    item("narrow", labels.legend_narrow), item("cast", labels.legend_cast), refused);
  /** Explain the cross only where there is one. */
  const show = (graph) => { refused.hidden = graph.ops.every((op) => op.look !== "nothing"); };
  return { root, show };
}

function drawPanel(model, el) {
  const labels = model.get("labels");
  const silent = make("p", { class: "amp-problem", role: "alert" });
  const mail = courier(model, (quiet) => { silent.textContent = quiet ? labels.silent : ""; });
  const choices = Object.fromEntries(["net", "device", "lower"].map((name) => [name,
    radioGroup(labels[name], model.get("choices")[name],
      (to) => mail.send({ gesture: name, to }))]));
  const toPlace = (place) => {
    model.set("place", place);
    model.save_changes();
  };
  const ops = opList(labels, toPlace);
  const svg = drawing("svg", { class: "amp-edges", "aria-hidden": "true" });
  const rows = readoutList(labels);
  const summary = make("p", { class: "amp-note" });
  const status = make("p", { class: "amp-spoken", role: "status" });
  const tell = teller(status);
  const legend = flowLegend(labels);
  const graph = make("div", { class: "amp-graph" }, svg, ops.list);
  const told = make("p", { class: "amp-sentence" });

  const panel = make("div", { class: "amp-panel amp-flow" },
    make("div", { class: "amp-flow-choices" }, ...Object.values(choices).map((one) => one.root)),
    silent, summary, make("div", { class: "amp-flow-halves" },
      make("div", {}, graph, legend.root),
      make("div", { class: "amp-flow-told" }, told, status, rows.list)));
  el.append(make("div", { class: "amp" }, panel));

  let drawn = null;
  function fill() {
    const now = model.get("graph");
    const place = Math.min(model.get("place"), now.ops.length - 1);
    if (now !== drawn) {
      for (const [name, one] of Object.entries(choices)) one.show(now[name]);
      summary.textContent = now.summary;
      const focused = ops.fill(now.ops);
      ops.choose(place);
      legend.show(now);
      panel.dataset.lower = now.lower;
      if (focused) ops.focus(place);
      drawn = now;
    }
    ops.choose(place);
    drawEdges(svg, now, place);
    told.textContent = now.sentences[place];
    tell(now.sentences[place]);
    rows.fill(now.rows[place]);
  }

  // One answer changes both traits; draw once, when they are there. A key must move at once.
  let due = false;
  const soon = () => {
    if (due) return;
    due = true;
    queueMicrotask(() => { due = false; fill(); });
  };
  fill();
  const changes = { "change:place": fill, "change:graph": soon };
  for (const [event, run] of Object.entries(changes)) model.on(event, run);
  return () => {
    mail.stop();
    for (const [event, run] of Object.entries(changes)) model.off(event, run);
  };
}

export default {
  render({ model, el }) {
    const undraw = drawPanel(model, el);
    keepKeys(el);
    return undraw;
  },
};
