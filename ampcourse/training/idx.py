"""Read and write the IDX files in which MNIST and FashionMNIST come.

Layout: two zero bytes, a type code (0x08: unsigned byte), the number of dimensions, each
dimension as a big-endian 32-bit integer, then the bytes. Source: the description on the MNIST
page by LeCun, Cortes and Burges.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_UNSIGNED_BYTE = 0x08


def parse(data: bytes, name: str) -> np.ndarray:
    """Return the array in `data`, of shape and length as its header says.

    Raises ValueError, naming the file `name`, for another type, a header that breaks off or
    a length that does not fit the header.
    """
    import numpy as np

    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != _UNSIGNED_BYTE:
        raise ValueError(
            f"{name} starts with {data[:4].hex() or 'nothing'}; an IDX file of bytes starts "
            "with 000008 and its number of dimensions. It is another kind of file: get it anew."
        )
    start = 4 + 4 * data[3]
    if len(data) < start:
        raise ValueError(f"{name} breaks off inside its header. Get the file anew.")
    shape = struct.unpack(f">{data[3]}I", data[4:start])
    expected = start + int(np.prod(shape, dtype=np.int64))
    if len(data) != expected:
        raise ValueError(
            f"{name} holds {len(data):,} bytes; its header {shape} asks for {expected:,}. "
            "The file is truncated or damaged: get it anew."
        )
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)


def pack(array: np.ndarray) -> bytes:
    """Return the IDX bytes of an array of unsigned bytes; the inverse of `parse`."""
    if array.dtype.name != "uint8":
        raise ValueError(f"pack() got {array.dtype}; IDX files of this course hold uint8.")
    header = bytes([0, 0, _UNSIGNED_BYTE, array.ndim]) + struct.pack(
        f">{array.ndim}I", *array.shape
    )
    return header + array.tobytes()
