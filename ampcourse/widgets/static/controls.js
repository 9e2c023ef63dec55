// Controls that several widgets share: radio buttons drawn as pills, the list of read-outs.

/** A row of radio buttons with a name; `options` are [what is sent, what is shown]. */
function radioGroup(label, options, onChoice) {
  const name = `amp-${Math.random().toString(36).slice(2)}`;
  const inputs = new Map();
  const pills = options.map(([value, shown]) => {
    const input = make("input", { type: "radio", name, value });
    input.addEventListener("change", () => onChoice(value));
    inputs.set(value, input);
    return make("label", { class: "amp-pill" }, input, shown);
  });
  const root = make("div", { class: "amp-choice" },
    make("span", { class: "amp-label", id: name }, label),
    make("div", { class: "amp-pills", role: "radiogroup", "aria-labelledby": name }, ...pills));
  return { root, show(value) { inputs.get(value).checked = true; } };
}

/** Put a text into a live region once it has settled, so that a drag is not read out. */
function teller(status) {
  let timer = 0;
  return (sentence) => {
    clearTimeout(timer);
    timer = setTimeout(() => { drawMarkup(status, sentence); }, status.textContent ? 250 : 0);
  };
}

/** The list of read-outs; rows stay in place so that an opened one stays open. */
function readoutList(labels) {
  const list = make("dl", { class: "amp-rows", "aria-label": labels.readouts });
  const rows = new Map();

  function rowOf(key, term) {
    if (!rows.has(key)) {
      const shown = make("span", {});
      const full = make("code", {});
      const details = make("details", { class: "amp-full" },
        make("summary", {}, labels.full), full);
      list.append(make("div", { class: `amp-row amp-row-${key}` },
        make("dt", {}, term), make("dd", { "data-key": key }, shown, details)));
      rows.set(key, { shown, full, details });
    }
    return rows.get(key);
  }

  return {
    list,
    fill(data) {
      for (const { key, term, pieces, full } of data) {
        const row = rowOf(key, term);
        drawPieces(row.shown, pieces);
        row.full.textContent = full;
        row.details.hidden = !full;
      }
    },
  };
}
