// The checkpointing slider: a chain of layers, what of it is held, and the curve over segments.

const SIGNS = { kept: "K", held: "H", free: "" };

function drawChain(root, chain) {
  root.replaceChildren(...chain.map((segment) => make("span", { class: "amp-segment" },
    ...segment.map((mark) => make("span", { class: `amp-layer amp-layer-${mark}` }, SIGNS[mark])))));
}

/** One bar per number of segments; the chosen and the least are told by outline and dot. */
function drawCurve(root, peaks, segments) {
  root.replaceChildren(...peaks.map(([k, , share, best]) => make("span", {
    class: `amp-rod${k === segments ? " amp-rod-here" : ""}${best ? " amp-rod-best" : ""}`,
  }, make("span", { class: "amp-rod-fill", style: `height: ${100 * share}%` }))));
}

function segmentLegend(labels) {
  const item = (kind, sign, text) => make("span", { class: "amp-legend-item" },
    make("span", { class: `amp-layer amp-layer-${kind}`, "aria-hidden": "true" }, sign), text);
  return make("p", { class: "amp-flow-legend" }, item("held", SIGNS.held, labels.held),
    item("kept", SIGNS.kept, labels.kept), item("free", "", labels.free));
}

function curveLegend(labels) {
  const item = (kind, text) => make("span", { class: "amp-legend-item" },
    make("span", { class: `amp-swatch amp-rod-${kind}`, "aria-hidden": "true" },
      make("span", { class: "amp-rod-fill" })), text);
  return make("p", { class: "amp-flow-legend" }, item("here", labels.here),
    item("best", labels.least));
}

function drawPanel(model, el) {
  const labels = model.get("labels");
  const silent = make("p", { class: "amp-problem", role: "alert" });
  const mail = courier(model, (quiet) => { silent.textContent = quiet ? labels.silent : ""; });
  const sliders = ["layers", "segments"].map((name) => [name,
    rangeRow(labels[name], name, 1, (to) => mail.drag({ gesture: name, to }))]);
  const chain = make("div", { class: "amp-chain", "aria-hidden": "true" });
  const curve = make("div", { class: "amp-curve", "aria-hidden": "true" });
  const told = make("p", { class: "amp-note" });
  const status = make("p", { class: "amp-spoken", role: "status" });
  const tell = teller(status);

  el.append(make("div", { class: "amp" }, make("div", { class: "amp-panel amp-memory" },
    ...sliders.map(([, slider]) => slider.root), silent, told, status,
    make("div", {}, make("p", { class: "amp-label" }, labels.chain), chain, segmentLegend(labels)),
    make("div", {}, make("p", { class: "amp-label" }, labels.curve), curve, curveLegend(labels)))));

  function fill() {
    const view = model.get("view");
    const most = { layers: model.get("longest"), segments: view.layers };
    for (const [name, slider] of sliders) {
      if (!(slider.busy() && mail.busy())) slider.show(view[name], most[name], String(view[name]));
    }
    drawChain(chain, view.chain);
    drawCurve(curve, view.peaks, view.segments);
    told.textContent = view.sentence;
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
