"""Pictures are found, checked and prepared; what is damaged is named."""

from __future__ import annotations

import gzip
import hashlib
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ampcourse.benchmark import cifar10 as cifar
from ampcourse.benchmark.pictures import Pictures, pictures, synthetic
from ampcourse.training import data as module
from ampcourse.training.data import SUBSET, SUBSET_FOLDER, DatasetError, fashion_mnist

torchvision = pytest.importorskip("torchvision", reason="needs torchvision")


@pytest.fixture
def course(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy of the course with an empty folder `data`, on a machine without the full data.

    The subset stands in for the full data, so that tests need not unpack 30 MB.
    """
    monkeypatch.delenv(module.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(module, "DEBIAN_FOLDER", tmp_path / "not installed")
    monkeypatch.setattr(module, "COURSE_FOLDER", tmp_path / "data")
    monkeypatch.setattr(cifar, "COURSE_FOLDER", tmp_path / "data")
    monkeypatch.setattr(module, "FULL", SUBSET)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def put_fashion_mnist(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in SUBSET:
        shutil.copy(SUBSET_FOLDER / f"{name}.gz", folder)


def test_without_the_full_data_the_subset_is_taken_and_said_so(course: Path) -> None:
    found = pictures("fashion-mnist")
    assert found.train_images.shape == (2000, 1, 28, 28)
    assert "the shipped subset" in repr(found)
    assert "28 px" in repr(found)


@pytest.mark.parametrize("below", [".", "fashion-mnist", "FashionMNIST/raw"])
def test_data_that_travels_with_the_copy_is_found(course: Path, below: str) -> None:
    put_fashion_mnist(course / below)
    found = pictures("fashion-mnist", use="full")
    assert str(course) in found.source
    assert torch.equal(found.train_labels, torch.tensor(fashion_mnist(use="subset").train_labels))


def test_the_folder_data_is_the_one_next_to_the_package() -> None:
    import ampcourse

    assert Path(ampcourse.__file__).parents[1] / "data" == module.COURSE_FOLDER


def test_a_variable_goes_before_the_folder_data(
    course: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_fashion_mnist(course)
    put_fashion_mnist(tmp_path / "named")
    monkeypatch.setenv(module.FOLDER_VARIABLE, str(tmp_path / "named"))
    assert str(tmp_path / "named") in pictures("fashion-mnist").source


@pytest.mark.parametrize("missing", SUBSET)
def test_a_folder_data_that_lacks_a_file_is_an_error_not_the_subset(
    course: Path, missing: str
) -> None:
    put_fashion_mnist(course)
    (course / f"{missing}.gz").unlink()
    with pytest.raises(FileNotFoundError, match=f"{course.name}.*does not hold FashionMNIST"):
        pictures("fashion-mnist")


@pytest.mark.parametrize("name", SUBSET)
def test_a_truncated_file_is_named(course: Path, name: str) -> None:
    put_fashion_mnist(course)
    path = course / f"{name}.gz"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DatasetError, match=f"{name}.gz cannot be unpacked.*truncated or damaged"):
        pictures("fashion-mnist")


def test_one_wrong_byte_is_found(course: Path) -> None:
    put_fashion_mnist(course)
    [name, *_] = SUBSET
    data = bytearray(gzip.decompress((course / f"{name}.gz").read_bytes()))
    data[-1] ^= 1
    (course / f"{name}.gz").write_bytes(gzip.compress(bytes(data)))
    with pytest.raises(DatasetError, match="another sha256"):
        pictures("fashion-mnist")


def test_inputs_are_normalised_as_torchvision_does() -> None:
    found = pictures("fashion-mnist", use="subset")
    raw = found.train_images[:8]
    transforms = torchvision.transforms
    expected = transforms.functional.normalize(
        transforms.functional.convert_image_dtype(raw, torch.float32), found.mean, found.std
    )
    assert found.inputs(raw).dtype == torch.float32
    # Two orders of the same two roundings: 255 divides exactly in neither.
    torch.testing.assert_close(found.inputs(raw), expected, rtol=0, atol=2**-21)


def test_normalised_training_images_have_mean_0_and_deviation_1() -> None:
    found = pictures("fashion-mnist", use="subset")
    x = found.inputs(found.train_images)
    assert abs(x.mean().item()) < 0.02
    assert abs(x.std().item() - 1) < 0.02


@pytest.mark.parametrize("size", [14, 96, 224])
def test_images_are_resized_as_torchvision_does(size: int) -> None:
    found = pictures("fashion-mnist", size, use="subset")
    raw = found.train_images[:2]
    resized = torchvision.transforms.functional.resize(raw.float(), [size, size], antialias=True)
    mean, std = found.mean[0], found.std[0]
    expected = (resized / 255 - mean) / std
    got = found.inputs(raw)
    assert got.shape == (2, 1, size, size)
    # A weight is off by half an ulp of a coordinate below 32, 2^-20, times 255 for a pixel, twice,
    # divided by 255 and the deviation: 2^-17.5.
    torch.testing.assert_close(got, expected, rtol=0, atol=2**-17)


def test_inputs_leave_the_pictures_as_they_are() -> None:
    found = synthetic(12)
    before = found.train_images.clone()
    found.inputs(found.train_images)
    assert torch.equal(before, found.train_images)


def test_synthetic_pictures_are_the_same_each_time_and_say_what_they_are() -> None:
    assert torch.equal(synthetic(12).train_images, synthetic(12).train_images)
    assert "no real data" in repr(pictures("synthetic", 16))
    assert pictures("synthetic", 16).train_images.shape[1:] == (1, 16, 16)


def test_what_is_not_there_is_refused(course: Path) -> None:
    with pytest.raises(ValueError, match="data 'mnist' is unknown; choose from fashion-mnist"):
        pictures("mnist")
    with pytest.raises(ValueError, match="image size 4 is too small"):
        pictures("synthetic", 4)
    with pytest.raises(FileNotFoundError, match=r"cifar-10-batches-py or cifar-10-batches-bin"):
        pictures("cifar10")


def made_up(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    images = random.integers(0, 256, (count, 3 * 32 * 32), np.uint8)
    return images, random.permutation(np.arange(count) % 10).astype(np.uint8)


@pytest.fixture
def binary(course: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CIFAR10's binary version with 20 made-up images a file instead of 10,000."""
    monkeypatch.setattr(cifar, "_PER_FILE", 20)
    folder = course / cifar.BINARY
    folder.mkdir()
    for seed, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        images, labels = made_up(20, seed)
        (folder / f"{name}.bin").write_bytes(np.hstack([labels[:, None], images]).tobytes())
    return folder


@pytest.fixture
def python(course: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CIFAR10's Python version with made-up images, whose md5 torchvision is told."""
    folder = course / cifar.PYTHON
    folder.mkdir()
    known = {}
    for seed, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        images, labels = made_up(20, seed)
        known[name] = pickle.dumps({"data": images, "labels": labels.tolist()})
    known["batches.meta"] = pickle.dumps({"label_names": [str(i) for i in range(10)]})
    sums = {}
    for name, data in known.items():
        (folder / name).write_bytes(data)
        sums[name] = hashlib.md5(data).hexdigest()
    kind: Any = torchvision.datasets.CIFAR10
    monkeypatch.setattr(kind, "train_list", [[n, sums[n]] for n in list(known)[:5]])
    monkeypatch.setattr(kind, "test_list", [["test_batch", sums["test_batch"]]])
    monkeypatch.setattr(kind, "meta", {**kind.meta, "md5": sums["batches.meta"]})
    return folder


def check_made_up(found: Pictures) -> None:
    """Check all pixels and labels against what was written."""
    parts = [made_up(20, seed) for seed in range(6)]
    images = np.concatenate([part[0] for part in parts[:5]]).reshape(-1, 3, 32, 32)
    assert np.array_equal(found.train_images.numpy(), images)
    assert np.array_equal(found.test_images.numpy(), parts[5][0].reshape(-1, 3, 32, 32))
    labels = np.concatenate([part[1] for part in parts[:5]])
    assert found.train_labels.tolist() == labels.tolist()
    assert found.test_labels.tolist() == parts[5][1].tolist()
    assert (found.channels, found.size, found.classes) == (3, 32, 10)
    assert found.inputs(found.train_images[:4]).shape == (4, 3, 32, 32)


def test_the_binary_version_of_cifar10_is_read(binary: Path) -> None:
    check_made_up(pictures("cifar10"))
    check_made_up(pictures("cifar10", folder=binary))


def test_the_python_version_of_cifar10_is_read(python: Path) -> None:
    check_made_up(pictures("cifar10"))


def test_a_file_of_cifar10_with_another_md5_is_not_unpickled(python: Path) -> None:
    marker = python / "ran"
    bomb = f"c__main__\neval\n(S'open({str(marker)!r}, \"w\")'\ntR."
    (python / "data_batch_3").write_bytes(bomb.encode())
    with pytest.raises(DatasetError, match="data_batch_3 does not have CIFAR10's md5"):
        pictures("cifar10")
    assert not marker.exists()


def test_a_missing_or_truncated_file_of_cifar10_is_named(binary: Path) -> None:
    path = binary / "data_batch_4.bin"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(DatasetError, match=r"data_batch_4.bin holds 61,459 bytes.*61,460"):
        pictures("cifar10")
    path.unlink()
    with pytest.raises(DatasetError, match=r"data_batch_4.bin is missing"):
        pictures("cifar10")


def test_a_wrong_label_or_class_balance_of_cifar10_is_found(binary: Path) -> None:
    path = binary / "test_batch.bin"
    data = bytearray(path.read_bytes())
    data[0] = 77
    path.write_bytes(bytes(data))
    with pytest.raises(DatasetError, match="has the label 77"):
        pictures("cifar10")
    other = next(label for label in range(10) if label != made_up(20, 5)[1][0])
    data[0] = other
    path.write_bytes(bytes(data))
    with pytest.raises(DatasetError, match=r"test_batch hold .* images per class, CIFAR10 has 2"):
        pictures("cifar10")
