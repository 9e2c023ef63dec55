def types(layers, level, keep_batchnorm_fp32=None):
    def walk():
        low, high = "fp16", "fp32"
        cast, patched = level in {"O2", "O3"}, level == "O1"
        flow = low if cast else high
        for layer in layers:
            if patched and layer == "linear":
                flow = low
            elif patched and layer == "softmax":
                flow = high
            match layer, keep_batchnorm_fp32, level:
                case (("relu" | "softmax"), _, _):
                    own = None
                case _, _, ("O0" | "O1"):
                    own = high
                case "batch norm", True, _:
                    own = high
                case "batch norm", None, "O2":
                    own = high
                case _:
                    own = low
            stepped = high if level == "O2" and own else own
            yield own, flow, own, stepped

    return [*walk()]
