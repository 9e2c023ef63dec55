// The gradient window's panel: draws what Python computed and sends gestures back.
// Updates change nodes in place, so that a chart fed from a training loop does not flicker.

const percent = (share) => `${(100 * share).toFixed(3)}%`;

/** A slider with its name before it and what it stands at behind it. */
function namedSlider(label, gesture, mail) {
  const input = make("input", { type: "range", min: "0", step: "1" });
  const output = make("output", { class: "amp-named-value" });
  const root = make("label", { class: `amp-named amp-named-${gesture}` },
    make("span", { class: "amp-label" }, label), input, output);
  input.addEventListener("input", () => mail.drag({ gesture, to: input.value }));
  return {
    root,
    show(value, end, shown, spoken) {
      input.max = end;
      // What the hand is moving is ahead of Python; leave it until the last answer.
      if (!(document.activeElement === input && mail.busy())) input.value = value;
      input.setAttribute("aria-valuetext", spoken);
      drawMarkup(output, shown);
    },
  };
}

/** The layers as a list to choose from; ipywidgets' own list cannot be used by keyboard. */
function layerChoice(labels, mail) {
  const select = make("select", { class: "amp-select" });
  const root = make("label", { class: "amp-choice" },
    make("span", { class: "amp-label" }, labels.layer), select);
  let names = "";
  select.addEventListener("change", () => mail.send({ gesture: "layer", to: select.value }));
  return {
    root,
    show(layers, layer) {
      const joined = JSON.stringify(layers);
      if (joined !== names) {
        select.replaceChildren(...layers.map((name) => make("option", { value: name }, name)));
      }
      names = joined;
      root.hidden = layers.length < 2;
      select.value = layer;
    },
  };
}

/** Keep one node for each key: make the missing ones, drop those that are gone. */
function keyed(root, makeNode) {
  const nodes = new Map();
  return (items) => {
    const seen = new Set(items.map((item) => item.key));
    for (const [key, node] of nodes) {
      if (!seen.has(key)) { node.remove(); nodes.delete(key); }
    }
    for (const item of items) {
      if (!nodes.has(item.key)) {
        nodes.set(item.key, makeNode(item));
        root.append(nodes.get(item.key));
      }
    }
    return nodes;
  };
}

/** The chart: the format's range behind, the bars before it, exponents below. */
function windowChart(labels) {
  const back = make("div", { class: "amp-regions" });
  const front = make("div", { class: "amp-bars" });
  const below = make("div", { class: "amp-exponents" });
  const root = make("div", { class: "amp-chart", "aria-hidden": "true" }, back, front, below,
    make("div", { class: "amp-axis-name" }, labels.axis));
  const regionNodes = keyed(back, ({ kind }) => make("div", { class: `amp-region amp-region-${kind}` },
    make("span", { class: "amp-region-name" })));
  const barNodes = keyed(front, () => make("div", {},
    make("span", { class: "amp-flushed" }), make("span", { class: "amp-kept" })));
  const tickNodes = keyed(below, () => make("span", { class: "amp-exponent-mark" }));

  function stretch(node, [from, to]) {
    node.style.left = percent(from);
    node.style.width = percent(to - from);
  }

  return {
    root,
    fill({ regions, bars, ticks }) {
      const areas = regionNodes(regions.map((region) => ({ key: region.kind, ...region })));
      for (const region of regions) {
        const node = areas.get(region.kind);
        stretch(node, region.at);
        node.firstChild.textContent = region.name;
        const width = region.at[1] - region.at[0];
        node.classList.toggle("amp-slim", width < 0.16);
        node.classList.toggle("amp-very-slim", width < 0.1);
      }
      const drawn = barNodes(bars);
      for (const bar of bars) {
        const node = drawn.get(bar.key);
        node.className = `amp-bar-of amp-bar-${bar.kind}`;
        node.title = bar.title;
        stretch(node, bar.at);
        node.firstChild.style.height = percent(bar.flushed);
        node.lastChild.style.height = percent(bar.kept);
        node.firstChild.hidden = !bar.flushed;
        node.lastChild.hidden = !bar.kept;
      }
      const marks = tickNodes(ticks.map((tick) => ({ key: tick.exponent })));
      for (const tick of ticks) {
        const node = marks.get(tick.exponent);
        node.style.left = percent(tick.at);
        node.classList.toggle("amp-edge", tick.edge);
        node.classList.toggle("amp-minor", tick.minor);
        if (!node.firstChild) drawMarkup(node, `2^{${tick.exponent}}`);
      }
    },
  };
}

/** All values as one bar, cut into classes, with a legend that names and counts them. */
function classBar(labels) {
  const track = make("div", { class: "amp-classes", "aria-hidden": "true" });
  const legend = make("ul", { class: "amp-key", "aria-label": labels.all });
  const root = make("div", { class: "amp-all" },
    make("span", { class: "amp-label" }, labels.all), track, legend);
  const parts = keyed(track, ({ kind }) => make("span", { class: `amp-class amp-class-${kind}` }));
  const items = keyed(legend, ({ kind, name }) => make("li", {},
    make("span", { class: `amp-swatch amp-class-${kind}`, "aria-hidden": "true" }),
    `${name} `, make("b", {})));
  return {
    root,
    fill(classes) {
      const list = classes.map((each) => ({ key: each.kind, ...each }));
      const [bar, key] = [parts(list), items(list)];
      for (const { kind, share, percent: told } of list) {
        bar.get(kind).style.flexGrow = share;
        bar.get(kind).hidden = !share;
        key.get(kind).lastChild.textContent = told;
      }
    },
  };
}

function drawPanel(model, el) {
  const labels = model.get("labels");
  const choices = model.get("choices");
  const silent = make("p", { class: "amp-problem", role: "alert" });
  const problem = make("p", { class: "amp-problem", role: "alert" });
  const mail = courier(model, (quiet) => { silent.textContent = quiet ? labels.silent : ""; });
  const send = (gesture) => (to) => mail.send({ gesture, to });
  const formats = radioGroup(labels.formats, choices.formats, send("format"));
  const heights = radioGroup(labels.heights, choices.heights, send("height"));
  const layer = layerChoice(labels, mail);
  const step = namedSlider(labels.step, "step", mail);
  const scale = namedSlider(labels.scale, "scale", mail);
  const chart = windowChart(labels);
  const all = classBar(labels);
  const list = readoutList(labels);
  const status = make("p", { class: "amp-sentence", role: "status" });
  const tell = teller(status);

  el.append(make("div", { class: "amp amp-window" }, make("div", { class: "amp-panel" },
    make("div", { class: "amp-entry" }, formats.root, heights.root, layer.root, problem, silent),
    step.root, scale.root, chart.root, all.root, status, list.list)));

  function fill() {
    const readout = model.get("readout");
    formats.show(readout.format);
    heights.show(readout.height);
    layer.show(readout.layers, readout.layer);
    const [place, end, shown] = readout.step;
    step.root.hidden = end < 1;
    step.show(place, end, shown, shown);
    scale.show(readout.scale[0], model.get("largest_shift"), readout.scale[1], readout.scale[2]);
    chart.fill(readout);
    all.fill(readout.classes);
    list.fill(readout.rows);
    tell(readout.sentence);
  }
  const refuse = () => { problem.textContent = model.get("problem").message ?? ""; };

  fill();
  refuse();
  model.on("change:readout", fill);
  model.on("change:problem", refuse);
  return () => {
    mail.stop();
    model.off("change:readout", fill);
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
