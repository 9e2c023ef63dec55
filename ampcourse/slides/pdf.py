"""Print a deck through Chromium, one page per slide."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge", "brave-browser")
_ELSEWHERE = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
_SECONDS = 120


def find_browser() -> str:
    """Return the path of Chromium, Chrome or Edge; raise FileNotFoundError where none is."""
    for name in _PROGRAMS:
        if found := shutil.which(name):
            return found
    for place in _ELSEWHERE:
        if Path(place).is_file():
            return place
    raise FileNotFoundError(
        "a PDF is printed by Chromium, Chrome or Edge, and none was found. Install one "
        "(Debian: apt install chromium), or open the HTML with ?print-pdf behind its name in a "
        "browser and print it to a file."
    )


def print_pdf(page: Path, pdf: Path) -> int:
    """Print the deck `page` into `pdf` and return the number of its pages.

    Raises FileNotFoundError where there is no browser, and OSError with what the browser said
    where it wrote nothing.
    """
    browser = find_browser()
    pdf.unlink(missing_ok=True)  # else the pages of an earlier call would be counted
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [browser, *_flags(profile), f"--print-to-pdf={pdf}", f"{page.as_uri()}?print-pdf"],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    if done.returncode or not pdf.is_file():
        raise OSError(f"{browser} printed nothing: {done.stderr.strip()[-500:]}")
    return page_count(pdf.read_bytes())


def page_count(pdf: bytes) -> int:
    """Return how many pages a PDF written by Chromium has; it keeps page objects uncompressed."""
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def _flags(profile: str) -> list[str]:
    flags = [
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-pdf-header-footer",
        f"--user-data-dir={profile}",
    ]
    # Chromium's own sandbox refuses to work for root, as in a container.
    root = sys.platform != "win32" and os.geteuid() == 0
    return [*flags, "--no-sandbox"] if root else flags
