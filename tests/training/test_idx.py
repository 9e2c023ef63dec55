"""IDX files are read exactly, or refused with the file's name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ampcourse.training import idx


def test_header_is_the_one_of_the_format() -> None:
    assert idx.pack(np.zeros((2, 3), np.uint8)) == bytes.fromhex("00000802 00000002 00000003") + (
        bytes(6)
    )


def test_what_is_packed_is_read_back() -> None:
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert np.array_equal(idx.parse(idx.pack(array), "a file"), array)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "nothing"),
        (b"\x89PNG", "89504e47"),
        (bytes.fromhex("00000d01 00000001 3f800000"), "00000d01"),
        (bytes.fromhex("00000802 00000002"), "breaks off"),
        (bytes.fromhex("00000801 00000003 0102"), "truncated"),
        (bytes.fromhex("00000801 00000001 0102"), "truncated"),
    ],
)
def test_damaged_file_is_refused_by_name(data: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        idx.parse(data, "labels.gz")
    assert "labels.gz" in str(error.value)


def test_other_types_are_not_packed() -> None:
    with pytest.raises(ValueError, match="float64"):
        idx.pack(np.zeros(3))
