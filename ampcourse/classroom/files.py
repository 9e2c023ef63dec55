"""Writes files whole or not at all, and names files after people."""

import contextlib
import hashlib
import os
import re
import tempfile
from pathlib import Path

SAFE = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,59}(?<!\.)")
#: Windows keeps these for devices, whatever the extension.
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file by `content`; after a crash or on a full disk the old one is still there.

    Raises OSError; what was written by then is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def file_stem(name: str) -> str:
    """Return a file name's stem for any text, different for different texts on any system."""
    if SAFE.fullmatch(name) and not DEVICES.fullmatch(name):
        return name
    readable = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")[:40]
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{readable}-{digest}".lstrip("-")
