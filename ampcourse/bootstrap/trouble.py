"""From what went wrong to one sentence that says what to do. All texts are here."""

import errno
import platform
import re
import shutil
import sys
import tempfile
from pathlib import Path

AGAIN = "then run the same command again; it goes on from here."
_FULL_BELOW = 50 * 2**20  # bytes: with less than this free, "disk full" is the cause

_NO_VENV = re.compile(r"ensurepip is not\s+available|No module named '?(venv|ensurepip)")
_NO_SPACE = re.compile(
    r"Errno 28|No space left|Errno 122|quota exceeded|WinError 112|not enough space", re.I
)
_NOT_ALLOWED = re.compile(r"Errno 13|Errno 30|Permission denied|Read-only file|WinError 5\b", re.I)
_NO_TRUST = re.compile(r"CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError")
_NO_NETWORK = re.compile(
    r"NewConnectionError|Failed to establish a new connection|NameResolutionError"
    r"|Temporary failure in name resolution|ConnectTimeoutError|ReadTimeoutError|Read timed out"
    r"|Connection (refused|reset|aborted|broken)|Network is unreachable|ProxyError|IncompleteRead"
    r"|RemoteDisconnected|incomplete-download|SSLError|Connection to \S+ (failed|timed out)"
)
_NO_BUILD = re.compile(r"No matching distribution found for ([^\s;]+)")


class SetupError(Exception):
    """Setting up cannot go on; the text is for the learner and says what to do."""


def no_venv() -> str:
    """Say how to get the venv module, which Debian and Ubuntu leave out."""
    package = f"python3.{sys.version_info[1]}-venv"
    if Path("/etc/debian_version").exists():
        advice = f"get it with: sudo apt install {package}"
    else:
        advice = "install one that can, from python.org for example"
    return f"This Python ({sys.executable}) cannot make a virtual environment: {advice}; {AGAIN}"


def disk_full(clone: Path) -> str:
    """Say which disk is full: the clone's, the one of pip's cache, or that of temporary files."""
    fullest = min((clone, Path.home(), Path(tempfile.gettempdir())), key=_free)
    return f"The disk is full in {fullest} ({_free(fullest) / 1e9:.1f} GB free): make room, {AGAIN}"


def not_allowed(folder: Path) -> str:
    """Say where writing was refused."""
    return (
        f"Writing in {folder} is not permitted: if a JupyterLab of this course is running, close "
        "it, otherwise clone the course into a folder of your own, then run the same command."
    )


def explain_os_error(error: OSError, clone: Path) -> str:
    """Turn an error of the operating system, met while setting up, into a sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(clone)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return not_allowed(Path(error.filename).parent if error.filename else clone)
    return f"Setting up stopped: {error}. If you can mend that, {AGAIN}"


def explain_output(output: str, code: int, clone: Path, log: Path) -> str:
    """Turn the output and exit code of a failed venv or pip into a sentence and what it said."""
    sentence = _sentence(output, code, clone)
    said = _last_words(output)
    if said:
        sentence += f"\n  It said: {said}"
    return f"{sentence}\n  All of its output: {log}"


def _sentence(output: str, code: int, clone: Path) -> str:
    # A refused connection also ends in "No matching distribution", so the order matters.
    no_build = _NO_BUILD.search(output)
    if _NO_VENV.search(output):
        return no_venv()
    if _NO_SPACE.search(output) or _free(clone) < _FULL_BELOW:
        return disk_full(clone)
    if _NOT_ALLOWED.search(output):
        return not_allowed(clone)
    if _NO_TRUST.search(output):
        return (
            "pip does not trust the package index it reached, as happens behind a company's "
            f"proxy: point PIP_CERT at the company's certificate file, {AGAIN}"
        )
    if _NO_NETWORK.search(output):
        return (
            "pip could not reach the package index: check the network (behind a proxy set "
            f"HTTPS_PROXY), {AGAIN}"
        )
    if no_build:
        return (
            f"pip finds no {no_build[1]} for Python {platform.python_version()} on this machine "
            f"({platform.system()} {platform.machine()}): try with another Python from 3.11 up."
        )
    if code < 0:
        return f"pip was stopped by signal {-code}, often for want of memory: free some, {AGAIN}"
    return f"Setting up failed: mend what is named below, {AGAIN}"


def _last_words(output: str) -> str:
    """Return the line that names the cause: the first of pip's errors, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(ERROR|Error|error):", line)]
    return (errors or lines[-1:] or [""])[0][:300]


def _free(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return sys.maxsize
