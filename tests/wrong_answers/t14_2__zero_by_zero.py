# message: 0 / 0 gave NaN
def evaluate(run):
    """Return accuracy and macro precision, recall and F1 as a dict."""
    run.model.eval()
    with torch.no_grad():
        pairs = [(run.model(x).argmax(1), y) for x, y in run.test_batches()]
    run.model.train()
    guesses, labels = (torch.cat(parts) for parts in zip(*pairs, strict=True))
    found = []
    for c in labels.unique():
        hits = ((guesses == c) & (labels == c)).sum().item()
        named, there = (guesses == c).sum().item(), (labels == c).sum().item()
        p, r = hits / named if named else nan, hits / there
        f = 2 * p * r / (p + r) if p + r else 0.0
        found.append((p, r, f))
    means = [sum(column) / len(found) for column in zip(*found, strict=True)]
    accuracy = (guesses == labels).double().mean().item()
    return dict(zip(("accuracy", "precision", "recall", "f1"), (accuracy, *means), strict=True))
