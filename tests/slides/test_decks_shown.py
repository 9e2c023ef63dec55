"""Every deck as a browser shows it: offline, inside its slide, for everybody, on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ampcourse.slides.deck import Deck
from ampcourse.slides.pdf import find_browser, print_pdf
from tests.browser.axe import violations

pytestmark = pytest.mark.browser
SHAPES = {"16:9": (1280, 720), "4:3": (960, 720)}

# What sticks out of the slide's content: the text of elements, not boxes that hold nothing.
OVERFLOW = """() => {
  const slide = document.querySelector(".present .slide");
  const page = slide.getBoundingClientRect();
  const foot = slide.querySelector(".foot").getBoundingClientRect();
  const found = [];
  for (const part of slide.querySelectorAll(".content *")) {
    const box = part.getBoundingClientRect();
    const hidden = !box.width || getComputedStyle(part).display === "none";
    if (hidden || part.closest("svg") && part.tagName !== "svg") continue;
    const out = box.bottom > foot.top + 1 || box.right > page.right + 1 || box.left < page.left - 1;
    if (out || part.scrollWidth > part.clientWidth + 1 && part.tagName === "PRE")
      found.push(`${part.tagName} ${part.textContent.trim().slice(0, 40)}`);
  }
  return found;
}"""
# Text of a figure in pixels of the slide, which is 720 high.
SMALLEST = """() => {
  const scale = document.querySelector(".present .slide").getBoundingClientRect().height / 720;
  const texts = ":is(text:not(:has(tspan)), tspan:first-child)";
  const turned = (part) => { const m = part.getScreenCTM(); return Math.hypot(m.a, m.b); };
  const sizes = [...document.querySelectorAll(`.present .content svg ${texts}`)]
    .filter((text) => getComputedStyle(text.closest("svg").parentElement).display !== "none")
    .map((text) => parseFloat(getComputedStyle(text).fontSize) * turned(text) / scale);
  return Math.min(...sizes, 99);
}"""


def shown(page: Any, deck: tuple[Deck, Path], shape: str = "16:9", query: str = "") -> None:
    """Open the deck's file."""
    width, height = SHAPES[shape]
    page.set_viewport_size({"width": width, "height": height})
    page.goto(deck[1].resolve().as_uri() + query)
    page.wait_for_function("window.Reveal && Reveal.isReady()")


def each_slide(page: Any, deck: Deck) -> Any:
    """Go through the slides, each with all its points shown."""
    for place in range(len(deck.slides)):
        page.evaluate(f"Reveal.slide({place}, 0, 999)")
        yield f"slide {place + 1}, {deck.slides[place].title}"


def test_it_opens_from_a_file_without_network_or_complaint(deck: Any, offline: Any) -> None:
    page, heard = offline
    shown(page, deck)
    assert page.evaluate("Reveal.getTotalSlides()") == len(deck[0].slides)
    for _ in each_slide(page, deck[0]):
        pass
    assert heard == []


@pytest.mark.parametrize("shape", SHAPES)
def test_no_slide_overflows(deck: Any, offline: Any, shape: str) -> None:
    page, _ = offline
    shown(page, deck, shape)
    found = {name: page.evaluate(OVERFLOW) for name in each_slide(page, deck[0])}
    assert {name: parts for name, parts in found.items() if parts} == {}


@pytest.mark.parametrize("shape", SHAPES)
def test_letters_of_figures_can_be_read_from_the_last_row(
    deck: Any, offline: Any, shape: str
) -> None:
    page, _ = offline
    shown(page, deck, shape)
    sizes = {name: page.evaluate(SMALLEST) for name in each_slide(page, deck[0])}
    assert {name: size for name, size in sizes.items() if size < 16} == {}


def test_axe_finds_nothing(deck: Any, offline: Any) -> None:
    page, _ = offline
    shown(page, deck, query="?theme=light")
    found = {"page": violations(page, "body")}
    found |= {name: violations(page, "section.present") for name in each_slide(page, deck[0])}
    page.keyboard.press("t")
    for name in each_slide(page, deck[0]):  # of all that axe looks at, the theme changes contrast
        found[f"dark, {name}"] = violations(page, "section.present", only=("color-contrast",))
    assert {name: rules for name, rules in found.items() if rules} == {}


def test_arrow_keys_go_through_every_step_to_the_last_slide(deck: Any, offline: Any) -> None:
    page, _ = offline
    shown(page, deck)
    steps = page.evaluate("""() => {
      const groups = [...document.querySelectorAll("section")].map((slide) => new Set(
        [...slide.querySelectorAll(".fragment")].map((part) => part.dataset.fragmentIndex)).size);
      return groups.reduce((sum, n) => sum + n, groups.length - 1);
    }""")
    for _ in range(steps):
        assert not page.evaluate("Reveal.isLastSlide() && !Reveal.availableFragments().next")
        page.keyboard.press("ArrowRight")
    assert page.evaluate("Reveal.isLastSlide() && !Reveal.availableFragments().next")


def test_every_figure_has_words_and_a_source(deck: Any, offline: Any) -> None:
    page, _ = offline
    shown(page, deck)
    missing = page.evaluate("""() => [...document.querySelectorAll(".slides svg, .slides img")]
      .filter((picture) => !(picture.getAttribute("aria-label") ?? picture.alt ?? "").trim()
        || !picture.closest("figure")?.querySelector(".source")?.textContent.trim()).length""")
    assert missing == 0
    assert page.locator(".slides figure svg").count() > 0


def test_steps_of_an_animation_are_shown_one_at_a_time(deck: Any, offline: Any) -> None:
    page, _ = offline
    shown(page, deck)
    count = """() => [...document.querySelectorAll(".present .frames .frame")]
      .filter((frame) => getComputedStyle(frame).visibility === "visible").length"""
    for place in range(len(deck[0].slides)):
        page.evaluate(f"Reveal.slide({place})")
        frames = page.locator(".present .frames .frame").count()
        for _ in range(frames):
            assert page.evaluate(count) == 1
            page.evaluate("Reveal.nextFragment()")


def test_the_presenter_sees_notes_and_a_clock_and_moves_the_deck(deck: Any, offline: Any) -> None:
    page, heard = offline
    shown(page, deck)
    with page.context.expect_page() as opened:
        page.keyboard.press("s")
    view = opened.value
    view.wait_for_function("document.querySelector('.speaker-controls-notes .value').textContent")
    notes = view.locator(".speaker-controls-notes .value").inner_text()
    assert f"{deck[0].slides[0].minutes:g} min" in notes
    assert view.locator(".timer .hours-value").count() == 1
    view.frame_locator("#current-slide iframe").locator("h1").wait_for()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("Reveal.getIndices().h === 1")
    told = deck[0].slides[1].notes.split()[:3]
    view.wait_for_function(
        "told => document.querySelector('.speaker-controls-notes .value').textContent"
        ".includes(told)",
        arg=" ".join(told),
    )
    assert heard == []


def test_t_changes_the_light(deck: Any, offline: Any) -> None:
    page, _ = offline
    shown(page, deck, query="?theme=light")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_the_pdf_has_a_page_per_slide(deck: Any, tmp_path: Path) -> None:
    try:
        find_browser()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert print_pdf(deck[1].resolve(), tmp_path / "deck.pdf") == len(deck[0].slides)
