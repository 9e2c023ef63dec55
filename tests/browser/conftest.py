"""JupyterLab in headless Chromium for every test of this folder."""

from tests.browser.lab_fixtures import chromium, lab, lab_server

__all__ = ["chromium", "lab", "lab_server"]
