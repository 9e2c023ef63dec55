// The roofline explorer's panel: draws what Python computed and sends gestures back.

const share = (value) => `${(100 * value).toFixed(3)}%`;

/** A list to choose one of; ipywidgets' own cannot be used by keyboard. */
function pickOne(label, onPick) {
  const select = make("select", { class: "amp-select" });
  const root = make("label", { class: "amp-choice" },
    make("span", { class: "amp-label" }, label), select);
  let names = "";
  select.addEventListener("change", () => onPick(select.value));
  return {
    root,
    show(options, chosen) {
      const joined = JSON.stringify(options);
      if (joined !== names) {
        select.replaceChildren(...options.map((name) => make("option", { value: name }, name)));
      }
      names = joined;
      select.value = chosen;
    },
  };
}

/** The slider for the channels of one's own convolution. */
function channelSlider(label, [least, most], mail) {
  const input = make("input", { type: "range", min: least, max: most, step: "1" });
  const output = make("output", { class: "amp-channels-value" });
  const root = make("label", { class: "amp-channels" },
    make("span", { class: "amp-label" }, label), input, output);
  input.addEventListener("input", () => mail.drag({ gesture: "channels", to: input.value }));
  return {
    root,
    show([power, told]) {
      // What the hand is moving is ahead of Python; leave it until the last answer.
      if (!(document.activeElement === input && mail.busy())) input.value = power;
      input.setAttribute("aria-valuetext", told);
      output.textContent = told;
    },
  };
}

function svgNode(name, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

/** The chart: two roofs, a dot for each layer, the cross of one's own op. */
function roofChart(labels, onPick) {
  const roofs = svgNode("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", class: "amp-roofs" });
  const front = make("div", { class: "amp-dots" });
  const name = make("span", { class: "amp-roof-name" });
  const marks = make("div", { class: "amp-marks" });
  const plot = make("div", { class: "amp-plot" }, marks, roofs, name, front);
  const root = make("div", { class: "amp-roof-chart", "aria-hidden": "true" }, plot,
    make("div", { class: "amp-x-name" }, labels.x), make("div", { class: "amp-y-name" }, labels.y));
  const nodes = new Map();
  front.addEventListener("click", (event) => {
    const dot = event.target.closest("[data-layer]");
    if (dot) onPick(dot.dataset.layer);
  });

  function drawRoofs(lines) {
    roofs.replaceChildren(...lines.map(({ kind, line }) => svgNode("polyline", {
      class: `amp-roof amp-roof-${kind}`, "vector-effect": "non-scaling-stroke",
      points: line.map(([x, y]) => `${100 * x},${100 * (1 - y)}`).join(" "),
    })));
  }

  function drawDots(dots, chosen) {
    const kept = new Set(dots.map((dot) => dot.key));
    for (const [key, node] of nodes) {
      if (!kept.has(key)) { node.remove(); nodes.delete(key); }
    }
    for (const dot of dots) {
      if (!nodes.has(dot.key)) {
        nodes.set(dot.key, make("span", { "data-layer": dot.key }));
        front.append(nodes.get(dot.key));
      }
      const node = nodes.get(dot.key);
      node.className = dot.own ? "amp-own" : `amp-layer amp-by-${dot.bound}`;
      node.classList.toggle("amp-chosen", dot.key === chosen);
      node.title = dot.title;
      node.textContent = dot.own ? "\u2715" : "";
      node.style.left = share(dot.at[0]);
      node.style.top = share(1 - dot.at[1]);
      node.style.setProperty("--amp-size", `${(6 + 90 * Math.sqrt(dot.size)).toFixed(1)}px`);
    }
  }

  function drawTicks({ x, y }) {
    marks.replaceChildren(
      ...x.map(([at, told]) => make("span", { class: "amp-x-mark", style: `left: ${share(at)}` }, told)),
      ...y.map(([at, told]) => make("span", { class: "amp-y-mark", style: `top: ${share(1 - at)}` }, told)));
  }

  return {
    root,
    fill(readout) {
      if (!marks.childElementCount) drawTicks(readout.ticks);
      drawRoofs(readout.roofs);
      const [, ridge] = readout.roofs[1].line;
      name.textContent = readout.roof_name;
      name.style.top = share(1 - ridge[1]);
      drawDots(readout.dots, readout.layer);
    },
  };
}

/** Bars for the kinds of layers that do no matrix arithmetic. */
function memoryStrip(labels, onPick) {
  const list = make("div", { class: "amp-strip-bars" });
  const root = make("div", { class: "amp-strip", "aria-hidden": "true" },
    make("div", { class: "amp-strip-name" }, labels.strip), list);
  list.addEventListener("click", (event) => {
    const bar = event.target.closest("[data-layer]");
    if (bar) onPick(bar.dataset.layer);
  });
  return {
    root,
    fill(strip, chosen) {
      list.replaceChildren(...strip.map(({ key, share: part, told }) => {
        const bar = make("span", { class: "amp-strip-bar" });
        bar.style.width = share(part);
        return make("div", {
          class: `amp-strip-row${key === chosen ? " amp-chosen" : ""}`, "data-layer": key,
        }, make("span", {}, key), make("span", { class: "amp-strip-track" }, bar), make("b", {}, told));
      }));
    },
  };
}

function roofLegend(labels) {
  const item = (kind, text, sign = "") => make("span", { class: "amp-legend-item" },
    make("span", { class: `amp-legend-${kind}`, "aria-hidden": "true" }, sign), text);
  return make("p", { class: "amp-roof-legend" }, item("arithmetic", labels.legend_arithmetic),
    item("memory", labels.legend_memory), item("own", labels.legend_own, "\u2715"),
    item("base", labels.legend_fp32), make("span", {}, labels.legend_size));
}

function drawPanel(model, el) {
  const labels = model.get("labels");
  const choices = model.get("choices");
  const silent = make("p", { class: "amp-problem", role: "alert" });
  const mail = courier(model, (quiet) => { silent.textContent = quiet ? labels.silent : ""; });
  const send = (gesture) => (to) => mail.send({ gesture, to });
  const device = pickOne(labels.device, send("device"));
  const recipe = radioGroup(labels.recipe, choices.recipe, send("recipe"));
  const layer = pickOne(labels.layer, send("layer"));
  const window_ = radioGroup(labels.window, choices.window, send("window"));
  const channels = channelSlider(labels.channels, choices.channels, mail);
  const chart = roofChart(labels, send("layer"));
  const strip = memoryStrip(labels, send("layer"));
  const rows = readoutList(labels);
  const status = make("p", { class: "amp-sentence", role: "status" });
  const tell = teller(status);

  el.append(make("div", { class: "amp amp-roofline" }, make("div", { class: "amp-panel" },
    make("div", { class: "amp-entry" }, device.root, recipe.root, layer.root),
    make("div", { class: "amp-entry" }, window_.root, channels.root, silent),
    make("div", { class: "amp-roof-halves" }, chart.root, strip.root),
    roofLegend(labels), status, rows.list)));

  function fill() {
    const readout = model.get("readout");
    device.show(choices.device, readout.device);
    recipe.show(readout.recipe);
    layer.show(readout.layers, readout.layer);
    window_.show(readout.window);
    channels.show(readout.channels);
    chart.fill(readout);
    strip.fill(readout.strip, readout.layer);
    rows.fill(readout.rows);
    tell(readout.sentence);
  }

  fill();
  model.on("change:readout", fill);
  return () => {
    mail.stop();
    model.off("change:readout", fill);
  };
}

export default {
  render({ model, el }) {
    const undraw = drawPanel(model, el);
    keepKeys(el);
    return undraw;
  },
};
