"""Make the subset of FashionMNIST that comes with the course.

Run from the repository, with the full data installed: `python -m ampcourse.training.subset`.
"""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ampcourse.training import idx
from ampcourse.training.data import CLASSES, SUBSET_FOLDER, FashionMnist, fashion_mnist

if TYPE_CHECKING:
    import numpy as np

TRAIN_IMAGES = 2_000
TEST_IMAGES = 1_000


def balanced(labels: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the first `count` labels with every class equally often, in order.

    `count` must be a multiple of the number of classes, each of which must occur often enough;
    else ValueError.
    """
    import numpy as np

    each, rest = divmod(count, len(CLASSES))
    positions = [np.flatnonzero(labels == c)[:each] for c in range(len(CLASSES))]
    if rest or any(len(p) < each for p in positions):
        raise ValueError(f"{len(labels)} labels hold no {count} that are balanced by class.")
    return np.sort(np.concatenate(positions))


def subset_files(full: FashionMnist) -> dict[str, bytes]:
    """Return the subset as IDX files by name: uncompressed, the same bytes every time."""
    train = balanced(full.train_labels, TRAIN_IMAGES)
    test = balanced(full.test_labels, TEST_IMAGES)
    return {
        "train-images-idx3-ubyte": idx.pack(full.train_images[train]),
        "train-labels-idx1-ubyte": idx.pack(full.train_labels[train]),
        "t10k-images-idx3-ubyte": idx.pack(full.test_images[test]),
        "t10k-labels-idx1-ubyte": idx.pack(full.test_labels[test]),
    }


def compress(data: bytes) -> bytes:
    """Return `data` as gzip without a name or a time, so that the bytes repeat."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:
        file.write(data)
    return buffer.getvalue()


def main(folder: Path = SUBSET_FOLDER) -> None:
    """Write the four files of the subset into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in subset_files(fashion_mnist(use="full")).items():
        (folder / f"{name}.gz").write_bytes(compress(data))
        print(f"wrote {name}.gz")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
