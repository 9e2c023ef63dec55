"""Fixtures that give a test JupyterLab in a browser; skipped, with the reason, without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.lab_session import CHROMIUM_FLAGS, Lab, LabServer, chromium_path, running_server


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """Return one JupyterLab server for the session."""
    for module in ("jupyterlab", "anywidget"):
        pytest.importorskip(module)
    with running_server(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Return one headless Chromium's context for the session: its cache makes pages quick."""
    sync_api = pytest.importorskip("playwright.sync_api")
    path = chromium_path()
    if path is None:
        pytest.skip("no chromium on the PATH (Debian: apt install chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield browser.new_context()
        browser.close()


@pytest.fixture
def lab(lab_server: LabServer, chromium: Any) -> Iterator[Lab]:
    """Return a fresh page on the server; kernels end with the test."""
    page = chromium.new_page()
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.set_default_timeout(20_000)
    yield Lab(lab_server, page)
    page.close()
    lab_server.tidy()
