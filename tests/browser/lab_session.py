"""A JupyterLab of its own and a headless Chromium to drive it: server, page and notebook."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

REPOSITORY = Path(__file__).parents[2]
CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_START_SECONDS = 60
_PAGE_MILLISECONDS = 60_000


def chromium_path() -> str | None:
    """Return the system's Chromium or Chrome, if there is one."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    return None


@dataclass(frozen=True)
class LabServer:
    """A running server: its address, its token and the folder it serves."""

    url: str
    token: str
    root: Path

    def sessions(self, method: str = "GET", session: str = "") -> Any:
        """Call the server's sessions API."""
        request = Request(
            f"{self.url}api/sessions/{session}",
            method=method,
            headers={"Authorization": f"token {self.token}"},
        )
        with urlopen(request, timeout=30) as response:
            return json.loads(response.read() or "null")

    def tidy(self) -> None:
        """Shut every kernel down and forget settings such as the theme, for the next test."""
        for session in self.sessions():
            self.sessions("DELETE", session["id"])
        shutil.rmtree(self.root.parent / "settings", ignore_errors=True)


@contextmanager
def running_server(folder: Path) -> Iterator[LabServer]:
    """Start JupyterLab in an empty folder, with settings and runtime files of its own."""
    root, runtime = folder / "root", folder / "runtime"
    root.mkdir(parents=True)
    runtime.mkdir()
    token = secrets.token_hex(16)
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--port=0", "--allow-root"),
        f"--ServerApp.root_dir={root}",
        f"--IdentityProvider.token={token}",
        "--expose-app-in-browser",
    ]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, env=_environment(folder), stdout=log, stderr=log)
    try:
        yield LabServer(_wait_for_url(server, runtime, folder / "server.log"), token, root)
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()


def _environment(folder: Path) -> dict[str, str]:
    inside = {
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTER_CONFIG_DIR": "config",
        "IPYTHONDIR": "ipython",
    }
    path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    # The course's own defaults, as `ampcourse lab` gives them.
    defaults = str(REPOSITORY / "ampcourse" / "jupyter")
    return {
        **os.environ,
        **{name: str(folder / place) for name, place in inside.items()},
        "PYTHONPATH": path,
        "JUPYTER_CONFIG_PATH": defaults,
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_PLATFORM_DIRS": "1",
    }


def _wait_for_url(server: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    """Return the address that the server writes to its runtime folder once it listens."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            try:
                return str(json.loads(file.read_text())["url"])
            except (ValueError, KeyError):  # being written
                break
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start; the end of its log:\n{log.read_text()[-2000:]}")


class Lab:
    """One browser page on one server; open a notebook, run it, look at it."""

    def __init__(self, server: LabServer, page: Any) -> None:
        self.server = server
        self.page = page

    def attach_all_cells(self) -> None:
        """Have notebooks opened from now on whole in the page, not cell by cell as one scrolls."""
        place = self.server.root.parent / "settings" / "@jupyterlab" / "notebook-extension"
        place.mkdir(parents=True)
        (place / "tracker.jupyterlab-settings").write_text(
            '{"windowingMode": "none", "scrollPastEnd": false}'
        )

    def open(self, notebook: Path) -> None:
        """Open a copy of a notebook file and wait until its kernel is idle."""
        name = f"{notebook.stem}-{uuid.uuid4().hex[:8]}.ipynb"
        shutil.copyfile(notebook, self.server.root / name)
        self.page.goto(f"{self.server.url}doc/tree/{name}?token={self.server.token}")
        self.page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.context?.isReady",
            timeout=_PAGE_MILLISECONDS,
        )
        self.page.evaluate(
            """async () => {
                const panel = window.jupyterapp.shell.currentWidget;
                await panel.revealed;
                await panel.sessionContext.ready;
                await panel.sessionContext.session.kernel.info;
            }"""
        )

    def open_cells(self, sources: Sequence[str]) -> None:
        """Open a new notebook with these code cells."""
        cells: list[dict[str, Any]] = [
            {
                "cell_type": "code",
                "id": f"cell-{i}",
                "source": source,
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
            for i, source in enumerate(sources)
        ]
        metadata = {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
        }
        notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
        file = self.server.root.parent / "cells.ipynb"
        file.write_text(json.dumps(notebook))
        self.open(file)

    def command(self, name: str, **arguments: Any) -> Any:
        """Execute one of JupyterLab's commands and wait for it."""
        # A command may return an object that cannot leave the page: return nothing.
        script = "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args) }"
        return self.page.evaluate(script, [name, arguments])

    def run_all(self) -> None:
        """Run all cells and wait until the last one is done."""
        self.command("notebook:run-all-cells")

    def outputs(self) -> list[str]:
        """Return each code cell's text outputs (streams, results, errors), joined."""
        script = """() => window.jupyterapp.shell.currentWidget.content.widgets
            .filter(cell => cell.model.type === 'code')
            .map(cell => cell.model.outputs.toJSON().map(output =>
                [output.text ?? output.data?.['text/plain'] ?? output.traceback ?? '']
                    .flat().join('')).join(''))"""
        return list(self.page.evaluate(script))

    def cell_count(self) -> int:
        """Return how many cells the notebook has now."""
        script = "() => window.jupyterapp.shell.currentWidget.content.widgets.length"
        return int(self.page.evaluate(script))

    def run(self, source: str) -> str:
        """Run code in the notebook's kernel, beside the cells, and return what it printed."""
        script = """async (code) => {
            const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
            const future = kernel.requestExecute({ code, store_history: false });
            let text = '';
            future.onIOPub = ({ header, content }) => {
                if (header.msg_type === 'stream') text += content.text;
                if (header.msg_type === 'error') text += content.traceback.join('\\n');
            };
            await future.done;
            return text;
        }"""
        return str(self.page.evaluate(script, source))

    def theme(self, name: str) -> None:
        """Choose a theme: 'JupyterLab Light' or 'JupyterLab Dark'."""
        self.command("apputils:change-theme", theme=name)
        light = "false" if "Dark" in name else "true"
        self.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
        # A splash lies over the page while the theme's style sheets load.
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")
