"""The browser fixtures, for benchmarks that need a page."""

from tests.browser.lab_fixtures import chromium, lab, lab_server

__all__ = ["chromium", "lab", "lab_server"]
