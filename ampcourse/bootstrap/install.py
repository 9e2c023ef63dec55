"""Make the `.venv` of a clone, or bring it up to date."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ampcourse.bootstrap.lock import locked
from ampcourse.bootstrap.packages import clear_broken, installed
from ampcourse.bootstrap.progress import Progress, Say, duration
from ampcourse.bootstrap.requirements import missing, requirements
from ampcourse.bootstrap.trouble import AGAIN, SetupError, explain_output
from ampcourse.bootstrap.venv import Answer, Venv

# pip must install into the .venv and nowhere else, whatever the learner's settings say.
_ELSEWHERE = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "PIP_DRY_RUN")

# Measured with torch 2.14.1 for Python 3.11: what pip downloads, what the .venv then holds.
_SIZE_ON_LINUX = (
    "On Linux pip's PyTorch brings NVIDIA's libraries along: about 3.2 GB to download, 6.1 GB on "
    "disk. README.md says how to do without them."
)
_NEEDED_ON_LINUX = 6.5e9
_SIZE_ELSEWHERE = "About 0.3 GB to download."


def install(venv: Venv, extras: Iterable[str], say: Say) -> None:
    """Install the course with these extras into the `.venv`; nothing to do if it is ready.

    Only one process installs at a time; another waits and then finds it done. Raises
    SetupError, or OSError where the system refuses. Whatever ends it, the stamp says whole
    only after everything is in place, and the next call goes on from what is there.
    """
    work = venv.clone / ".ampcourse"
    work.mkdir(exist_ok=True)
    with locked(work / "install.lock", lambda: say(_waiting(venv))) as lock:
        if venv.is_ready(extras):
            return
        installation = _Installation(venv, work, lock, say)
        shutil.rmtree(installation.temporary, ignore_errors=True)
        installation.temporary.mkdir()
        try:
            installation.run(set(extras) | venv.stamped_extras())
        finally:
            shutil.rmtree(installation.temporary, ignore_errors=True)


def _waiting(venv: Venv) -> str:
    return f"Another ampcourse is setting up {venv.folder}; this one waits for it."


@dataclass(frozen=True)
class _Installation:
    venv: Venv
    work: Path
    lock: int
    say: Say

    @property
    def log(self) -> Path:
        return self.work / "install.log"

    @property
    def temporary(self) -> Path:
        return self.work / "tmp"

    def run(self, extras: set[str]) -> None:
        begin = time.monotonic()
        self.log.write_bytes(b"")
        answer = self.venv.reusable()
        self.say(self._introduction(answer, extras))
        answer = self._make_venv() if answer is None else self._mend(answer)
        earlier = self.venv.whole_stamp()
        self.venv.write_stamp(extras, answer.python, whole=False)
        with self._nothing_lost(earlier, answer):
            self._pip_install(extras)
        left = missing(requirements(self.venv.pyproject, extras), [str(answer.site_packages)])
        if left:
            raise SetupError(f"pip ended well but without {', '.join(left)}: see {self.log}")
        self.venv.write_stamp(extras, answer.python, whole=True)
        self.say(f"Done in {duration(time.monotonic() - begin)}.\n")

    def _introduction(self, answer: Answer | None, extras: set[str]) -> str:
        if answer is None:
            return introduction(self.venv.folder, extras)
        if self.venv.stamp.exists() and not self.venv.whole_stamp():
            return f"Going on with {self.venv.folder} where set-up broke off."
        return f"Bringing {self.venv.folder} up to date: pip adds what is missing."

    @contextmanager
    def _nothing_lost(self, earlier: bytes | None, answer: Answer) -> Iterator[None]:
        """Put the earlier stamp back if what follows fails before it has changed a package.

        A learner without network who tries the tests must still be able to open the lessons.
        """
        before = installed(answer.site_packages)
        try:
            yield
        except BaseException as error:
            if earlier is None or installed(answer.site_packages) != before:
                raise
            self.venv.restore_stamp(earlier)
            if isinstance(error, SetupError):
                offer = f"Until then {self.venv.programs / 'ampcourse'} lab starts what is there."
                raise SetupError(f"{error}\n  {offer}") from error
            raise

    def _make_venv(self) -> Answer:
        # From inside a virtual environment (the .venv itself, even), its base makes a new one.
        base = getattr(sys, "_base_executable", None) or sys.executable
        self._must([base, "-I", "-m", "venv", "--clear", str(self.venv.folder)])
        answer = self.venv.ask()
        if answer is None:
            raise SetupError(
                f"The new Python in {self.venv.folder} does not run: delete that folder, {AGAIN}"
            )
        return answer

    def _mend(self, answer: Answer) -> Answer:
        """Clear away what an interrupted run left half done; without a working pip, start anew."""
        names = [] if self.venv.whole_stamp() else clear_broken(answer.site_packages)
        if names:
            self.say(f"  left half installed, and done again: {', '.join(names)}")
        python = str(self.venv.python)
        if self._try([python, "-I", "-m", "pip", "--version"]) == 0:
            return answer
        if self._try([python, "-I", "-m", "ensurepip", "--upgrade"]) == 0:
            return answer
        return self._make_venv()

    def _pip_install(self, extras: set[str]) -> None:
        options = ["--no-input", "--prefer-binary", "--disable-pip-version-check"]
        options += ["--progress-bar", "off", "--no-warn-script-location"]
        target = f".[{','.join(sorted(extras))}]"
        python = str(self.venv.python)
        self._must([python, "-I", "-m", "pip", "install", *options, "--editable", target])

    def _environment(self) -> dict[str, str]:
        names = {name: text for name, text in os.environ.items() if name not in _ELSEWHERE}
        names.pop("PYTHONHOME", None)
        names["PIP_USER"] = "0"
        if os.name == "posix":
            # /tmp is often a small disk in memory, and pip unpacks gigabytes. (On Windows a
            # longer path could pass the limit of 260 characters.)
            names["TMPDIR"] = str(self.temporary)
        return names

    def _must(self, command: Sequence[str]) -> None:
        begin = self.log.stat().st_size
        code = self._try(command)
        if code:
            with self.log.open("rb") as log:
                log.seek(begin)
                output = log.read().decode("utf-8", "replace")
            raise SetupError(explain_output(output, code, self.venv.clone, self.log))

    def _try(self, command: Sequence[str]) -> int:
        """Run a command with its output in the log; return its exit code."""
        progress = Progress(self.say)
        inherited = (self.lock,) if os.name == "posix" else ()
        with self.log.open("ab") as sink, self.log.open(encoding="utf-8", errors="replace") as log:
            log.seek(0, os.SEEK_END)
            process = subprocess.Popen(
                command,
                cwd=self.venv.clone,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                pass_fds=inherited,
            )
            try:
                while process.poll() is None:
                    time.sleep(0.1)
                    progress.feed(log.read())
            except BaseException:
                _end(process)
                raise
        return process.returncode


def introduction(folder: Path, extras: set[str]) -> str:
    """Say what is about to be installed, how large it is and how long it takes."""
    what = "JupyterLab, PyTorch and the test tools"
    if "test" not in extras:
        what = "JupyterLab and PyTorch"
    text = (
        f"Setting up the course, which happens once: {what} go into {folder}.\n"
        f"  {_SIZE_ON_LINUX if sys.platform == 'linux' else _SIZE_ELSEWHERE}\n"
        "  It takes as long as the download, and two to four minutes more for unpacking."
    )
    free = shutil.disk_usage(folder.parent).free
    if sys.platform == "linux" and free < _NEEDED_ON_LINUX:
        text += f"\n  Only {free / 1e9:.1f} GB are free on this disk, which may not be enough."
    return text


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
