"""CIFAR10 where the user has it, in its Python or its binary version; nothing is downloaded.

Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009. The Python version is held
against the checksums that torchvision knows before it is unpickled. Nobody publishes checksums of
the binary version's single files; they are held against their length and the number of images per
class.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ampcourse.training.data import COURSE_FOLDER, DatasetError

PYTHON, BINARY = "cifar-10-batches-py", "cifar-10-batches-bin"

#: A record of the binary version: a label, then red, green and blue, 32 x 32 bytes each.
_RECORD = 1 + 3 * 32 * 32
_PER_FILE = 10_000


@dataclass(frozen=True)
class Cifar10:
    """Training images and labels, test images and labels, as uint8, and where they are from.

    Images are (n, 3, 32, 32).
    """

    arrays: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    source: str


def cifar10(folder: Path | None = None) -> Cifar10:
    """Return CIFAR10 from `folder`, or from the folder `data` next to the package.

    A folder holds one of the two versions, unpacked, or is it. Raises FileNotFoundError if it holds
    neither, and DatasetError for a file that is missing, truncated or damaged.
    """
    root = COURSE_FOLDER if folder is None else folder
    for name, read in ((PYTHON, _python), (BINARY, _binary)):
        place = root if root.name == name else root / name
        if place.is_dir():
            return Cifar10(read(place), f"CIFAR10, all 50,000 + 10,000 images, from {place}")
    raise FileNotFoundError(
        f"CIFAR10 is not in {root}: it needs the folder {PYTHON} or {BINARY}, as the archives from "
        "cs.toronto.edu/~kriz/cifar.html unpack. Put it there, name another folder with "
        "--data-folder, or use --data fashion-mnist, which comes along."
    )


def _python(place: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    from torchvision.datasets import CIFAR10

    files = [*CIFAR10.train_list, *CIFAR10.test_list]
    files.append([CIFAR10.meta["filename"], CIFAR10.meta["md5"]])
    for name, md5 in files:
        data = _content(place / name)
        if hashlib.md5(data, usedforsecurity=False).hexdigest() != md5:
            raise DatasetError(
                f"{place / name} does not have CIFAR10's md5 {md5}; it holds {len(data):,} bytes "
                "and is truncated, damaged or another file: unpack the archive anew."
            )
    parts = (CIFAR10(place.parent, train=train, download=False) for train in (True, False))
    arrays = [(part.data.transpose(0, 3, 1, 2), np.array(part.targets, np.uint8)) for part in parts]
    return (*arrays[0], *arrays[1])


def _binary(place: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    train = [_records(place / f"data_batch_{i}.bin") for i in range(1, 6)]
    test = _records(place / "test_batch.bin")
    images, labels = (np.concatenate(arrays) for arrays in zip(*train, strict=True))
    for what, found in (("data_batch_1 to 5", labels), ("test_batch", test[1])):
        counts = np.bincount(found, minlength=10).tolist()
        if counts != [len(found) // 10] * 10:
            raise DatasetError(
                f"{place}: {what} hold {counts} images per class, CIFAR10 has "
                f"{len(found) // 10} of each; a file is damaged or there twice: unpack the "
                "archive anew."
            )
    return images, labels, *test


def _records(path: Path) -> tuple[np.ndarray, np.ndarray]:
    data = _content(path)
    if len(data) != _PER_FILE * _RECORD:
        raise DatasetError(
            f"{path} holds {len(data):,} bytes, CIFAR10's files {_PER_FILE * _RECORD:,}; it is "
            "truncated or another file: unpack the archive anew."
        )
    records = np.frombuffer(data, np.uint8).reshape(_PER_FILE, _RECORD)
    labels = records[:, 0]
    if labels.max() > 9:
        raise DatasetError(
            f"{path} has the label {labels.max()}, CIFAR10 has 0 to 9; it is damaged or another "
            "file (CIFAR100's, say): unpack the archive anew."
        )
    return records[:, 1:].reshape(-1, 3, 32, 32), labels


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DatasetError(f"{path} is missing; unpack the archive of CIFAR10 anew.") from None
