def training_bytes(recipe, states, count):
    kinds = {
        "fp32": "f4 f4",
        "fp16": "f2 f2",
        "master": "f2 f4 f2",
        "master_copied": "f2 f4 f2 f4",
        "autocast": "f4 f4",
    }

    def size(name):
        held = kinds[name].split()
        state = np.dtype("f2" if name == "fp16" else "f4").itemsize
        return sum(np.dtype(kind).itemsize for kind in held) + states * state

    return size(recipe) * count, size(recipe) / size("fp32")
