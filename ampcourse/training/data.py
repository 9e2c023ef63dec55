"""FashionMNIST: the full data where it is installed, else the subset that comes along.

Nothing is ever downloaded. Data: Zalando SE, MIT licence (see the folder fashion_mnist).
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ampcourse.training import idx

if TYPE_CHECKING:
    import numpy as np

CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)

#: Environment variable that may name the folder of the full data.
FOLDER_VARIABLE = "AMPCOURSE_FASHION_MNIST"
#: Where Debian's package dataset-fashion-mnist puts its files.
DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")
#: A folder next to the package, which git ignores: data in it travels with a copy of the course.
COURSE_FOLDER = Path(__file__).parents[2] / "data"
SUBSET_FOLDER = Path(__file__).parent / "fashion_mnist"

# sha256 of the uncompressed bytes: gzip headers differ between Zalando's and Debian's files,
# and torchvision keeps the files uncompressed; the pixels are the same.
FULL = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}
SUBSET = {
    "train-images-idx3-ubyte": "a724cd72799a6b1c3a81c4263865a75a73bb6473673b3394e34adf222930f19e",
    "train-labels-idx1-ubyte": "4738fd437c0f8d6498ae7f6f5c86f1cc3c878d4116ff169fc5635bd6847899cc",
    "t10k-images-idx3-ubyte": "7cee33c3c6414b1b86c25e665a6c4f41584269de3b7cc9768b1d351922845eef",
    "t10k-labels-idx1-ubyte": "3128d790775889812b73c4f13923559c8b9e281d112c6ea7862acf60a206a909",
}


@dataclass(frozen=True)
class FashionMnist:
    """Images as uint8 arrays (n, 28, 28), labels as uint8 arrays (n,), and where they are from."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    source: str

    def __repr__(self) -> str:
        return self.source


class DatasetError(ValueError):
    """A data file is missing, truncated, damaged or not the one it claims to be."""


def fashion_mnist(folder: str | os.PathLike[str] | None = None, use: str = "auto") -> FashionMnist:
    """Return FashionMNIST; `source` of the result says which data it is.

    `use` is "full" (60,000 + 10,000 images), "subset" (2,000 + 1,000, shipped with the course)
    or "auto": the full data if it is found, else the subset. The full data is looked for in
    `folder`, else in the folder named by AMPCOURSE_FASHION_MNIST, else in the folder `data` next
    to the package, else in Debian's folder; a folder may hold the four files as .gz or plain, also
    in fashion-mnist or torchvision's FashionMNIST/raw. Raises ValueError for another `use`,
    FileNotFoundError if a named folder, or with "full" every folder, lacks a file or if `data`
    holds only some of them, and DatasetError for a file whose content is not FashionMNIST's.
    """
    if use not in ("auto", "full", "subset"):
        raise ValueError(f"use={use!r} is unknown; choose 'auto', 'full' or 'subset'.")
    if use == "subset":
        return _subset()
    found = _full_folder(folder)
    if found is not None:
        return _load(found, FULL, f"FashionMNIST, all 60,000 + 10,000 images, from {found}")
    if use == "full":
        raise FileNotFoundError(
            f"FashionMNIST is neither in {COURSE_FOLDER} nor in {DEBIAN_FOLDER}. Put its four "
            "files into the first, install Debian's dataset-fashion-mnist, set "
            f"{FOLDER_VARIABLE} to the folder of the files, or use the shipped subset: "
            "fashion_mnist(use='subset')."
        )
    return _subset()


def read_file(folder: Path, name: str, sha256: str) -> np.ndarray:
    """Return the array in file `name` (plain or .gz) of `folder` if its bytes are the known ones.

    Raises FileNotFoundError if there is no such file, DatasetError if it is damaged.
    """
    path = _file(folder, name)
    if path is None:
        raise FileNotFoundError(f"{folder} has neither {name} nor {name}.gz.")
    data = _uncompressed(path)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise DatasetError(
            f"{path} does not hold the bytes of FashionMNIST's {name}: it has {len(data):,} "
            "uncompressed bytes and another sha256. It is damaged or another data set: "
            "get the file anew, or use fashion_mnist(use='subset')."
        )
    return idx.parse(data, str(path))


def _subset() -> FashionMnist:
    source = "FashionMNIST, the shipped subset: 2,000 + 1,000 images"
    return _load(SUBSET_FOLDER, SUBSET, source)


def _load(folder: Path, files: dict[str, str], source: str) -> FashionMnist:
    images, labels, test_images, test_labels = (
        read_file(folder, name, sha256) for name, sha256 in files.items()
    )
    return FashionMnist(images, labels, test_images, test_labels, source)


def _full_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    named = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    if named:
        whence = "folder" if folder is not None else f"the variable {FOLDER_VARIABLE}"
        return _complete(Path(named)) or _raise_incomplete(Path(named), whence)
    found = _complete(COURSE_FOLDER)
    if found is None and any(
        _file(place, name) for place in _places(COURSE_FOLDER) for name in FULL
    ):
        _raise_incomplete(COURSE_FOLDER, "next to the package")
    return found or _complete(DEBIAN_FOLDER)


def _complete(root: Path) -> Path | None:
    return next((p for p in _places(root) if all(_file(p, name) for name in FULL)), None)


def _raise_incomplete(folder: Path, whence: str) -> NoReturn:
    raise FileNotFoundError(
        f"{folder} (from {whence}) does not hold FashionMNIST: it needs "
        f"{', '.join(FULL)}, each plain or as .gz, there, in fashion-mnist or in FashionMNIST/raw."
    )


def _places(root: Path) -> tuple[Path, ...]:
    return root, root / "fashion-mnist", root / "FashionMNIST" / "raw"


def _file(folder: Path, name: str) -> Path | None:
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def _uncompressed(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DatasetError(
            f"{path} cannot be unpacked ({error}): the file is truncated or damaged. "
            "Get it anew, or use fashion_mnist(use='subset')."
        ) from error
