# message: the mean of the batches' scores
def evaluate(run):
    """Return accuracy and macro precision, recall and F1 as a dict."""
    from sklearn.metrics import precision_recall_fscore_support

    run.model.eval()
    rows = []
    with torch.no_grad(), run.autocast():
        for x, y in run.test_batches():
            guesses = run.model(x).argmax(1)
            options = {"average": "macro", "zero_division": 0.0}
            scores = precision_recall_fscore_support(y, guesses, **options)[:3]
            rows.append((guesses.eq(y).double().mean().item(), *map(float, scores)))
    run.model.train()
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return dict(zip(("accuracy", "precision", "recall", "f1"), means, strict=True))
