"""How good a classifier is: accuracy, precision, recall and F1, from a confusion matrix.

scikit-learn computes them; a confusion matrix can be summed over batches and processes first.
"""

from __future__ import annotations

import torch

NAMES = ("accuracy", "precision", "recall", "f1")


def confusion(labels: torch.Tensor, guesses: torch.Tensor, classes: int) -> torch.Tensor:
    """Return how often each class (row) was taken for each class (column), as int64.

    Raises ValueError for labels and guesses of different lengths or outside of 0 to classes - 1.
    """
    if labels.shape != guesses.shape or labels.ndim != 1:
        raise ValueError(
            f"labels {tuple(labels.shape)} and guesses {tuple(guesses.shape)} must be two lists of "
            "the same length"
        )
    for name, values in (("labels", labels), ("guesses", guesses)):
        if len(values) and not 0 <= int(values.min()) <= int(values.max()) < classes:
            raise ValueError(
                f"{name} from {int(values.min())} to {int(values.max())} are not all classes from "
                f"0 to {classes - 1}"
            )
    pairs = labels.long() * classes + guesses.long()
    return torch.bincount(pairs, minlength=classes**2).view(classes, classes)


def scores(matrix: torch.Tensor) -> dict[str, float]:
    """Return accuracy and the macro averages of precision, recall and F1 of a confusion matrix.

    Macro: the plain mean over the classes that occur or are guessed, as scikit-learn has it. A
    class that is never guessed has precision 0, one that never occurs recall 0. Raises ValueError
    for a matrix that counts nothing.
    """
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    counts = matrix.cpu()
    if not counts.sum() > 0:
        raise ValueError("the confusion matrix counts no image; there must be one to score")
    labels, guesses = counts.nonzero(as_tuple=True)
    pairs = labels.numpy(), guesses.numpy()
    weights = counts[labels, guesses].numpy()
    accuracy = accuracy_score(*pairs, sample_weight=weights)
    precision, recall, f1, _ = precision_recall_fscore_support(
        *pairs, average="macro", zero_division=0.0, sample_weight=weights
    )
    return dict(zip(NAMES, map(float, (accuracy, precision, recall, f1)), strict=True))
