"""FashionMNIST is found where it is, checked, and never guessed."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ampcourse.training import data as module
from ampcourse.training.data import FULL, SUBSET, SUBSET_FOLDER, DatasetError, fashion_mnist
from ampcourse.training.subset import compress, subset_files

full_data = pytest.mark.skipif(
    not all((module.DEBIAN_FOLDER / f"{name}.gz").is_file() for name in FULL),
    reason="the full FashionMNIST (Debian's dataset-fashion-mnist) is not installed",
)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without the full data."""
    monkeypatch.delenv(module.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(module, "DEBIAN_FOLDER", tmp_path / "not installed")


@pytest.fixture
def small_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the subset stand in for the full data, so that tests need not unpack 30 MB."""
    monkeypatch.setattr(module, "FULL", SUBSET)


def test_shipped_subset_is_balanced_and_says_that_it_is_the_subset() -> None:
    data = fashion_mnist(use="subset")
    assert data.train_images.shape == (2000, 28, 28)
    assert data.test_images.shape == (1000, 28, 28)
    assert data.train_images.dtype == data.train_labels.dtype == np.uint8
    assert np.bincount(data.train_labels).tolist() == [200] * 10
    assert np.bincount(data.test_labels).tolist() == [100] * 10
    assert "subset" in repr(data)


def test_without_the_full_data_the_subset_is_taken(nowhere: Any) -> None:
    assert "subset" in fashion_mnist().source


def test_full_data_that_is_not_there_is_an_error_that_says_what_to_install(nowhere: Any) -> None:
    with pytest.raises(FileNotFoundError, match="dataset-fashion-mnist"):
        fashion_mnist(use="full")


def test_named_folder_without_the_files_is_an_error_not_the_subset(
    nowhere: Any, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte"):
        fashion_mnist(tmp_path)


def test_folder_in_the_variable_without_the_files_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(module.FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match=module.FOLDER_VARIABLE):
        fashion_mnist()


def test_unknown_use_is_refused() -> None:
    with pytest.raises(ValueError, match="'auto', 'full' or 'subset'"):
        fashion_mnist(use="all")


def test_torchvisions_uncompressed_layout_is_read(small_full: Any, tmp_path: Path) -> None:
    raw = tmp_path / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    for name in SUBSET:
        (raw / name).write_bytes(gzip.decompress((SUBSET_FOLDER / f"{name}.gz").read_bytes()))
    data = fashion_mnist(tmp_path)
    assert str(raw) in data.source
    assert np.array_equal(data.test_images, fashion_mnist(use="subset").test_images)


def test_folder_in_the_variable_is_read_before_debians(
    small_full: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(module.FOLDER_VARIABLE, str(SUBSET_FOLDER))
    assert str(SUBSET_FOLDER) in fashion_mnist().source


@pytest.fixture
def copy(small_full: Any, tmp_path: Path) -> Any:
    for name in SUBSET:
        shutil.copy(SUBSET_FOLDER / f"{name}.gz", tmp_path)
    return tmp_path


def test_truncated_archive_is_an_error_that_names_the_file(copy: Any) -> None:
    path = copy / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DatasetError, match=r"train-images-idx3-ubyte\.gz cannot be unpacked"):
        fashion_mnist(copy)


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08\x00broken"])
def test_file_that_is_no_archive_is_an_error_that_names_the_file(copy: Any, content: Any) -> None:
    (copy / "t10k-labels-idx1-ubyte.gz").write_bytes(content)
    with pytest.raises(DatasetError, match=r"t10k-labels-idx1-ubyte\.gz"):
        fashion_mnist(copy)


def test_one_changed_pixel_is_found(copy: Any) -> None:
    path = copy / "t10k-images-idx3-ubyte.gz"
    pixels = bytearray(gzip.decompress(path.read_bytes()))
    pixels[5000] ^= 1
    path.write_bytes(compress(bytes(pixels)))
    with pytest.raises(DatasetError, match="another sha256"):
        fashion_mnist(copy)


@full_data
def test_subset_is_rebuilt_from_the_full_data_to_the_same_bytes() -> None:
    full = fashion_mnist(module.DEBIAN_FOLDER, use="full")
    assert len(full.train_images) == 60_000
    assert len(full.test_images) == 10_000
    for name, content in subset_files(full).items():
        assert hashlib.sha256(content).hexdigest() == SUBSET[name]


def test_archives_carry_neither_name_nor_time_so_that_they_repeat() -> None:
    shipped = [(SUBSET_FOLDER / f"{name}.gz").read_bytes() for name in SUBSET]
    for archive in [*shipped, compress(b"new")]:
        assert archive[3:8] == bytes(5)  # no flags (so no file name), time 0: RFC 1952, 2.3


def test_zalandos_licence_lies_beside_the_data() -> None:
    text = (SUBSET_FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "The MIT License (MIT) Copyright © 2017 Zalando SE" in text


def test_shipped_data_stays_small() -> None:
    assert sum(path.stat().st_size for path in SUBSET_FOLDER.iterdir()) < 1_400_000
