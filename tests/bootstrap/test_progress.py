"""What is said while pip works."""

import pytest

from ampcourse.bootstrap.progress import Progress, duration

TORCH = "  Downloading torch-2.14.1-cp311-cp311-manylinux_2_28_x86_64.whl (554.6 MB)\n"
FROM_URL = "Downloading https://an.index/whl/cpu/torch-2.14.1%2Bcpu-cp312-none-any.whl (1.2 GB)\n"
SMALL = "Downloading tqdm-4.70.1-py3-none-any.whl (78 kB)\n  Downloading x-1-any.whl (1.9 MB)\n"
UNPACK = "Installing collected packages: a, b, c\n"


def heard(*pieces: str, seconds: float = 0) -> list[str]:
    said: list[str] = []
    times = iter([0.0] + [seconds] * 100)
    progress = Progress(said.append, lambda: next(times))
    for piece in pieces:
        progress.feed(piece)
    return [text.strip() for text in said]


def test_large_downloads_are_named_with_their_size_and_small_ones_are_not() -> None:
    assert heard(TORCH + SMALL + FROM_URL) == [
        "downloading torch 2.14.1 (554.6 MB)",
        "downloading torch 2.14.1%2Bcpu (1.2 GB)",
    ]


def test_unpacking_says_how_many_packages() -> None:
    assert heard(UNPACK) == ["unpacking 3 packages"]


def test_a_line_that_arrives_in_pieces_is_read_once() -> None:
    assert heard(TORCH[:20], TORCH[20:-1], "\n") == ["downloading torch 2.14.1 (554.6 MB)"]


def test_a_long_silence_is_broken() -> None:
    assert heard("", seconds=29) == []
    assert heard("", seconds=125) == ["... still at it, 2 min 05 s so far"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3600, "60 min 00 s")]
)
def test_a_duration_is_written_as_people_say_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text
