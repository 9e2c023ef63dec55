"""What a learner reads while pip works: the large downloads, the steps, the time."""

import re
import time
from collections.abc import Callable

Say = Callable[[str], None]

_QUIET = 30.0  # seconds without a line after which the learner hears that it still goes on
_LARGE = 20.0  # megabytes
_DOWNLOAD = re.compile(
    r"Downloading (?:\S*/)?([\w.]+)-(\d[^-\s]*)\S*\.(?:whl|tar\.gz) \(([\d.]+) (MB|GB)\)"
)
_UNPACK = re.compile(r"Installing collected packages: (.*)")


class Progress:
    """Turns pip's output into a few lines said to the learner."""

    def __init__(self, say: Say, clock: Callable[[], float] = time.monotonic) -> None:
        self._say_now = say
        self._clock = clock
        self._begin = self._last = clock()
        self._rest = ""

    def feed(self, text: str) -> None:
        """Take the next piece of pip's output, cut anywhere."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._read(line)
        if self._clock() - self._last > _QUIET:
            self._say(f"  ... still at it, {duration(self._clock() - self._begin)} so far")

    def _read(self, line: str) -> None:
        if match := _DOWNLOAD.search(line):
            name, version, size, unit = match.groups()
            if unit == "GB" or float(size) >= _LARGE:
                self._say(f"  downloading {name} {version} ({size} {unit})")
        elif match := _UNPACK.search(line):
            count = match[1].count(",") + 1
            self._say(f"  unpacking {count} packages")

    def _say(self, text: str) -> None:
        self._last = self._clock()
        self._say_now(text)


def duration(seconds: float) -> str:
    """Write a time as people say it: 45 s, 2 min 05 s."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
