"""Decks: one Markdown file per lesson becomes one HTML file that needs nothing else, and a PDF.

A deck has to open from a file: URL in a room without network, show notes and a clock to the
teacher alone, and print. What does which part, and why:

- reveal.js 5.2.1 (MIT, `static/reveal`) moves between slides and brings the presenter view.
  Its speaker window talks by postMessage and so works from file:, where nbconvert's slides load
  everything from CDNs and Marp has no presenter view that survives without its server. Only the
  library, its style sheet and the notes plugin are kept; no theme, so no web font.
- markdown-it-py (comes with jupytext) reads the text, latex2mathml turns formulas into MathML,
  which Chromium, Firefox and Safari draw by themselves: no MathJax, no fonts to carry.
- Figures are drawn by `ampcourse.plotting` while the deck is built and put in as inline SVG,
  whose colours are CSS variables: one figure serves the light and the dark room.
- Chromium prints the PDF.

`deck` reads the source, `cells` runs its Python, `markup` writes a slide, `page` the file, `pdf`
prints it, `command` is `ampcourse slides`.
"""
