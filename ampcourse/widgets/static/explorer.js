// The bit explorer's panel: draws what Python computed and sends gestures back.

/** The row of fields. Bits are counted from the left; one of them is in the tab order. */
function bitGrid(labels, courier) {
  const root = make("div", { class: "amp-bits", role: "toolbar" });
  let buttons = [];
  let starts = [];
  let current = 0;
  let implicit = null;

  function focusBit(place, move = true) {
    current = Math.min(Math.max(place, 0), buttons.length - 1);
    buttons.forEach((button, i) => { button.tabIndex = i === current ? 0 : -1; });
    if (move) buttons[current].focus();
  }

  const weight = (place) => buttons.length - 1 - place;
  const flip = (place) => courier.send({ gesture: "flip", bit: weight(place) });
  const set = (place, one) => courier.send({ gesture: "set", bit: weight(place), one });

  function fieldStart(step) {
    const field = starts.findLastIndex((start) => start <= current);
    return starts[Math.min(Math.max(field + step, 0), starts.length - 1)];
  }

  const keys = {
    ArrowLeft: () => focusBit(current - 1),
    ArrowRight: () => focusBit(current + 1),
    ArrowUp: () => focusBit(fieldStart(-1)),
    ArrowDown: () => focusBit(fieldStart(1)),
    Home: () => focusBit(0),
    End: () => focusBit(buttons.length - 1),
    " ": () => flip(current),
    Enter: () => flip(current),
    0: () => { set(current, false); focusBit(current + 1); },
    1: () => { set(current, true); focusBit(current + 1); },
  };

  root.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  root.addEventListener("click", (event) => {
    const place = buttons.indexOf(event.target.closest(".amp-bit"));
    if (place < 0) return;
    focusBit(place);
    flip(place);
  });

  function drawBit(field, i) {
    const button = make("button", {
      type: "button", class: "amp-bit", tabindex: "-1", "aria-label": field.names[i],
      "aria-pressed": "false",
    }, make("span", { class: "amp-digit" }), make("span", { class: "amp-weight" }));
    drawMarkup(button.lastChild, field.weights[i]);
    buttons.push(button);
    return button;
  }

  function drawField(field) {
    starts.push(buttons.length);
    const cells = make("div", { class: "amp-cells" });
    // Long fields break between groups of four, counted from the right as hex digits are.
    const width = field.weights.length;
    const first = width > 12 ? width % 4 || 4 : width;
    for (let start = 0; start < width; start = start ? start + 4 : first) {
      const group = make("span", { class: "amp-group" });
      for (let i = start; i < (start ? start + 4 : first); i += 1) group.append(drawBit(field, i));
      cells.append(group);
    }
    return make("div", { class: `amp-field amp-field-${field.field}` },
      make("div", { class: "amp-field-title" }, field.title), cells);
  }

  function drawImplicit() {
    implicit = make("span", { class: "amp-digit" });
    return make("div", { class: "amp-field amp-field-implicit" },
      make("div", { class: "amp-field-title" }, labels.implicit),
      make("div", { class: "amp-cells" }, make("span", { class: "amp-ghost" }, implicit)));
  }

  function reshape(shape) {
    const hadFocus = root.contains(document.activeElement);
    buttons = [];
    starts = [];
    const fields = shape.fields.map((field) => drawField(field));
    const exponent = shape.fields.findIndex((field) => field.field === "exponent");
    fields.splice(exponent + 1, 0, drawImplicit());
    root.replaceChildren(...fields);
    root.classList.toggle("amp-wide", buttons.length > 19);
    root.setAttribute("aria-label", shape.title);
    focusBit(current, hadFocus);
  }

  function fill(readout) {
    buttons.forEach((button, i) => {
      const bit = readout.bits[i];
      button.firstChild.textContent = bit;
      button.setAttribute("aria-pressed", String(bit === "1"));
    });
    implicit.textContent = readout.implicit || "–";
  }
  return { root, reshape, fill };
}

/** One slider with its name and its value as text. */
function slider(labels, name, courier) {
  const input = make("input", { type: "range", min: "0", step: "1", class: `amp-range-${name}` });
  const output = make("output", { class: "amp-slider-value" });
  const row = make("label", { class: `amp-slider amp-slider-${name}` },
    make("span", { class: "amp-label" }, labels[name]), input, output);
  input.addEventListener("input", () => {
    courier.drag({ gesture: name, to: input.value });
  });

  function show(min, max, value) {
    input.min = min;
    input.max = max;
    // What the hand is moving is ahead of Python; leave it until the last answer.
    if (!(document.activeElement === input && courier.busy())) input.value = value;
    output.textContent = value;
    input.disabled = Number(max) <= Number(min);
  }
  return { row, show };
}

/** The stretch of the number line between the two neighbours. */
function numberLine(labels) {
  const root = make("div", { class: "amp-line", "aria-hidden": "true" });
  const percent = (at) => `${(100 * at).toFixed(2)}%`;

  function mark(kind, at, text) {
    const node = make("span", { class: `amp-mark amp-mark-${kind}` },
      make("span", { class: "amp-tick" }));
    node.style.left = percent(at);
    if (text) {
      const label = make("span", { class: "amp-mark-label" });
      drawMarkup(label, text);
      if (at < 0.15) label.classList.add("amp-start");
      if (at > 0.85) label.classList.add("amp-end");
      node.append(label);
    }
    return node;
  }

  function typedMark(line, typed) {
    if (line.typed === null) return [];
    if (line.typed < 0) return [mark("typed", 0, `◀ ${typed}`)];
    if (line.typed > 1) return [mark("typed", 1, `${typed} ▶`)];
    return [mark("typed", line.typed, `${labels.typed} ${typed}`)];
  }

  return {
    root,
    fill(line, typed) {
      root.hidden = !line;
      if (!line) return;
      const kinds = ["below", "here", "above"];
      root.replaceChildren(make("span", { class: "amp-axis" }),
        ...line.boundaries.map((at) => mark("boundary", at)),
        ...line.ticks.map(([at, text], i) => mark(kinds[i], at, text)),
        ...typedMark(line, typed));
    },
  };
}

/** ipywidgets draws radio buttons without name or group: give them both. */
function adoptRadios(box, labels) {
  const name = `amp-${Math.random().toString(36).slice(2)}`;
  const group = box.querySelector(".widget-radio-box");
  if (!group) return;
  group.setAttribute("role", "radiogroup");
  group.setAttribute("aria-label", labels.formats);
  const nameAll = () => group.querySelectorAll("input").forEach((radio) => { radio.name = name; });
  nameAll();
  new MutationObserver(nameAll).observe(group, { childList: true });
}

function drawPanel(model, el) {
  const labels = model.get("labels");
  const silent = make("p", { class: "amp-problem", role: "alert" });
  const mail = courier(model, (quiet) => { silent.textContent = quiet ? labels.silent : ""; });
  const field = numberField(labels, (text) => mail.send({ gesture: "number", text }));
  const grid = bitGrid(labels, mail);
  const act = (gesture) => {
    const button = make("button", { type: "button", class: "amp-button" }, labels[gesture]);
    button.addEventListener("click", () => mail.send({ gesture }));
    return button;
  };
  const actions = Object.fromEntries(["negate", "below", "above"].map((g) => [g, act(g)]));
  const sliders = Object.fromEntries(
    ["exponentField", "significandField", "exponentWidth", "significandWidth"]
      .map((name) => [name, slider(labels, name, mail)]));
  const sliderGroup = make("div", { class: "amp-sliders", role: "group",
    "aria-label": labels.sliders }, ...Object.values(sliders).map((s) => s.row));
  const title = make("p", { class: "amp-title" });
  const formula = make("div", { class: "amp-formula" });
  const kind = make("span", { class: "amp-kind" });
  const line = numberLine(labels);
  const list = readoutList(labels);
  const note = make("p", { class: "amp-note" });
  const status = make("p", { class: "amp-sentence", role: "status" });

  el.append(make("div", { class: "amp" }, make("div", { class: "amp-panel" },
    title,
    make("div", { class: "amp-entry" }, field.form,
      make("div", { class: "amp-actions", role: "group", "aria-label": labels.actions },
        ...Object.values(actions)),
      field.problem, silent, note),
    make("div", {}, grid.root, make("p", { class: "amp-keys" }, labels.keys)),
    make("div", { class: "amp-result" }, formula, kind),
    status,
    sliderGroup, line.root, list.list)));

  let telling = 0;
  function tell(sentence) {
    clearTimeout(telling);
    telling = setTimeout(() => { status.textContent = sentence; }, status.textContent ? 250 : 0);
  }

  function fill() {
    const shape = model.get("shape");
    const readout = model.get("readout");
    grid.fill(readout);
    drawPieces(formula, readout.formula);
    kind.textContent = readout.kind;
    sliders.exponentField.show(0, 2 ** shape.exponentBits - 1, readout.exponentField);
    sliders.significandField.show(0, 2 ** shape.significandBits - 1, readout.significandField);
    line.fill(readout.line, readout.typed);
    list.fill(readout.rows);
    note.textContent = readout.note;
    tell(readout.sentence);
    field.show(readout.typed);
  }

  function reshape() {
    const shape = model.get("shape");
    title.textContent = shape.title;
    grid.reshape(shape);
    // Room for the longest value, so that no track moves under the hand.
    const digits = String(2 ** Math.max(shape.exponentBits, shape.significandBits)).length;
    sliderGroup.style.setProperty("--amp-digits", `${digits}ch`);
    sliders.exponentWidth.show(2, 11, shape.exponentBits);
    sliders.significandWidth.show(Math.min(1, shape.significandBits), 52, shape.significandBits);
    actions.negate.disabled = !shape.signed;
    fill();
  }

  const refuse = () => field.refuse(model.get("problem"));
  reshape();
  refuse();
  model.on("change:shape", reshape);
  model.on("change:readout", fill);
  model.on("change:problem", refuse);
  return () => {
    mail.stop();
    model.off("change:shape", reshape);
    model.off("change:readout", fill);
    model.off("change:problem", refuse);
  };
}

export default {
  render({ model, el }) {
    const undraw = drawPanel(model, el);
    const detach = whenAttached(el, () => {
      const box = el.closest(".amp-explorer") ?? el;
      keepKeys(box);
      adoptRadios(box, model.get("labels"));
    });
    return () => { detach(); undraw(); };
  },
};
