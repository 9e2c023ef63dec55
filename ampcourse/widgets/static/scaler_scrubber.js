// The scaler scrubber: the timeline of a loss scale, a slider through it, what each step did.

/** The part of the settings that is typed or slid. */
function settingControls(labels, mail) {
  const problem = problemLine();
  const fields = Object.fromEntries(["init_scale", "growth_factor", "backoff_factor"].map((name) => [
    name, numberInput(name, labels[name], (text) => mail.send({ gesture: "setting", field: name, text }))]));
  const interval = make("input", {
    type: "range", min: "1", step: "1", "aria-label": labels.growth_interval, "data-field": "growth_interval",
  });
  const output = make("output", {});
  interval.addEventListener("input", () => {
    output.textContent = interval.value;
    mail.drag({ gesture: "interval", to: interval.value });
  });
  const named = (name, ...controls) => make("div", { class: "amp-setting" },
    make("span", { class: "amp-label", "aria-hidden": "true" }, labels[name]), ...controls);
  const root = make("div", { class: "amp-settings", role: "group", "aria-label": labels.settings },
    ...Object.entries(fields).map(([name, field]) => named(name, field.input)),
    named("growth_interval", interval, output));

  function show(settings) {
    for (const [name, field] of Object.entries(fields)) field.show(settings[name]);
    interval.max = settings.longest;
    // What the hand is moving is ahead of Python; leave it until the last answer.
    if (document.activeElement === interval && mail.busy()) return;
    interval.value = settings.growth_interval;
    output.textContent = settings.growth_interval;
  }
  return { root, problem, show, refuse: (refusal) => showRefusal(root, problem, refusal) };
}

const MARKS = { skipped: "\u2715", grown: "\u25b2" };

/** Draw the scale as stairs: across each step at its height, then up or down to the next. */
function stairs(line) {
  const y = (height) => (height === null ? 101 : 100 * (line.high - height) / (line.high - line.low));
  return line.heights.map((height, i) => `${i ? "V" : "M0 "}${y(height).toFixed(2)}H${i + 1}`).join("");
}

/** The picture; a click on a step chooses it, the slider below does so by key. */
function timelineChart(labels, onStep) {
  const SVG = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("preserveAspectRatio", "none");
  path.setAttribute("vector-effect", "non-scaling-stroke");
  svg.append(path);
  const axis = make("div", { class: "amp-tl-axis-labels" });
  const columns = make("div", { class: "amp-columns" });
  const looks = [];
  const plot = make("div", { class: "amp-plot" }, svg, columns);
  const scroll = make("div", { class: "amp-plot-scroll" }, plot);
  const names = make("div", { class: "amp-tl-axis" },
    make("div", { class: "amp-tl-axis-scale" }, axis),
    make("div", { class: "amp-tl-axis-name" }, labels.event_axis),
    make("div", { class: "amp-tl-axis-name amp-tl-axis-tracker" }, labels.tracker_axis));
  const root = make("div", { class: "amp-timeline", "aria-hidden": "true" }, names, scroll);

  columns.addEventListener("click", (event) => {
    const column = event.target.closest(".amp-column");
    if (column) onStep([...columns.children].indexOf(column) + 1);
  });

  function drawColumn(line, i) {
    const kind = line.events[i];
    const bar = make("span", { class: "amp-tracker-bar" });
    bar.style.height = `${100 * line.trackers[i] / line.interval}%`;
    const number = (i + 1) % 5 === 0 || i === 0 ? String(i + 1) : "";
    return make("div", { class: `amp-column amp-${kind}` },
      make("span", { class: "amp-column-scale" }),
      make("span", { class: "amp-column-mark" }, MARKS[kind] ?? ""),
      make("span", { class: "amp-column-tracker" }, bar),
      make("span", { class: "amp-column-number" }, number));
  }

  function fill(line) {
    const count = line.heights.length;
    plot.style.setProperty("--steps", count);
    svg.setAttribute("viewBox", `0 0 ${count} 100`);
    path.setAttribute("d", stairs(line));
    axis.replaceChildren(...line.ticks.map(([at, label]) => {
      const node = make("span", { class: "amp-tl-axis-label" });
      node.style.top = `${100 * (line.high - at) / (line.high - line.low)}%`;
      drawMarkup(node, label);
      return node;
    }));
    // Most steps look as before: only those that changed are drawn anew.
    line.heights.forEach((_, i) => {
      const look = `${line.events[i]} ${line.trackers[i]} ${line.interval}`;
      if (looks[i] === look) return;
      looks[i] = look;
      const column = drawColumn(line, i);
      if (columns.children[i]) columns.children[i].replaceWith(column);
      else columns.append(column);
    });
  }

  function point(step) {
    [...columns.children].forEach((column, i) => column.classList.toggle("amp-now", i === step - 1));
    const column = columns.children[step - 1];
    if (!column) return;
    const before = column.offsetLeft - scroll.scrollLeft;
    if (before < 0 || before + column.offsetWidth > scroll.clientWidth) {
      scroll.scrollLeft = column.offsetLeft - scroll.clientWidth / 2;
    }
  }
  return { root, fill, point };
}

/** The three things the rule can do; the one that happened in the step is marked. */
function ruleCards(labels) {
  const list = make("ol", { class: "amp-rules", "aria-label": labels.rule });

  return {
    list,
    fill(transitions, event) {
      const now = event === "capped" ? "grown" : event;
      list.replaceChildren(...transitions.map(([key, condition, action]) => {
        const here = key === now;
        const mark = make("span", { class: "amp-rule-mark", "aria-hidden": "true" });
        mark.textContent = MARKS[key] ?? "";
        const rule = make("li", {
          class: here ? "amp-rule amp-rule-now" : "amp-rule", "data-rule": key,
          "aria-current": here ? "step" : null,
        }, mark, make("strong", {}, condition), ` → ${action}`);
        if (here) rule.append(make("span", { class: "amp-rule-here" }, labels.here));
        return rule;
      }));
    },
  };
}

/** The slider through time with the button that puts an inf into its step. */
function scrubber(labels, onStep, mail) {
  const input = make("input", { type: "range", min: "1", step: "1", class: "amp-scrub" });
  const output = make("output", { class: "amp-slider-value" });
  const row = make("label", { class: "amp-scrub-row" },
    make("span", { class: "amp-label" }, labels.step), input, output);
  const inject = make("button", { type: "button", class: "amp-button amp-inject", "aria-pressed": "false" },
    make("span", { "aria-hidden": "true", class: "amp-box" }), labels.inject);
  const clear = make("button", { type: "button", class: "amp-button" }, labels.clear);
  input.addEventListener("input", () => onStep(Number(input.value)));
  inject.addEventListener("click", () => mail.send({ gesture: "toggle", step: Number(input.value) }));
  clear.addEventListener("click", () => mail.send({ gesture: "clear" }));

  function show(step, count, infs) {
    input.max = count;
    input.value = step;
    input.setAttribute("aria-valuetext", `${step} ${labels.of} ${count}`);
    output.textContent = `${step} ${labels.of} ${count}`;
    const here = infs.includes(step);
    inject.setAttribute("aria-pressed", String(here));
    inject.firstChild.textContent = here ? "\u2715" : "";
    // Not disabled: a button that goes away under the focus loses a keyboard user's place.
    clear.setAttribute("aria-disabled", String(infs.length === 0));
  }
  const root = make("div", { class: "amp-scrubber" }, row,
    make("div", { class: "amp-actions" }, inject, clear));
  return { root, show };
}

function legend(labels) {
  const item = (kind, text) => {
    const style = `amp-tl-legend-mark amp-tl-legend-${kind}`;
    const mark = make("span", { class: style, "aria-hidden": "true" }, MARKS[kind] ?? "");
    return make("span", { class: "amp-tl-legend-item" }, mark, text);
  };
  return make("p", { class: "amp-tl-legend" }, item("skipped", labels.legend_skipped),
    item("grown", labels.legend_grown), item("now", labels.legend_shown));
}

function drawPanel(model, el) {
  const labels = model.get("labels");
  const silent = make("p", { class: "amp-problem", role: "alert" });
  const mail = courier(model, (quiet) => { silent.textContent = quiet ? labels.silent : ""; });
  const settings = settingControls(labels, mail);
  const toStep = (step) => {
    model.set("step", step);
    model.save_changes();
  };
  const chart = timelineChart(labels, toStep);
  const scrub = scrubber(labels, toStep, mail);
  const rules = ruleCards(labels);
  const list = readoutList(labels);
  const told = make("p", { class: "amp-sentence" });
  const status = make("p", { class: "amp-spoken", role: "status" });
  const tell = teller(status);

  el.append(make("div", { class: "amp" }, make("div", { class: "amp-panel amp-scaler" },
    settings.root, settings.problem, silent,
    make("p", { class: "amp-label" }, labels.timeline), chart.root, legend(labels),
    scrub.root, told, status, rules.list, list.list)));

  function drawStep() {
    const line = model.get("timeline");
    const step = Math.min(model.get("step"), line.heights.length);
    chart.point(step);
    scrub.show(step, line.heights.length, model.get("settings").infs);
    drawMarkup(told, line.sentences[step - 1]);
    tell(told.textContent);
    rules.fill(line.transitions, line.events[step - 1]);
    list.fill(line.rows[step - 1]);
  }

  function fill() {
    settings.refuse(model.get("problem"));
    settings.show(model.get("settings"));
    chart.fill(model.get("timeline"));
    drawStep();
  }

  // One answer changes several traits; draw once, when all of them are there.
  let due = false;
  const soon = () => {
    if (due) return;
    due = true;
    queueMicrotask(() => { due = false; fill(); });
  };
  fill();
  const changes = { "change:step": drawStep };
  for (const trait of ["settings", "timeline", "problem"]) changes[`change:${trait}`] = soon;
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
