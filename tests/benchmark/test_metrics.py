"""Scores of a confusion matrix are scikit-learn's of the labels and guesses it was counted from."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

from ampcourse.benchmark.metrics import NAMES, confusion, scores

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


def matrix(pairs: list[tuple[int, int]], classes: int = 5) -> torch.Tensor:
    labels, guesses = torch.tensor(pairs).T
    return confusion(labels, guesses, classes)


def test_rows_are_classes_and_columns_what_they_were_taken_for() -> None:
    found = matrix([(0, 0), (0, 2), (2, 0), (0, 2)], 3)
    assert found.tolist() == [[1, 0, 2], [0, 0, 0], [1, 0, 0]]


def test_scores_counted_by_hand() -> None:
    # Class 0: 3 of 4 found, 3 of 3 guesses right; class 1: 2 of 2 found, 2 of 3 guesses right.
    found = scores(torch.tensor([[3, 1], [0, 2]]))
    assert found == {
        "accuracy": 5 / 6,
        "precision": (1 + 2 / 3) / 2,
        "recall": (3 / 4 + 1) / 2,
        "f1": pytest.approx((6 / 7 + 4 / 5) / 2, abs=1e-15),
    }


@given(PAIRS)
def test_scores_are_those_of_the_single_guesses(pairs: list[tuple[int, int]]) -> None:
    labels, guesses = zip(*pairs, strict=True)
    options = {"average": "macro", "zero_division": 0.0}
    expected = [accuracy_score(labels, guesses)]
    for score in (precision_score, recall_score, f1_score):
        expected.append(score(labels, guesses, **options))
    # scikit-learn adds weighted counts as floats: the last bit may be another.
    assert list(scores(matrix(pairs)).values()) == pytest.approx(expected, abs=1e-15)
    assert list(scores(matrix(pairs))) == list(NAMES)


@given(PAIRS, PAIRS)
def test_matrices_of_parts_add_up(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    assert matrix(one + other).equal(matrix(one) + matrix(other))


@pytest.mark.parametrize(
    ("labels", "guesses", "message"),
    [
        ([0, 1], [0], "must be two lists of the same length"),
        ([0, 1], [0, 3], "guesses from 0 to 3 are not all classes from 0 to 2"),
        ([-1, 1], [0, 1], "labels from -1 to 1"),
    ],
)
def test_what_is_no_class_is_refused(labels: list[int], guesses: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        confusion(torch.tensor(labels), torch.tensor(guesses), 3)


def test_no_image_has_no_score() -> None:
    with pytest.raises(ValueError, match="counts no image"):
        scores(torch.zeros(3, 3))
