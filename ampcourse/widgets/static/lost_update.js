// The lost-update panel: draws what Python computed and sends gestures back.

/** The slider over Δ: positions come from Python, the text beside it too. */
function deltaSlider(labels, mail) {
  const input = make("input", { type: "range", min: "0", step: "1", class: "amp-delta-range" });
  const output = make("output", { class: "amp-delta-size" });
  const root = make("label", { class: "amp-delta" },
    make("span", { class: "amp-label" }, labels.slider), input, output);
  input.addEventListener("input", () => mail.drag({ gesture: "slide", to: input.value }));
  return {
    root,
    show([position, end, size], delta) {
      input.max = end;
      // What the hand is moving is ahead of Python; leave it until the last answer.
      if (!(document.activeElement === input && mail.busy())) input.value = position;
      input.setAttribute("aria-valuetext", delta);
      drawMarkup(output, size);
    },
  };
}

/** The number line around w. The sum stands above the axis, w and the result below it. */
function updateLine(labels) {
  const root = make("div", { class: "amp-update-line", "aria-hidden": "true" });
  const percent = (at) => `${(100 * at).toFixed(3)}%`;

  function put(kind, at, text) {
    const node = make("span", { class: `amp-at amp-at-${kind}` });
    node.style.left = percent(Math.min(Math.max(at, 0), 1));
    if (text) {
      const label = make("span", { class: "amp-at-label" });
      drawMarkup(label, text);
      if (at < 0.18) label.classList.add("amp-start");
      if (at > 0.82) label.classList.add("amp-end");
      node.append(label);
    }
    return node;
  }

  function stretch(kind, from, to) {
    const node = make("span", { class: `amp-stretch amp-stretch-${kind}` });
    node.style.left = percent(Math.min(from, to));
    node.style.width = percent(Math.abs(to - from));
    return node;
  }

  function jump(line) {
    if (!line.result || line.result[0] === line.exact) return [];
    const node = stretch("jump", line.exact, line.result[0]);
    node.classList.add(line.result[0] < line.exact ? "amp-leftward" : "amp-rightward");
    return [node];
  }

  return {
    root,
    fill(line) {
      const [from, to] = line.zone.ends;
      const result = line.lost
        ? [put("w amp-at-lost", line.w[0], `${labels.both} = ${line.w[1]}`)]
        : [put("w", line.w[0], `${labels.weight} = ${line.w[1]}`),
          ...(line.result ? [put("result", line.result[0], `${labels.result} ${line.result[1]}`)] : [])];
      root.replaceChildren(
        ...(from === to ? [] : [stretch(line.zone.maybe ? "maybe" : "zone", from, to)]),
        make("span", { class: "amp-update-axis" }),
        ...line.marks.map(([at, border]) => put(border ? "border" : "number", at)),
        ...line.spacings.map(([at, text]) => put("spacing", at, text)),
        ...result, ...jump(line), put("exact", line.exact, labels.exact));
    },
  };
}

/** Stochastic rounding: the chance, the expectation, buttons to draw, the tally as two bars. */
function chancePanel(labels, mail) {
  const told = make("p", {});
  const expected = make("p", {});
  const tally = make("p", {});
  const bars = make("div", { class: "amp-tally" });
  const button = (label, times) => {
    const node = make("button", { type: "button", class: "amp-button" }, label);
    node.addEventListener("click", () => mail.send({ gesture: "draw", times }));
    return node;
  };
  const one = button(labels.drawOne, 1);
  const many = button(labels.drawMany, 100);
  const root = make("div", { class: "amp-chance", role: "group", "aria-label": labels.draws },
    told, expected, make("div", { class: "amp-draws" }, one, many, tally), bars);

  function drawBar(bar) {
    const label = make("span", { class: "amp-tally-label" });
    drawMarkup(label, bar.label);
    const track = make("span", { class: "amp-track" }, make("span", { class: "amp-fill" }),
      make("span", { class: "amp-goal" }));
    track.firstChild.style.width = `${100 * bar.share}%`;
    track.lastChild.style.left = `${100 * bar.expected}%`;
    return make("div", { class: "amp-tally-row" }, label, track);
  }

  return {
    root,
    fill(chance) {
      root.hidden = !chance;
      if (!chance) return;
      drawMarkup(told, chance.told);
      drawMarkup(expected, chance.expected);
      drawMarkup(tally, chance.tally);
      one.disabled = many.disabled = chance.certain;
      bars.replaceChildren(...chance.bars.map(drawBar));
    },
  };
}

function drawPanel(model, el) {
  const labels = model.get("labels");
  const choices = model.get("choices");
  const silent = make("p", { class: "amp-problem", role: "alert" });
  const mail = courier(model, (quiet) => { silent.textContent = quiet ? labels.silent : ""; });
  const send = (gesture) => (to) => mail.send({ gesture, to });
  const formats = radioGroup(labels.formats, choices.formats, send("format"));
  const modes = radioGroup(labels.modes, choices.modes, send("mode"));
  const signs = radioGroup(labels.signs, choices.signs, send("sign"));
  const w = numberField({ number: labels.w, encode: labels.setW }, send("w"));
  const delta = numberField({ number: labels.delta, encode: labels.setDelta }, send("delta"));
  const fields = { w, delta };
  const slider = deltaSlider(labels, mail);
  const verdict = make("span", { class: "amp-verdict" });
  const sum = make("span", { class: "amp-sum" });
  const line = updateLine(labels);
  const zone = make("p", { class: "amp-legend" });
  const every = make("p", { class: "amp-legend" });
  const chance = chancePanel(labels, mail);
  const list = readoutList(labels);
  const note = make("p", { class: "amp-note" });
  const status = make("p", { class: "amp-sentence", role: "status" });
  const tell = teller(status);

  el.append(make("div", { class: "amp amp-update" }, make("div", { class: "amp-panel" },
    formats.root, modes.root,
    make("div", { class: "amp-entry" }, w.form, delta.form, signs.root,
      w.problem, delta.problem, silent, note),
    slider.root,
    make("div", { class: "amp-outcome" }, verdict, sum),
    make("div", {}, line.root, make("div", { class: "amp-legends" }, zone, every)),
    chance.root, status, list.list)));

  function fill() {
    const readout = model.get("readout");
    formats.show(readout.format);
    modes.show(readout.mode);
    signs.show(readout.sign);
    w.show(readout.w);
    delta.show(readout.delta);
    slider.show(readout.slider, readout.delta);
    verdict.textContent = readout.verdict;
    verdict.classList.toggle("amp-is-lost", readout.lost);
    drawMarkup(sum, readout.sum);
    line.fill(readout.line);
    zone.textContent = readout.line.zone.label;
    every.textContent = readout.line.every;
    chance.fill(readout.chance);
    note.textContent = readout.note;
    list.fill(readout.rows);
    tell(readout.sentence);
  }

  function refuse() {
    const problem = model.get("problem");
    for (const [name, field] of Object.entries(fields)) {
      field.refuse(problem.field === name ? problem : {});
    }
  }

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
