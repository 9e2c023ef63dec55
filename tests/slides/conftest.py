"""A deck's page, and a browser without network to show it in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ampcourse.slides.deck import Deck
from tests.slides.decks import DECKS, built


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the session's built decks."""
    return tmp_path_factory.mktemp("slides")


@pytest.fixture(params=DECKS, ids=lambda path: path.stem)
def deck(request: pytest.FixtureRequest, pages: Path) -> tuple[Deck, Path]:
    """Return a deck and its page."""
    return built(request.param, pages)


@pytest.fixture
def offline(chromium: Any) -> Iterator[tuple[Any, list[str]]]:
    """Return a page without network, and what it asked for or complained of."""
    page = chromium.browser.new_context(offline=True).new_page()
    heard: list[str] = []

    def asked(request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:", "about:")):
            heard.append(f"asked for {request.url}")

    page.context.on("request", asked)
    page.on("console", lambda message: heard.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    yield page, heard
    page.context.close()
