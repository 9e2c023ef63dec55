// Start reveal.js for one deck: the slide's shape follows the screen's, T changes the light.
(() => {
  const asked = new URLSearchParams(location.search);
  const printing = asked.has("print-pdf");

  function isWide() {
    const ratio = asked.get("ratio");
    return ratio ? ratio !== "4:3" : printing || innerWidth / innerHeight > 1.5;
  }

  function width() {
    const wide = isWide();
    document.documentElement.classList.toggle("narrow", !wide);
    return wide ? 1280 : 960;
  }

  function light(theme) {
    document.documentElement.dataset.theme = theme;
  }

  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  light(printing ? "light" : (asked.get("theme") ?? (dark ? "dark" : "light")));

  // On paper nothing moves: theme.css alone lays the pages out, so that Chromium can print them
  // from the command line, where it does not wait for a script's animation frames.
  if (printing) {
    // "print-pdf" keeps off reveal.css's own rules for paper, which take the slides apart.
    document.documentElement.classList.add("paper", "print-pdf");
    const page = document.createElement("style");
    page.textContent = `@page { size: ${width()}px 720px; margin: 0; }`;
    document.head.append(page);
    return;
  }

  Reveal.initialize({
    width: width(),
    height: 720,
    margin: 0,
    center: false,
    hash: true,
    transition: "none",
    backgroundTransition: "none",
    plugins: [RevealNotes],
  });
  Reveal.addKeyBinding({ keyCode: 84, key: "T", description: "Light or dark" }, () =>
    light(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
  );
  addEventListener("resize", () => Reveal.configure({ width: width() }));
})();
