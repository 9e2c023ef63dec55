def types(layers, level, keep_batchnorm_fp32=None):
    spared = {"O0": True, "O1": True, "O2": True, "O3": False}[level]
    if keep_batchnorm_fp32 is not None:
        spared = keep_batchnorm_fp32
    model = {"O0": "fp32", "O1": "fp32", "O2": "fp16", "O3": "fp16"}[level]
    own = {"linear": model, "batch norm": "fp32" if spared else model}
    own |= {"relu": None, "softmax": None}
    casts = {"linear": "fp16", "softmax": "fp32"} if level == "O1" else {}
    rows = []
    for k, layer in enumerate(layers):
        before = rows[k - 1][1] if k else model
        stepped = own[layer] and ("fp32" if level == "O2" else own[layer])
        rows.append((own[layer], casts.get(layer, before), own[layer], stepped))
    return rows
