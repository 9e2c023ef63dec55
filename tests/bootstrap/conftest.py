"""A small course to set up for real: no network, no large package, the course's own bootstrap."""

import base64
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ampcourse"

PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "ampcourse"
version = "1"

[project.optional-dependencies]
lab = ["ampcourse-fake-lab>=1"]
test = ["ampcourse-fake-test"]
"""

# A build backend that needs nothing, and that can be told to take its time.
BACKEND = """
import pathlib, time, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    here = pathlib.Path.cwd()
    if (here / "slow").exists():
        (here / "slow.reached").touch()
    while (here / "slow").exists():
        time.sleep(0.05)
    name = "ampcourse-1-py3-none-any.whl"
    info = "ampcourse-1.dist-info/"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        wheel.writestr("ampcourse.pth", str(here))
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: ampcourse\\nVersion: 1\\n"
                       "Provides-Extra: lab\\nProvides-Extra: test\\n"
                       "Requires-Dist: ampcourse-fake-lab>=1; extra == 'lab'\\n"
                       "Requires-Dist: ampcourse-fake-test; extra == 'test'\\n")
        wheel.writestr(info + "WHEEL",
                       "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\n"
                       "Tag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "ampcourse.pth,,\\n")
    return name
"""

CLI = """
import sys

def main(argv):
    print("ran", *argv, "in", sys.prefix)
    return 3 if "fail" in argv else 0
"""


@dataclass
class Clone:
    """A fake clone of the course, and the wheels that pip finds instead of the index's."""

    folder: Path
    wheels: Path

    @property
    def venv(self) -> Path:
        return self.folder / ".venv"

    def popen(
        self, *argv: str, python: str = sys.executable, **environment: str
    ) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [python, "-m", "ampcourse", *argv],
            cwd=self.folder,
            env=self.environment() | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *argv: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        with self.popen(*argv, **environment) as process:
            try:
                out, err = process.communicate(timeout=120)
            finally:
                process.kill()
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        return kept | {
            "HOME": str(self.folder.parent),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
        }


def add_wheel(folder: Path, name: str, version: str = "1.0") -> None:
    """Write a wheel with one module and a data file."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info/"
    files = {
        f"{module}.py": f"version = '{version}'\n",
        f"{module}_data.txt": "x" * 1000,
        f"{info}METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    rows = [f"{path},{recorded(text.encode())},{len(text)}" for path, text in files.items()]
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{info}RECORD", "\n".join([*rows, f"{info}RECORD,,"]) + "\n")


def recorded(content: bytes) -> str:
    """Return the hash of a file as a wheel's RECORD has it."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return "sha256=" + digest.rstrip(b"=").decode()


def make_clone(folder: Path) -> Clone:
    """Lay a fake clone into `folder`, with a wheel for the lab but none yet for the tests."""
    package = folder / "a clone of mine" / "ampcourse"
    package.mkdir(parents=True)
    for name in ("__init__.py", "__main__.py"):
        shutil.copy(PACKAGE / name, package)
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE / "bootstrap", package / "bootstrap", ignore=skipped)
    (package / "cli.py").write_text(CLI)
    (package.parent / "pyproject.toml").write_text(PYPROJECT)
    (package.parent / "backend.py").write_text(BACKEND)
    add_wheel(folder / "wheels", "ampcourse-fake-lab")
    return Clone(package.parent, folder / "wheels")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A fake clone that was never set up."""
    return make_clone(tmp_path)


@pytest.fixture(scope="module")
def shared_clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A fake clone for the tests of one module that leave it whole."""
    return make_clone(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def interrupt() -> Callable[["subprocess.Popen[str]"], None]:
    """Press Ctrl-C: the signal goes to every process of the terminal's group."""

    def press(process: "subprocess.Popen[str]") -> None:
        os.killpg(process.pid, signal.SIGINT)

    return press
