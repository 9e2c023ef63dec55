// The outlier's panel: three charts of the same values, a diamond to drag; Python judges.

const share = (value) => `${(100 * value).toFixed(3)}%`;

/** One chart: bars by size, a line per block under which values become 0, the blocks in words. */
function blockChart(onDrag) {
  const name = make("p", { class: "amp-chart-name" });
  const ticks = make("div", { class: "amp-size-ticks" });
  const lines = make("div", { class: "amp-lines" });
  const bars = make("div", { class: "amp-values" });
  const plot = make("div", { class: "amp-size-plot", "aria-hidden": "true" }, ticks, lines, bars);
  const blocks = make("ol", { class: "amp-blocks" });
  const root = make("section", { class: "amp-size-chart" }, name, plot, blocks);
  let axis = [0, 1];

  /** Which value and which power of two the pointer is over. */
  function under(event) {
    const box = bars.getBoundingClientRect();
    const place = Math.floor(bars.childElementCount * (event.clientX - box.left) / box.width);
    const height = (box.bottom - event.clientY) / box.height;
    return [place, Math.round(axis[0] + height * (axis[1] - axis[0]))];
  }

  bars.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    bars.setPointerCapture(event.pointerId);
    onDrag(under(event));
  });
  bars.addEventListener("pointermove", (event) => {
    if (bars.hasPointerCapture(event.pointerId)) onDrag(under(event));
  });

  /** Bars stay in place, so that the pointer keeps what it holds. */
  function drawBars(list) {
    while (bars.childElementCount < list.length) {
      bars.append(make("span", {}, make("span", { class: "amp-value" })));
    }
    list.forEach(([height, kind, outlier, told], i) => {
      const column = bars.children[i];
      column.className = `amp-column amp-${kind}${outlier ? " amp-outlier-here" : ""}`;
      column.title = told;
      column.firstChild.style.height = share(height);
    });
  }

  function drawBlocks(list) {
    lines.replaceChildren(...list.map((block) => make("span", {
      class: "amp-zero-line",
      style: `left: ${share(block.from)}; width: ${share(block.to - block.from)}; bottom: ${share(block.line)}`,
    })), ...list.slice(1).map((block) => make("span", {
      class: "amp-block-edge", style: `left: ${share(block.from)}`,
    })));
    blocks.style.setProperty("--amp-blocks", list.length);
    blocks.replaceChildren(...list.map((block) => {
      const scale = make("b", {});
      drawMarkup(scale, block.scale);
      return make("li", {}, scale, " ", make("span", {}, block.told));
    }));
  }

  return {
    root,
    fill(chart, view) {
      axis = view.axis;
      name.textContent = chart.name;
      blocks.setAttribute("aria-label", chart.name);
      if (!ticks.childElementCount) {
        ticks.replaceChildren(...view.ticks.map(([at, text]) => {
          const tick = make("span", { style: `bottom: ${share(at)}` });
          drawMarkup(tick, text);
          return tick;
        }));
      }
      drawBars(chart.bars);
      drawBlocks(chart.blocks);
    },
  };
}

function outlierLegend(labels) {
  const item = (kind, text) => make("span", { class: "amp-legend-item" },
    make("span", { class: `amp-key-${kind}`, "aria-hidden": "true" }), text);
  return make("p", { class: "amp-outlier-legend" }, item("kept", labels.kept),
    item("flushed", labels.flushed), item("clamped", labels.clamped),
    item("outlier", labels.outlier), item("line", labels.line));
}

function drawPanel(model, el) {
  const labels = model.get("labels");
  const silent = make("p", { class: "amp-problem", role: "alert" });
  const mail = courier(model, (quiet) => { silent.textContent = quiet ? labels.silent : ""; });
  const element = radioGroup(labels.element, model.get("elements"),
    (to) => mail.send({ gesture: "element", to }));
  const place = rangeRow(labels.place, "place", 0, (to) => mail.drag({ gesture: "place", to }));
  const size = rangeRow(labels.size, "exponent", model.get("least"),
    (to) => mail.drag({ gesture: "exponent", to }));
  const charts = [0, 1, 2].map(() => blockChart((to) => mail.drag({ gesture: "drag", to })));
  const body = make("tbody");
  const table = make("table", { class: "amp-ledger", "aria-label": labels.table },
    make("thead", {}, make("tr", {},
      ...labels.head.map((text) => make("th", { scope: "col" }, text)))), body);
  const told = make("p", { class: "amp-note" });
  const status = make("p", { class: "amp-spoken", role: "status" });
  const tell = teller(status);

  el.append(make("div", { class: "amp amp-outlier" }, make("div", { class: "amp-panel amp-memory" },
    element.root, size.root, place.root, silent,
    make("div", {}, make("p", {}, labels.hint), outlierLegend(labels)),
    ...charts.map((chart) => chart.root),
    make("p", { class: "amp-axis-told" }, labels.axis), table, told, status)));

  function fill() {
    const view = model.get("view");
    element.show(view.element);
    // What the hand is moving is ahead of Python; leave it until the last answer.
    if (!(place.busy() && mail.busy())) place.show(...view.place);
    if (!(size.busy() && mail.busy())) {
      const [now, most, shown, spoken] = view.exponent;
      size.show(now, most, spoken);
      drawMarkup(size.root.querySelector("output"), shown);
    }
    charts.forEach((chart, i) => chart.fill(view.charts[i], view));
    body.replaceChildren(...view.rows.map(([head, ...cells]) => make("tr", {},
      make("th", { scope: "row" }, head), ...cells.map((text) => make("td", {}, text)))));
    drawMarkup(told, view.sentence);
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
