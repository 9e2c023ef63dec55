"""Train a small network in one precision or another and say what it cost.

Nothing is imported here: `data` needs numpy, `models`, `loop` and `hardware` need torch.
"""
