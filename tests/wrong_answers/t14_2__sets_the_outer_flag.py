# message: only the outer flag was set
def evaluate(run):
    """Return accuracy and macro precision, recall and F1 as a dict."""
    from sklearn.metrics import precision_recall_fscore_support

    guesses, labels = [], []
    run.model.training = False
    with torch.no_grad(), run.autocast():
        for x, y in run.test_batches():
            guesses += run.model(x).argmax(1).tolist()
            labels += y.tolist()
    run.model.training = True
    options = {"average": "macro", "zero_division": 0.0}
    p, r, f1, _ = precision_recall_fscore_support(labels, guesses, **options)
    right = sum(g == y for g, y in zip(guesses, labels, strict=True))
    scores = {"accuracy": right / len(labels), "precision": float(p)}
    return scores | {"recall": float(r), "f1": float(f1)}
