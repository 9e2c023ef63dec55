"""Messages between grader and sandbox: JSON with its length before it, over a socket.

What arrives may be forged: it is JSON or refused, and no longer than the receiver allows.
"""

import json
import select
import socket
import struct
import time
from typing import Any

LENGTH = struct.Struct("!Q")
PIECE = 1 << 16  # a buffer of a megabyte for each message took longer than most calls
UNABLE = "left the kernel unable to answer"
PACKET = 60_000  # bytes of one message on a control socket
# Kept from here on: in a sandbox the learner's code may put something else in their places.
DUMPS = json.JSONEncoder().encode
LOADS = json.JSONDecoder().decode


class Broken(Exception):
    """The other side is gone or sent what is no message; the text completes "the code …"."""


class Wire:
    """One end of a connection; `limit` is the largest message taken, in bytes."""

    def __init__(self, end: socket.socket, limit: int = 1 << 40) -> None:
        self.end = end
        self.limit = limit
        self.buffer = bytearray()

    def send(self, message: dict[str, Any], seconds: float | None = None) -> None:
        """Send a message; raises Broken if the other side does not take it in time."""
        data = DUMPS(message).encode()
        try:
            if self.end.gettimeout() != seconds:  # setting it costs a system call
                self.end.settimeout(seconds)
            self.end.sendall(LENGTH.pack(len(data)) + data)
        except OSError:
            raise Broken(UNABLE) from None

    def receive(self, seconds: float | None = None) -> dict[str, Any] | None:
        """Return the next message, or None when time is up; raises Broken."""
        end = None if seconds is None else time.monotonic() + seconds
        while not (data := self.complete()):
            if end is not None:
                left = end - time.monotonic()
                if left <= 0:
                    return None
                if not select.select([self.end], [], [], left)[0]:
                    continue
            self.fill()
        try:
            message = LOADS(data.decode())
        except (ValueError, RecursionError, MemoryError):
            raise Broken(UNABLE) from None
        if not isinstance(message, dict):
            raise Broken(UNABLE)
        return message

    def complete(self) -> bytes:
        """Take one whole message off the buffer; empty if it is not there yet."""
        if len(self.buffer) < LENGTH.size:
            return b""
        (size,) = LENGTH.unpack_from(self.buffer)
        if not 0 < size <= self.limit:
            raise Broken(f"made the kernel answer with {size:,} bytes")
        if len(self.buffer) < LENGTH.size + size:
            return b""
        data = bytes(self.buffer[LENGTH.size : LENGTH.size + size])
        del self.buffer[: LENGTH.size + size]
        return data

    def fill(self) -> None:
        try:
            data = self.end.recv(PIECE)
        except OSError:
            data = b""
        if not data:
            raise Broken("ended its kernel")
        self.buffer += data
