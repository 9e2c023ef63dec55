// Shared by both widgets: small helpers to build nodes, draw markup and send gestures.
// Markup comes from Python: ^{…} is a superscript, _{…} a subscript.

/** Make an element: attributes as given, children appended. */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Replace a node's content by markup. A hyphen in a number is drawn as a minus sign. */
function drawMarkup(node, markup) {
  node.replaceChildren(...markup.split(/([\^_]\{[^}]*\})/).map((part) => {
    const script = part.match(/^([\^_])\{([^}]*)\}$/);
    const text = (script ? script[2] : part).replace(/(^|[\s(=])-(?=[\d\s])/g, "$1\u2212");
    return script ? make(script[1] === "^" ? "sup" : "sub", {}, text) : text;
  }));
}

/** Replace a node's content by pieces [role, markup]; the role becomes a class. */
function drawPieces(node, pieces) {
  node.replaceChildren(...pieces.map(([role, markup]) => {
    const span = make("span", role ? { class: `amp-${role}` } : {});
    drawMarkup(span, markup);
    return span;
  }));
}

/** Keep JupyterLab from taking plain keys: its command mode listens above the widget. */
function keepKeys(root) {
  root.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
}

/** Run once the element is in the page; widgets are drawn before they are attached. */
function whenAttached(element, run) {
  const observer = new ResizeObserver(() => {
    if (!element.isConnected) return;
    observer.disconnect();
    run();
  });
  observer.observe(element);
  return () => observer.disconnect();
}

/**
 * Send gestures to Python in order. Of a dragged slider only the latest value waits while
 * an answer is due; `silent` is called with true when the kernel does not answer.
 */
function courier(model, silent) {
  let due = 0;
  let waiting = null;
  let timer = 0;

  function post(gesture) {
    due += 1;
    clearTimeout(timer);
    timer = setTimeout(() => { due = 0; silent(true); }, 8000);
    model.send(gesture);
  }

  function answered() {
    clearTimeout(timer);
    due = 0;
    silent(false);
    if (waiting) {
      const gesture = waiting;
      waiting = null;
      post(gesture);
    }
  }

  model.on("change:answered", answered);
  return {
    send(gesture) {
      if (waiting) { post(waiting); waiting = null; }
      post(gesture);
    },
    drag(gesture) {
      if (due) waiting = gesture; else post(gesture);
    },
    busy: () => due > 0 || waiting !== null,
    stop() { clearTimeout(timer); model.off("change:answered", answered); },
  };
}

/** The number field with its button and the place for what was refused. */
function numberField(labels, onNumber) {
  const id = `amp-${Math.random().toString(36).slice(2)}`;
  const input = make("input", {
    type: "text", id, class: "amp-number", spellcheck: "false", autocomplete: "off",
    autocapitalize: "off", "aria-describedby": `${id}-problem`,
  });
  const problem = make("p", { id: `${id}-problem`, class: "amp-problem", role: "alert" });
  const form = make("form", { class: "amp-form" },
    make("label", { for: id, class: "amp-label" }, labels.number), input,
    make("button", { type: "submit", class: "amp-button" }, labels.encode));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    onNumber(input.value);
  });

  let shown = null;

  /** Show the number that counts; text being typed stays until another number counts. */
  function show(typed) {
    if (typed !== shown || document.activeElement !== input) input.value = typed;
    shown = typed;
  }

  function refuse(refusal) {
    const refused = Boolean(refusal.message);
    input.setAttribute("aria-invalid", String(refused));
    problem.replaceChildren();
    if (!refused) return;
    problem.append(refusal.message);
    if (refusal.at) {
      problem.append(": ", make("code", {}, refusal.before,
        make("mark", {}, refusal.at === " " ? "\u2423" : refusal.at), refusal.after));
    }
  }
  return { form, problem, show, refuse };
}
