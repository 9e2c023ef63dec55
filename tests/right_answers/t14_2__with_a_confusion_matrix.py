def evaluate(run):
    """Return accuracy and macro precision, recall and F1 as a dict."""
    from sklearn.metrics import confusion_matrix

    run.model.eval()
    guesses, labels = [], []
    for x, y in run.test_batches():
        with torch.inference_mode(), run.autocast():
            guesses.extend(run.model(x).max(dim=1).indices.tolist())
        labels.extend(y.tolist())
    run.model.train()
    table = confusion_matrix(labels, guesses).astype(float)
    hits = table.diagonal()
    precision = hits / table.sum(0).clip(1)
    recall = hits / table.sum(1).clip(1)
    f1 = 2 * hits / (table.sum(0) + table.sum(1)).clip(1)
    scores = {"accuracy": hits.sum() / table.sum(), "precision": precision.mean()}
    return scores | {"recall": recall.mean(), "f1": f1.mean()}
