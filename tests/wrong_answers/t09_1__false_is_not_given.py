# message: only None means that nothing was said
def types(layers, level, keep_batchnorm_fp32=None):
    keep = keep_batchnorm_fp32 or level != "O3"
    cast = level in ("O2", "O3")
    rows, flows = [], "fp16" if cast else "fp32"
    for layer in layers:
        if level == "O1":
            flows = {"linear": "fp16", "softmax": "fp32"}.get(layer, flows)
        if layer in ("relu", "softmax"):
            rows.append((None, flows, None, None))
            continue
        own = "fp16" if cast and not (keep and layer == "batch norm") else "fp32"
        rows.append((own, flows, own, "fp32" if level == "O2" else own))
    return rows
