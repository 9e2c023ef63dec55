"""From the words of pip, venv and the system, as they were really printed, to one sentence."""

import errno
import shutil
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from ampcourse.bootstrap import trouble
from ampcourse.bootstrap.trouble import explain_os_error, explain_output

Usage = namedtuple("Usage", "total used free")

NO_VENV = """The virtual environment was not created successfully because ensurepip is not
available.  On Debian/Ubuntu systems, you need to install the python3-venv
package using the following command.

    apt install python3.11-venv
"""
NO_NETWORK = """WARNING: Retrying (Retry(total=4, connect=None, read=None, redirect=None, \
status=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.\
HTTPSConnection object at 0x7f>: Failed to establish a new connection: [Errno -3] Temporary \
failure in name resolution')': /simple/setuptools/
  ERROR: Could not find a version that satisfies the requirement setuptools>=77
  ERROR: No matching distribution found for setuptools>=77
"""
NO_TRUST = """WARNING: Retrying after connection broken by 'SSLError(SSLCertVerificationError(1, \
'[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed'))': /simple/torch/
"""
NO_BUILD = """ERROR: Could not find a version that satisfies the requirement torch>=2.9 \
(from versions: none)
ERROR: No matching distribution found for torch>=2.9
"""
NO_SPACE = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
NOT_ALLOWED = "Error: [Errno 13] Permission denied: '/srv/course/.venv'"
NO_COMPILER = """Building wheel for strange (pyproject.toml): finished with status 'error'
  error: subprocess-exited-with-error
ERROR: Failed building wheel for strange
"""


@pytest.fixture(autouse=True)
def _roomy_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 0, 10**12))


@pytest.mark.parametrize(
    ("output", "code", "sentence"),
    [
        (NO_VENV, 1, "cannot make a virtual environment"),
        (NO_NETWORK, 1, "could not reach the package index: check the network"),
        (NO_TRUST, 1, "does not trust the package index"),
        (NO_BUILD, 1, "pip finds no torch>=2.9 for Python 3."),
        (NO_SPACE, 1, "The disk is full in"),
        (NOT_ALLOWED, 1, "Writing in /srv/course is not permitted"),
        (NO_COMPILER, 1, "Setting up failed: mend what is named below"),
        ("Killed", -9, "pip was stopped by signal 9, often for want of memory"),
        ("", 1, "Setting up failed"),
    ],
)
def test_each_cause_has_its_own_sentence(output: str, code: int, sentence: str) -> None:
    log = Path("/srv/course/.ampcourse/install.log")
    text = explain_output(output, code, Path("/srv/course"), log)
    assert sentence in text.splitlines()[0]
    assert text.splitlines()[-1] == f"  All of its output: {log}"


def test_the_line_that_names_the_cause_is_quoted() -> None:
    text = explain_output(NO_COMPILER, 1, Path("/c"), Path("/l"))
    assert "It said: error: subprocess-exited-with-error" in text


def test_debian_is_told_which_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda _: True)
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    assert "sudo apt install python3.13-venv" in trouble.no_venv()
    monkeypatch.setattr(Path, "exists", lambda _: False)
    assert "apt" not in trouble.no_venv()


def test_a_disk_found_full_is_the_cause_even_if_pip_could_not_write_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 10**12, 10**6))
    assert explain_output("", 120, Path("/c"), Path("/l")).startswith("The disk is full")


def test_the_fullest_of_the_disks_in_use_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    free = {str(Path.home()): 3 * 10**8}
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: Usage(10**12, 0, free.get(str(path), 10**12))
    )
    assert f"full in {Path.home()} (0.3 GB free)" in trouble.disk_full(Path("/course"))


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "The disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "/c/x"), "Writing in /c is not"),
        (OSError(errno.EROFS, "Read-only file system", "/c/x"), "Writing in /c is not"),
        (OSError(errno.EIO, "Input/output error"), "Setting up stopped: [Errno 5]"),
    ],
)
def test_errors_of_the_system_become_sentences(error: OSError, sentence: str) -> None:
    assert explain_os_error(error, Path("/c")).startswith(sentence)
