// The block FMA's panel: draws what Python computed; a stage only shows more of it.

const STAGE = { exponents: 1, alignment: 2, cut: 3, sum: 4, rounding: 5 };

/** The numbers: one row of fields for each term, one for C, a button for another term. */
function numberList(labels, mail) {
  const rows = make("div", { class: "amp-terms" });
  const problem = problemLine();
  const add = make("button", { type: "button", class: "amp-button" }, labels.add);
  const known = new Map();
  let focusNext = null;

  const send = (field) => (text) => mail.send({ gesture: "number", field, text });
  add.addEventListener("click", () => {
    const places = new Set([...known.keys()]);
    let free = 0;
    while (places.has(free)) free += 1;
    focusNext = `a${free}`;
    mail.send({ gesture: "add" });
  });

  function termRow(place) {
    const sub = (letter) => `${letter} ${place}`;
    const k = numberInput(`k${place}`, labels.place, (text) => {
      focusNext = `k${Number(text)}`;
      mail.send({ gesture: "place", field: `k${place}`, text });
    });
    k.input.setAttribute("inputmode", "numeric");
    k.input.classList.add("amp-place");
    k.show(String(place));
    const a = numberInput(`a${place}`, sub(labels.a), send(`a${place}`));
    const b = numberInput(`b${place}`, sub(labels.b), send(`b${place}`));
    const remove = make("button", {
      type: "button", class: "amp-button amp-remove", "aria-label": `${labels.remove} ${place}`,
      title: `${labels.remove} ${place}`,
    }, "\u00d7");
    remove.addEventListener("click", () => {
      const places = [...known.keys()].sort((x, y) => x - y);
      const next = places[places.indexOf(place) + 1] ?? places[places.indexOf(place) - 1];
      focusNext = next === undefined ? "add" : `a${next}`;
      mail.send({ gesture: "remove", place });
    });
    const notes = make("span", { class: "amp-notes" });
    const root = make("div", { class: "amp-term", role: "group", "aria-label": sub(labels.term) },
      make("span", { class: "amp-term-name", "aria-hidden": "true" }, "k"), k.input,
      a.input, make("span", { "aria-hidden": "true" }, "·"), b.input, remove, notes);
    return { root, a, b, notes };
  }

  const c = numberInput("c", labels.c, send("c"));
  const cNotes = make("span", { class: "amp-notes" });
  const cRow = make("div", { class: "amp-term amp-term-c" },
    make("span", { class: "amp-term-name", "aria-hidden": "true" }, labels.c), c.input, cNotes);

  function fill(numbers) {
    const places = new Set(numbers.terms.map((term) => term.place));
    for (const [place, row] of known) {
      if (!places.has(place)) { row.root.remove(); known.delete(place); }
    }
    numbers.terms.forEach((term, i) => {
      if (!known.has(term.place)) known.set(term.place, termRow(term.place));
      const row = known.get(term.place);
      if (rows.children[i] !== row.root) rows.insertBefore(row.root, rows.children[i] ?? null);
      row.a.show(term.a);
      row.b.show(term.b);
      row.notes.replaceChildren(...noteLines(term.notes));
    });
    c.show(numbers.c.text);
    cNotes.replaceChildren(...noteLines(numbers.c.notes));
    rows.append(cRow);
    if (focusNext && !rows.querySelector("[aria-invalid=true]")) {
      const next = focusNext === "add" ? add : rows.querySelector(`[data-field=${focusNext}]`);
      next?.focus();
      focusNext = null;
    }
  }

  function refuse(refusal) {
    if (refusal.message) focusNext = null;
    showRefusal(rows, problem, refusal);
  }

  const root = make("div", { class: "amp-numbers", role: "group", "aria-label": labels.numbers },
    rows, problem,
    make("div", { class: "amp-actions" }, add, make("span", { class: "amp-hint" }, labels.number_hint)));
  return { root, fill, refuse };
}

function noteLines(notes) {
  return notes.map((text) => {
    const line = make("span", {});
    drawMarkup(line, text);
    return line;
  });
}

/** The digits of one row, at their columns; `stage` decides what is struck. */
function drawStrip(row, stage, isResult) {
  const cell = make("td", { role: "cell", class: "amp-bits-cell" });
  if (!row.strip) return cell;
  const aligned = isResult || stage >= STAGE.alignment;
  const digits = aligned ? row.strip.digits : row.own.digits;
  const point = aligned ? row.strip.point : row.own.point;
  const start = aligned ? row.strip.start : 1 - row.own.point;
  const cutStage = isResult ? STAGE.rounding : STAGE.cut;
  const cut = aligned && stage >= cutStage ? row.strip.cut : digits.length;
  const line = make("span", { class: "amp-line-bits", "aria-hidden": "true" });
  line.style.setProperty("--start", start);
  [...digits].forEach((digit, i) => {
    const kinds = ["amp-b", digit === "1" ? "amp-b1" : "amp-b0"];
    if (i >= cut) kinds.push("amp-off");
    if (i === point && i + 1 < digits.length && !isResult) kinds.push("amp-point");
    line.append(make("span", { class: kinds.join(" ") }, digit));
  });
  if (aligned && row.strip.rest) {
    const gone = stage >= cutStage && row.strip.far;
    const rest = make("span", { class: gone ? "amp-rest amp-off-far" : "amp-rest" });
    drawMarkup(rest, row.strip.rest);
    line.append(rest);
  }
  cell.append(make("span", { class: "amp-sign-mark", "aria-hidden": "true" }, row.minus ? "\u2212" : "+"),
    line, make("span", { class: "amp-spoken" }, row.spoken));
  return cell;
}

function drawTerm(row, stage, labels, isResult) {
  const label = make("th", { role: "rowheader", scope: "row" });
  drawMarkup(label, row.label);
  const value = make("td", { role: "cell", class: "amp-value" });
  drawMarkup(value, row.value);
  const exponent = make("td", { role: "cell", class: "amp-exp" });
  if (stage >= STAGE.exponents && row.exponent) {
    drawMarkup(exponent, row.exponent);
    if (row.largest) exponent.append(" ", make("span", { class: "amp-largest" }, labels.largest));
  }
  const kind = isResult ? `amp-total amp-total-${row.key}` : null;
  return make("tr", { role: "row", "data-row": row.key, class: kind },
    label, value, exponent, drawStrip(row, stage, isResult));
}

/** The table of terms, with the scale over the bits from the alignment on. */
function blockTable(labels) {
  const body = make("tbody", { role: "rowgroup" });
  const scale = make("div", { class: "amp-scale", "aria-hidden": "true" });
  const head = (name, ...more) => make("th",
    { role: "columnheader", scope: "col", class: `amp-head-${name}` }, labels[name], ...more);
  const table = make("table", { role: "table", class: "amp-block", "aria-label": labels.picture },
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" },
      head("term"), head("product"), head("exponent"), head("bits", scale))), body);
  let shownStage = null;
  const root = make("div",
    { class: "amp-scroll", tabindex: "0", role: "region", "aria-label": labels.picture }, table);

  function fill(block, stage) {
    const results = block.results.filter((row) => (
      row.key === "sum" ? stage >= STAGE.sum : stage >= STAGE.rounding));
    root.dataset.stage = stage;
    root.style.setProperty("--columns", block.columns);
    root.style.setProperty("--kept", block.kept);
    body.replaceChildren(
      ...block.terms.map((row) => drawTerm(row, stage, labels, false)),
      ...results.map((row) => drawTerm(row, stage, labels, true)));
    scale.replaceChildren(...(stage >= STAGE.alignment ? block.marks : []).map((mark) => {
      const node = make("span", { class: `amp-scale-mark amp-scale-${mark.kind}` });
      node.style.setProperty("--at", mark.column);
      drawMarkup(node, mark.label);
      return node;
    }));
    bringIntoView(stage);
  }

  /** Where the page is too narrow, show the cut once it is drawn, and the first bits before. */
  function bringIntoView(stage) {
    if (root.scrollWidth <= root.clientWidth || stage === shownStage) return;
    shownStage = stage;
    const bits = body.querySelector(".amp-bits-cell");
    const width = parseFloat(getComputedStyle(bits).getPropertyValue("padding-left")) / 1.5;
    const cut = bits.offsetLeft + width * (Number(root.style.getPropertyValue("--kept")) + 6);
    root.scrollLeft = stage < STAGE.cut ? 0 : Math.max(0, cut - root.clientWidth);
  }
  return { root, fill };
}

/** Previous and next, the stages and, where there are several, the blocks as radio buttons. */
function stepper(labels, stages, onStep) {
  const button = (name) => make("button",
    { type: "button", class: "amp-button", "data-step": name }, labels[name]);
  const previous = button("previous");
  const next = button("next");
  let step = 0;
  let count = 0;
  const stage = radioGroup(labels.stages, stages.map((name, i) => [String(i), `${i + 1} ${name}`]),
    (to) => onStep(Math.floor(step / stages.length) * stages.length + Number(to)));
  const blockPlace = make("div", {});
  let blocks = null;
  previous.addEventListener("click", () => onStep(step - 1));
  next.addEventListener("click", () => onStep(step + 1));

  function show(to, blockCount) {
    step = to;
    if (blockCount !== count) {
      count = blockCount;
      const names = Array.from({ length: count }, (_, i) => [String(i), String(i + 1)]);
      blocks = radioGroup(labels.blocks, names,
        (i) => onStep(Number(i) * stages.length + (step % stages.length)));
      blockPlace.replaceChildren(...(count > 1 ? [blocks.root] : []));
    }
    stage.show(String(step % stages.length));
    blocks.show(String(Math.floor(step / stages.length)));
    // Not disabled: a button that goes away under the focus loses a keyboard user's place.
    previous.setAttribute("aria-disabled", String(step === 0));
    next.setAttribute("aria-disabled", String(step + 1 === count * stages.length));
  }
  const root = make("div", { class: "amp-stepper" },
    stage.root, make("div", { class: "amp-actions" }, previous, next), blockPlace);
  return { root, show };
}

function selectors(labels, setup, mail) {
  const groups = Object.fromEntries(["gpu", "input", "output"].map((name) => [name,
    radioGroup(labels[name], setup[name].map(([option]) => [option, option]),
      (to) => mail.send({ gesture: name, to }))]));
  const root = make("div", { class: "amp-selectors" },
    ...Object.values(groups).map((group) => group.root));

  function show(now) {
    for (const [name, group] of Object.entries(groups)) {
      const inputs = [...group.root.querySelectorAll("input")];
      now[name].forEach(([option, chosen, legal], i) => {
        inputs[i].disabled = !legal;
        if (chosen) group.show(option);
      });
    }
  }
  return { root, show };
}

function everyGpu(labels) {
  const list = make("dl", { class: "amp-every" });
  const root = make("details", { class: "amp-every-box" }, make("summary", {}, labels.every), list);
  return {
    root,
    fill(groups) {
      list.replaceChildren(...groups.flatMap(([names, value, here]) => {
        const dd = make("dd", {});
        drawMarkup(dd, value);
        return [make("dt", { class: here ? "amp-here" : "" }, names), dd];
      }));
    },
  };
}

function drawPanel(model, el) {
  const labels = model.get("labels");
  const stages = model.get("stages");
  const silent = make("p", { class: "amp-problem", role: "alert" });
  const mail = courier(model, (quiet) => { silent.textContent = quiet ? labels.silent : ""; });
  const choose = selectors(labels, model.get("setup"), mail);
  const numbers = numberList(labels, mail);
  const presets = make("div",
    { class: "amp-actions amp-presets", role: "group", "aria-label": labels.presets },
    make("span", { class: "amp-label" }, labels.presets),
    ...model.get("presets").map(([key, label]) => {
      const button = make("button", { type: "button", class: "amp-button", "data-preset": key });
      drawMarkup(button, label);
      button.addEventListener("click", () => mail.send({ gesture: "preset", to: key }));
      return button;
    }));
  const title = make("p", { class: "amp-block-title" });
  const evidence = make("p", { class: "amp-evidence" });
  const note = make("p", { class: "amp-note" });
  const name = make("p", { class: "amp-block-name" });
  const zeros = make("p", { class: "amp-zeros" });
  const told = make("p", { class: "amp-sentence", role: "status" });
  const table = blockTable(labels);
  const every = everyGpu(labels);
  const steps = stepper(labels, stages, (to) => {
    const last = model.get("blocks").length * stages.length - 1;
    model.set("step", Math.min(Math.max(to, 0), last));
    model.save_changes();
  });
  const legend = make("p", { class: "amp-bit-legend" }, labels.legend, " ",
    make("span", { class: "amp-b amp-b1", "aria-hidden": "true" }, "1"), ` ${labels.legend_kept}  `,
    make("span", { class: "amp-b amp-b1 amp-off", "aria-hidden": "true" }, "1"), ` ${labels.legend_cut}  `,
    make("span", { class: "amp-b amp-b1 amp-point", "aria-hidden": "true" }, "1"), ` ${labels.legend_point}`);

  el.append(make("div", { class: "amp" }, make("div", { class: "amp-panel amp-fma" },
    choose.root, note, presets,
    numbers.root, silent,
    make("div", {}, title, evidence), steps.root, name, told, table.root,
    make("div", { class: "amp-foot" }, zeros, legend), every.root)));

  function drawStep() {
    const blocks = model.get("blocks");
    const step = Math.min(model.get("step"), blocks.length * stages.length - 1);
    const block = blocks[Math.floor(step / stages.length)];
    const stage = step % stages.length;
    steps.show(step, blocks.length);
    name.textContent = blocks.length > 1 ? block.name : "";
    drawMarkup(told, block.sentences[stage]);
    zeros.textContent = block.zeros;
    table.fill(block, stage);
  }

  function fill() {
    const setup = model.get("setup");
    choose.show(setup);
    drawMarkup(title, setup.title);
    evidence.textContent = setup.evidence;
    note.textContent = setup.note;
    numbers.fill(model.get("numbers"));
    every.fill(model.get("every"));
    drawStep();
  }

  const refuse = () => numbers.refuse(model.get("problem"));
  // One answer changes several traits; draw once, when all of them are there.
  let due = false;
  const soon = () => {
    if (due) return;
    due = true;
    queueMicrotask(() => { due = false; refuse(); fill(); });
  };
  refuse();
  fill();
  const changes = { "change:step": drawStep };
  for (const trait of ["setup", "numbers", "blocks", "every", "problem"]) {
    changes[`change:${trait}`] = soon;
  }
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
